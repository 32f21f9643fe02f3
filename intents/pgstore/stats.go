package pgstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	// What is open is due some day; the index of that has no state in it, so the rows themselves are read, up to a bound.
	countDue = `select route, state, count(*), min(due_at) from
 (select route, state, due_at from intents where due_at is not null limit $1) i group by route, state order by route, state`
	estimateAll = `select greatest(reltuples, 0)::bigint from pg_class where oid = 'intents'::regclass`
)

// CountOpen counts intents that are due some day, by route and state, and looks at no more than most of them. An intent that
// is only created is due when it expires: without an expiry it is not counted.
func (s *Store) CountOpen(ctx context.Context, most int) (intents.OpenCounts, error) {
	var c intents.OpenCounts
	if err := s.pool.QueryRowContext(ctx, estimateAll).Scan(&c.Total); err != nil {
		return c, ofPool(err)
	}
	rows, err := s.pool.QueryContext(ctx, countDue, int64(most))
	if err != nil {
		return c, ofPool(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var o intents.OpenCount
		if err := rows.Scan(&o.Route, &o.State, &o.N, stamp{&o.DueAt}); err != nil {
			return c, err
		}
		n += o.N
		c.Counts = append(c.Counts, o)
	}
	c.Cut = n >= most
	return c, ofRead(rows.Err())
}
