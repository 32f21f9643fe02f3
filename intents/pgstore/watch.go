package pgstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

var (
	watchedIntents = reading(`select * from intents where route = $1 and watch_at is not null and watch_at <= (select clock_timestamp())
 and stored > 0 and state between 1 and 8 order by watch_at, key limit $2`)
	openFillers = `select key, scope, number, watch_at from slots where route = $1 and watch_at is not null and watch_at <= (select clock_timestamp())
 and filler and closed_at is null order by watch_at, key limit $2`
)

// watched is a slot to look at, and since when.
type watched struct {
	intents.Watch
	since time.Time
}

// Watches lists up to most slots of the route whose watch_at has come, oldest first: intents with stored bytes that are not
// final, and counter slots to be filled (their Intent is zero).
func (s *Store) Watches(ctx context.Context, route string, most int) ([]intents.Watch, error) {
	rows, err := load(ctx, s.pool, nil, watchedIntents, route, int64(most))
	if err != nil {
		return nil, ofPool(err)
	}
	all, err := s.fillers(ctx, route, most)
	if err != nil {
		return nil, ofPool(err)
	}
	for _, r := range rows {
		all = append(all, watched{intents.Watch{Intent: r.Intent, Slot: r.Slot}, r.WatchAt})
	}
	slices.SortFunc(all, func(a, b watched) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.Slot.ID, b.Slot.ID))
	})
	return s.withAttempts(ctx, all[:min(len(all), most)])
}

func (s *Store) fillers(ctx context.Context, route string, most int) ([]watched, error) {
	rows, err := s.pool.QueryContext(ctx, openFillers, route, int64(most))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []watched
	for rows.Next() {
		w := watched{Watch: intents.Watch{Slot: intents.Slot{Kind: intents.Counter}}}
		if err := rows.Scan(&w.Slot.ID, &w.Slot.Scope, &w.Slot.Number, stamp{&w.since}); err != nil {
			return nil, badRow(err)
		}
		all = append(all, w)
	}
	return all, rows.Err()
}

func (s *Store) withAttempts(ctx context.Context, all []watched) ([]intents.Watch, error) {
	slots, ws := make([]int64, len(all)), make([]intents.Watch, len(all))
	for i, w := range all {
		slots[i], ws[i] = w.Slot.ID, w.Watch
	}
	found, err := readAttempts(ctx, s.pool, slots)
	if err != nil {
		return nil, ofPool(err)
	}
	for i := range ws {
		ws[i].Attempts = inSlot(found[ws[i].Slot.ID], ws[i].Slot)
	}
	return ws, nil
}
