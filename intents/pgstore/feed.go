package pgstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	// Every transaction below it has ended, and what it wrote is seen by whoever asks from now on.
	selectHorizon = `select pg_snapshot_xmin(pg_current_snapshot())::text::bigint`

	selectFeed = `select e.xid, e.intent, i.id, i.route, e.version, e.n, e.at, e.kind, e.from_state, e.to_state, e.actor, coalesce(e.reason, ''),
 coalesce(e.claim_id, ''), coalesce(e.ref, ''), e.detail
 from intent_events e join intents i on i.key = e.intent
 where e.xid >= $1 and e.xid < $2 and (e.xid, e.intent, e.version, e.n) > ($1, $3, $4, $5)
  and ($6 = '' or i.route = $6) and (cardinality($7::smallint[]) = 0 or e.to_state = any($7))
 order by e.xid, e.intent, e.version, e.n limit $8`
)

// feedStretch is how many transactions one question covers, so that it is bounded also far behind the end.
const feedStretch = 2000

// Feed reads up to most events after a cursor, in an order in which nothing appears later before what was read; next is where
// to go on, also when nothing was found. It lags behind the oldest transaction under way. The zero cursor is the end.
// Errors: *intents.CursorError.
func (s *Store) Feed(ctx context.Context, from intents.Cursor, f intents.FeedFilter, most int) (found []intents.FeedEvent, next intents.Cursor, err error) {
	var horizon int64
	if err := s.pool.QueryRowContext(ctx, selectHorizon).Scan(&horizon); err != nil {
		return nil, from, ofPool(err)
	}
	switch {
	case from.Tx == 0:
		return nil, intents.Cursor{Tx: horizon}, nil
	case from.Tx > horizon:
		return nil, from, &intents.CursorError{At: from}
	case from.Tx == horizon:
		return nil, from, nil
	}
	end := min(horizon, from.Tx+feedStretch)
	found, err = s.feed(ctx, from, end, f, most)
	switch {
	case err != nil:
		return nil, from, err
	case len(found) == most:
		return found, found[most-1].Place, nil
	}
	return found, intents.Cursor{Tx: end}, nil
}

func (s *Store) feed(ctx context.Context, from intents.Cursor, end int64, f intents.FeedFilter, most int) ([]intents.FeedEvent, error) {
	states := newColumn(oidInt2, len(f.States))
	for _, st := range f.States {
		states.int2(int16(st))
	}
	rows, err := s.pool.QueryContext(ctx, selectFeed, from.Tx, end, from.Intent, int64(from.Version), int64(from.N), f.Route, states.value(), int64(most))
	if err != nil {
		return nil, ofPool(err)
	}
	defer rows.Close()
	var all []intents.FeedEvent
	for rows.Next() {
		var e intents.FeedEvent
		if err := rows.Scan(&e.Place.Tx, &e.Place.Intent, &e.ID, &e.Route, &e.Version, &e.N, stamp{&e.At}, &e.Kind, &e.From, &e.To, &e.Actor, &e.Reason,
			&e.ClaimID, &e.Ref, &e.Detail); err != nil {
			return nil, err
		}
		e.Place.Version, e.Place.N = e.Version, e.N
		all = append(all, e)
	}
	return all, ofRead(rows.Err())
}
