package pgstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

const setPaused = `insert into routes (route, paused, by, at) values ($1, $2, $3, clock_timestamp())
 on conflict (route) do update set paused = excluded.paused, by = excluded.by, at = excluded.at`

// SetPaused turns a route's switch. What met a paused route is due at once already, so nothing more is to be done when it
// is turned off.
func (s *Store) SetPaused(ctx context.Context, route string, paused bool, actor string) error {
	return s.exec(ctx, setPaused, route, paused, actor)
}

const selectRoutes = `select route, paused, by, at from routes order by route`

// Routes reads every switch that was ever turned, by name.
func (s *Store) Routes(ctx context.Context) ([]intents.RouteState, error) {
	return all[intents.RouteState](ctx, s, selectRoutes)
}
