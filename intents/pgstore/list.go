package pgstore

import (
	"cmp"
	"context"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// listing reads a list, with what must hold beside the filter.
func listing(more string) string {
	return reading(`select * from intents where ($1 = '' or route = $1) and (cardinality($2::smallint[]) = 0 or state = any($2))
 and ($3 = '' or account = $3) and ($4 = '' or asset = $4) and ($5 = '' or lane = $5) and ($6 = '' or ref = $6)
 and ($7::timestamptz is null or created_at >= $7) and ($8::timestamptz is null or created_at < $8) and ($9::bigint = 0 or key < $9)
`+more+` order by key desc limit $10`) + ` order by i.key desc`
}

// What is open is due some day, and what did not go as asked has a reason. No index may name state, but these lead to few rows
// among all that settled.
var (
	listIntents = listing("")
	listOpen    = listing("and due_at is not null")
	listAmiss   = listing("and reason is not null")
	listCalled  = listing("and reason = '" + string(intents.ReasonOperator) + "'")
	listReviews = listing("and due_at is not null and reason is not null")
)

// listOf chooses the query for what a filter asks for.
func listOf(f intents.Filter) string {
	open, amiss := len(f.States) > 0, len(f.States) > 0
	for _, s := range f.States {
		amiss = amiss && (s == intents.Failed || s == intents.Canceled || s == intents.NeedsReview)
		open = open && (s == intents.Authorized || s.Holds())
	}
	switch {
	case len(f.States) == 1 && f.States[0] == intents.Canceled: // it is always a person who cancels
		return listCalled
	case open && amiss:
		return listReviews
	case amiss:
		return listAmiss
	case open:
		return listOpen
	}
	return listIntents
}

// List reads intents, newest first.
func (s *Store) List(ctx context.Context, f intents.Filter) ([]intents.Intent, error) {
	rows, err := load(ctx, s.pool, nil, listOf(f), listArgs(f)...)
	if err != nil {
		return nil, ofPool(err)
	}
	return plain(rows), nil
}

func listArgs(f intents.Filter) []any {
	states := newColumn(oidInt2, len(f.States))
	for _, st := range f.States {
		states.int2(int16(st))
	}
	return []any{f.Route, states.value(), f.Account, f.Asset, f.Lane, f.Ref,
		timeOrNull(f.Since), timeOrNull(f.Until), f.Before, int64(cmp.Or(f.Limit, intents.DefaultLimit))}
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

const countIntents = `select state, count(*) from intents where ($1 = '' or route = $1) group by state`

// Count counts the intents of a route by state; of all routes when it is empty. It reads them all.
func (s *Store) Count(ctx context.Context, route string) (map[intents.State]int, error) {
	rows, err := s.pool.QueryContext(ctx, countIntents, route)
	if err != nil {
		return nil, ofPool(err)
	}
	defer rows.Close()
	counts := map[intents.State]int{}
	for rows.Next() {
		var state intents.State
		var n int
		if err := rows.Scan(&state, &n); err != nil {
			return nil, err
		}
		counts[state] = n
	}
	return counts, ofRead(rows.Err())
}
