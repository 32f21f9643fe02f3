package pgstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// A route's switch is read in the subquery, so that what waits in a paused route does not fill the limit. Rows that
// somebody works on are skipped: he will say when to look next. The clock is read once, in a subquery, so that it ends the
// search in the index; asked row by row it is asked of every intent that is due later (case 50).
var dueIntents = reading(`select d.* from intents d where d.route = $1 and d.due_at is not null and d.due_at <= (select clock_timestamp()) and d.state between 1 and 8
 and (not (exists (select from routes p where p.route = $1 and p.paused) or ` + stopped + `) or (d.state in (1, 2) and d.expires_at <= clock_timestamp()))
 order by d.due_at, d.key limit $2 for update of d skip locked`)

// Sweep decides, as intents.Sweep does, on up to most due intents of the route, oldest first, and returns those to publish,
// as they stand after due_at was pushed on. In a paused route expiry is all that is carried out.
func (s *Store) Sweep(ctx context.Context, route string, most int) ([]intents.Intent, error) {
	var out []intents.Intent
	err := s.tx(ctx, func(ctx context.Context, tx *poolTx) error {
		out = nil
		rows, err := load(ctx, tx, nil, dueIntents, route, int64(most))
		if err != nil {
			return err
		}
		slices.SortFunc(rows, func(a, b row) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.Key, b.Key)) })
		var sh sheet
		for _, r := range rows {
			ch, publish := intents.Sweep(r.Intent, r.looks, s.cfg.Actor, r.ReadAt)
			in := sh.add(&r, ch, r.looks+1)
			if publish {
				out = append(out, show(in, r.ReadAt))
			}
		}
		_, err = sh.write(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

const unseenIntents = `select i.key from intents i join unnest($1::bigint[], $2::int[], $3::timestamptz[]) u(key, version, due_at)
 on i.key = u.key and i.version = u.version and i.due_at = u.due_at and i.due_at > clock_timestamp()`

// Waiting returns those of the given intents that nobody has looked at since: version and due_at are unchanged and due_at
// has not passed.
func (s *Store) Waiting(ctx context.Context, ins []intents.Intent) ([]intents.Intent, error) {
	c := newColumns([]uint32{oidInt8, oidInt4, oidTimestamptz}, len(ins))
	for _, in := range ins {
		c[0].int8(in.Key)
		c[1].int4(in.Version)
		c[2].time(in.DueAt)
	}
	unseen, err := all[int64](ctx, s, unseenIntents, c.args()...)
	if err != nil {
		return nil, err
	}
	waits := make(map[int64]bool, len(unseen))
	for _, key := range unseen {
		waits[key] = true
	}
	return slices.DeleteFunc(slices.Clone(ins), func(in intents.Intent) bool { return !waits[in.Key] }), nil
}

// plain gives the intents of rows.
func plain(rows []row) []intents.Intent {
	ins := make([]intents.Intent, len(rows))
	for i, r := range rows {
		ins[i] = r.Intent
	}
	return ins
}

const takeLease = `insert into leases as l (name, owner, until) values ($1, $2, clock_timestamp() + $3 * interval '1 microsecond')
 on conflict (name) do update set owner = excluded.owner, until = excluded.until
 where l.owner = excluded.owner or l.until <= clock_timestamp() returning 1`

// Lead takes or keeps the lease of a name for a term, and says whether owner has it now. The lease ends by the database's
// clock.
func (s *Store) Lead(ctx context.Context, name, owner string, term time.Duration) (bool, error) {
	var had bool
	err := s.tx(ctx, func(ctx context.Context, tx *poolTx) error {
		rows, err := tx.QueryContext(ctx, takeLease, name, owner, term.Microseconds())
		if err != nil {
			return err
		}
		defer rows.Close()
		had = rows.Next()
		return rows.Err()
	})
	return had && err == nil, err
}
