package pgstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

// lane names what runs one after the other.
type lane struct{ route, name string }

func laneOf(in intents.Intent) lane { return lane{in.Route, in.Lane} }

// queueing is how a lane stands.
type queueing struct {
	busy  bool  // an intent of it is under way
	first int64 // the lowest key that waits; 0: none
}

// The names are hashed by the server, so that all processes agree; names that share a hash only wait for each other. An
// advisory lock of the transaction ends with it, also behind a pooler.
const lockLaneNames = `select pg_advisory_xact_lock(h) from
 (select distinct hashtextextended(u.route || '/' || u.lane, 8) as h from unnest($1::text[], $2::text[]) u(route, lane) order by 1) l`

// lockLanes locks the lanes of a batch: without that two intents of a lane, each alone in what its transaction sees,
// could be claimed side by side.
func lockLanes(ctx context.Context, q queryer, ops []claimOp) error {
	var routes, names []string
	for _, op := range ops {
		if op.Intent.Lane != "" {
			routes, names = append(routes, op.Intent.Route), append(names, op.Intent.Lane)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return run(ctx, q, lockLaneNames, texts(routes), texts(names))
}

const selectLanes = `select l.route, l.lane,
 (select i.key from intents i where i.route = l.route and i.lane = l.lane and i.due_at is not null and i.state = 2 order by i.key limit 1),
 exists (select from intents i where i.route = l.route and i.lane = l.lane and i.due_at is not null and i.state in (3, 4, 8))
 from (select distinct * from unnest($1::text[], $2::text[])) l(route, lane)`

// loadLanes reads who stands first in each lane and whether one of it is under way. Only a first claim asks.
func (h *hall) loadLanes(ctx context.Context, q queryer, _ []claimOp) error {
	var routes, names []string
	for _, r := range h.rows {
		if r.Lane != "" && r.State == intents.Authorized {
			routes, names = append(routes, r.Route), append(names, r.Lane)
		}
	}
	if len(names) == 0 {
		return nil
	}
	rows, err := q.QueryContext(ctx, selectLanes, texts(routes), texts(names))
	if err != nil {
		return err
	}
	defer rows.Close()
	h.lanes = map[lane]*queueing{}
	for rows.Next() {
		var l lane
		var w queueing
		var first nullInt
		if err := rows.Scan(&l.route, &l.name, &first, &w.busy); err != nil {
			return badRow(err)
		}
		w.first = int64(first)
		h.lanes[l] = &w
	}
	return rows.Err()
}
