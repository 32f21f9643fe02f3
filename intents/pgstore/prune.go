package pgstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

// prunePage is how many intents one commit of a prune looks at, and how many slots.
const prunePage = 500

const (
	// Keys are ordered in time: where a whole page is younger, so is all behind it. What is at the edge goes the next time.
	pageOfIntents = `select coalesce(max(key), 0), count(*), coalesce(bool_or(created_at < $2), false)
 from (select key, created_at from intents where key > $1 order by key limit $3) p`
	// Some have a slot without saying so any more: it was left to be filled.
	openSlots = `select intent from slots where key = any($2) and closed_at is null
 union all select intent from slots where intent = any($1) and closed_at is null and kind = 2`
	// Of most there is no alarm, and nothing more is read.
	alarms = `select e.intent, e.kind from intent_events e
 where e.intent in (select intent from intent_events where intent = any($1) and kind = 3) and e.kind in (1, 3, 4)
 order by e.intent, e.version, e.n`
)

const aged = `select * from intents where key > $1 and key <= $2 and state in (5, 6, 7) and changed_at < $3
 and ($4 = '' or route = $4) order by key`

// What somebody has locked just now goes the next time. A lock is a write: who only counts takes none.
var (
	lockAged = reading(aged+` for update skip locked`) + ` order by i.key`
	readAged = reading(aged) + ` order by i.key`
)

// Prune leaves a tombstone of each intent that has been final for long enough, oldest first, page by page, each in a commit
// of its own: its events, its attempts and its slots go, but for the numbers of a signer, of which those go that have none
// below them that is needed. It waits for no row, and two may run at once. It may be asked again after an error. told, if not
// nil, hears how many more were pruned. Entries of accounts and dead letters stay.
func (s *Store) Prune(ctx context.Context, p intents.Prune, told func(more int)) (intents.Pruned, error) {
	done := intents.NewPruned()
	for after, more := int64(0), true; more && (p.Limit == 0 || done.Total() < p.Limit); {
		var last int64
		var n int
		var old bool
		row := s.pool.QueryRowContext(ctx, pageOfIntents, after, p.Before, int64(prunePage))
		if err := row.Scan(&last, &n, &old); err != nil {
			return done, ofPool(err)
		}
		more = old && n == prunePage
		if old {
			page, err := s.prunePage(ctx, p, after, last, p.Limit-done.Total())
			if err != nil {
				return done, err
			}
			page.tell(&done, told)
		}
		after = last
	}
	if p.DryRun {
		return done, nil
	}
	return done, s.pruneNumbers(ctx, p, &done)
}

// pruning is a page of aged intents under lock: those that go, and why each of the others stays.
type pruning struct {
	rows, kept []row
	why        []intents.Kept
}

func (g *pruning) tell(done *intents.Pruned, told func(more int)) {
	for _, r := range g.rows {
		done.Intents[r.State]++
	}
	for i, r := range g.kept {
		done.Keep(r.Intent, g.why[i])
	}
	if told != nil && len(g.rows) > 0 {
		told(len(g.rows))
	}
}

// prunePage prunes what is aged among some keys; with a limit above 0 at most so many.
func (s *Store) prunePage(ctx context.Context, p intents.Prune, after, last int64, limit int) (*pruning, error) {
	var g *pruning
	err := s.tx(ctx, func(ctx context.Context, tx *poolTx) (err error) {
		g, err = choose(ctx, tx, p, after, last, limit)
		if err != nil || p.DryRun || len(g.rows) == 0 {
			return err
		}
		return entomb(ctx, tx, g.rows)
	})
	return g, err
}

// choose locks the aged intents among some keys and finds those that may go; with a limit above 0 the first so many.
func choose(ctx context.Context, tx *poolTx, p intents.Prune, after, last int64, limit int) (*pruning, error) {
	g := &pruning{}
	query := lockAged
	if p.DryRun {
		query = readAged
	}
	rows, err := load(ctx, tx, nil, query, after, last, p.Before, p.Route)
	if err != nil || len(rows) == 0 {
		return g, err
	}
	ks, slots := keysOf(rows)
	open, err := openOf(ctx, tx, ks, slots)
	if err != nil {
		return g, err
	}
	timelines, err := alarmsOf(ctx, tx, ks)
	if err != nil {
		return g, err
	}
	for _, r := range rows {
		if limit > 0 && len(g.rows) == limit {
			break
		}
		if why := intents.KeptFor(open[r.Key], timelines[r.Key]); why != "" {
			g.kept, g.why = append(g.kept, r), append(g.why, why)
			continue
		}
		g.rows = append(g.rows, r)
	}
	return g, nil
}

// keysOf gives the keys of intents, and the slots that may be theirs: the first of its own goes by the intent's key.
func keysOf(rows []row) (ks, slots []int64) {
	for _, r := range rows {
		ks, slots = append(ks, r.Key), append(slots, r.Key)
		if r.Slot.ID != 0 && r.Slot.ID != r.Key {
			slots = append(slots, r.Slot.ID)
		}
	}
	return ks, slots
}

// openOf tells whose slots are open.
func openOf(ctx context.Context, q queryer, ks, slots []int64) (map[int64]bool, error) {
	rows, err := q.QueryContext(ctx, openSlots, keys(ks), keys(slots))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	open := map[int64]bool{}
	for rows.Next() {
		var key int64
		if err := rows.Scan(&key); err != nil {
			return nil, badRow(err)
		}
		open[key] = true
	}
	return open, rows.Err()
}

// alarmsOf reads what KeptFor must know of timelines; nothing of those without an alarm.
func alarmsOf(ctx context.Context, q queryer, ks []int64) (map[int64][]intents.Event, error) {
	rows, err := q.QueryContext(ctx, alarms, keys(ks))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	timelines := map[int64][]intents.Event{}
	for rows.Next() {
		var key int64
		var e intents.Event
		if err := rows.Scan(&key, &e.Kind); err != nil {
			return nil, badRow(err)
		}
		timelines[key] = append(timelines[key], e)
	}
	return timelines, rows.Err()
}
