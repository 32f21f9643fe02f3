package pgstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

const openLoss = `select noticed_at as noticedat, noticed_by as noticedby, missing from recoveries where ended_at is null`

// Lost says whether the database has forgotten what it had committed and nobody has recovered yet: nothing is claimed then.
// Errors: *intents.LostError: it has.
func (s *Store) Lost(ctx context.Context) error {
	found, err := all[intents.Loss](ctx, s, openLoss)
	if err != nil || len(found) == 0 {
		return err
	}
	return &intents.LostError{Loss: found[0]}
}

// doubtful are intents of which the database may have forgotten that they were sent, a page of them by key.
var doubtful = reading(`select * from intents where key > $1 and due_at is not null and state in (1, 2) and not route = any($2)
 order by key limit $3 for update`)

const (
	countDoubtful = `select route, count(*) from intents where due_at is not null and state = 2 and not route = any($1)
 and created_at <= $2 and (try_at is null or try_at <= $2) and (not_before is null or not_before <= $2) group by route`
	endLoss = `update recoveries set since = $1, ended_at = clock_timestamp(), ended_by = $2, reviewed = $3 where ended_at is null`
)

// doubtPage is how many intents one commit of a recovery looks at.
const doubtPage = 500

// Recover goes on after a loss, by a person's word. All signers are frozen: what their forgotten numbers paid is compared
// with the intents before a person lets them go on. What may have been sent on other routes goes to a person, but for the
// routes that are spared. Then claims are had again. Was no loss noticed, the person says that there was one. It may be
// asked again after an error. told, if not nil, hears how many more intents were looked at.
// Errors: *intents.InvalidError, as intents.Recall.Check.
func (s *Store) Recover(ctx context.Context, r intents.Recall, told func(more int)) (intents.Recalled, error) {
	l, err := s.loss(ctx, r.Actor, true)
	if err == nil {
		err = r.Check(l.NoticedAt)
	}
	if err != nil {
		return intents.Recalled{}, err
	}
	done := intents.Recalled{Reviewed: map[string]int{}}
	if done.Frozen, err = s.freezeAll(ctx, r); err != nil {
		return done, err
	}
	reviewed := 0
	for last := int64(-1); last != 0; {
		n := 0
		if last, n, err = s.doubt(ctx, l, r, last, &done); err != nil {
			return done, err
		}
		if told != nil {
			told(n)
		}
	}
	for _, n := range done.Reviewed {
		reviewed += n
	}
	return done, s.exec(ctx, endLoss, r.Since, r.Actor, int64(reviewed))
}

// Doubtful counts what Recover would hand to a person, by route, and writes nothing. Errors as Recover.
func (s *Store) Doubtful(ctx context.Context, r intents.Recall) (map[string]int, error) {
	l, err := s.loss(ctx, r.Actor, false)
	if err == nil {
		err = r.Check(l.NoticedAt)
	}
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.QueryContext(ctx, countDoubtful, texts(r.Spared), l.NoticedAt)
	if err != nil {
		return nil, ofPool(err)
	}
	defer rows.Close()
	counts := map[string]int{}
	for rows.Next() {
		var route string
		var n int
		if err := rows.Scan(&route, &n); err != nil {
			return nil, err
		}
		counts[route] = n
	}
	return counts, ofRead(rows.Err())
}

// loss reads the open loss. Where there is none a person says so now: with stop, it is written, and claims stop.
func (s *Store) loss(ctx context.Context, actor string, stop bool) (intents.Loss, error) {
	said := "said by " + actor
	if stop {
		if err := s.exec(ctx, noteLoss, actor, said); err != nil {
			return intents.Loss{}, err
		}
	}
	found, err := all[intents.Loss](ctx, s, openLoss+` union all select clock_timestamp(), $1, $2 limit 1`, actor, said)
	if err != nil {
		return intents.Loss{}, err
	}
	return found[0], nil
}

// freezeAll stops every signer.
func (s *Store) freezeAll(ctx context.Context, r intents.Recall) ([]string, error) {
	signers, err := s.Signers(ctx)
	var scopes []string
	for _, sg := range signers {
		if err == nil {
			_, err = s.Freeze(ctx, sg.Scope, r.Why(), r.Actor)
		}
		scopes = append(scopes, sg.Scope)
	}
	return scopes, err
}

// doubt decides about a page of intents behind a key, and says where the next one begins (0: there is none) and how many
// it has looked at.
func (s *Store) doubt(ctx context.Context, l intents.Loss, r intents.Recall, after int64, done *intents.Recalled) (last int64, n int, err error) {
	var moved []intents.Intent
	err = s.tx(ctx, func(ctx context.Context, tx *poolTx) error {
		moved, last = nil, 0
		rows, err := load(ctx, tx, nil, doubtful, after, texts(r.Spared), int64(doubtPage))
		if err != nil {
			return err
		}
		var sh sheet
		for _, row := range rows {
			ch := intents.Doubt(row.Intent, l, r, cut(row.ReadAt))
			if !ch.Empty() {
				moved = append(moved, sh.add(&row, ch, row.looks))
			}
			last = row.Key
		}
		if n = len(rows); n < doubtPage {
			last = 0
		}
		_, err = sh.write(ctx, tx)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	for _, in := range moved {
		if in.State == intents.NeedsReview {
			done.Reviewed[in.Route]++
		} else {
			done.Told++
		}
	}
	return last, n, nil
}
