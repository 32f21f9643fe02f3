package pgstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	lockSigners = `select clock_timestamp(), s.* from
 (select scope, next, slots, coalesce(frozen, ''), seen from signers where scope = any($1) order by scope for update) s`
	// A slot that closes meanwhile makes the count too high, never too low: slots open under the signer's lock alone.
	// What the chain has used, it does not keep waiting any more.
	countOpen = `select o.scope, count(*) from slots o join signers s on s.scope = o.scope
 where o.scope = any($1) and o.closed_at is null and o.kind = 2 and o.number >= s.seen group by o.scope`
	drawKeys = `select nextval('relayer_keys') from generate_series(1, $1::int)`
)

// loadSigners locks the signers that claims of the batch may take a number of, and draws keys for their slots.
func (h *hall) loadSigners(ctx context.Context, q queryer, ops []claimOp) error {
	wanted := map[string]int64{}
	var slots int
	for _, op := range ops {
		r := h.rows[op.Intent.Key]
		if r == nil || r.State != intents.Authorized || r.Slot.Kind != intents.NoSlot {
			continue
		}
		if op.opens(r.Intent) {
			for _, scope := range op.Plan.Scopes() {
				wanted[scope]++
			}
			slots++
		} else if r.Version > firstVersion {
			slots++
		}
	}
	if err := h.draw(ctx, q, slots); err != nil || len(wanted) == 0 {
		return err
	}
	if err := h.readSigners(ctx, q, slices.Sorted(maps.Keys(wanted))); err != nil {
		return err
	}
	return h.countSlots(ctx, q, h.crowded(wanted))
}

// crowded lists the scopes whose window the numbers wanted might not fit in. In the others no more slots can be open than
// numbers were given out above what the chain has used, and that is not too many: there is nothing to count.
func (h *hall) crowded(wanted map[string]int64) []string {
	var scopes []string
	for scope, n := range wanted {
		sg := h.signers[scope]
		switch {
		case sg == nil:
		case sg.Next-sg.Seen+n > int64(sg.Window):
			scopes = append(scopes, scope)
		default:
			sg.Ahead = int(max(sg.Next-sg.Seen, 0))
		}
	}
	return scopes
}

func (h *hall) readSigners(ctx context.Context, q queryer, scopes []string) error {
	rows, err := q.QueryContext(ctx, lockSigners, texts(scopes))
	if err != nil {
		return err
	}
	defer rows.Close()
	h.signers = map[string]*intents.Signer{}
	for rows.Next() {
		var sg intents.Signer
		var now time.Time
		if err := rows.Scan(stamp{&now}, &sg.Scope, &sg.Next, &sg.Window, &sg.Frozen, &sg.Seen); err != nil {
			return badRow(err)
		}
		h.signers[sg.Scope] = &sg
		h.tell(now)
	}
	return rows.Err()
}

func (h *hall) countSlots(ctx context.Context, q queryer, scopes []string) error {
	if len(scopes) == 0 {
		return nil
	}
	rows, err := q.QueryContext(ctx, countOpen, texts(scopes))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var scope string
		var open int
		if err := rows.Scan(&scope, &open); err != nil {
			return badRow(err)
		}
		if sg := h.signers[scope]; sg != nil {
			sg.Ahead = open
		}
	}
	return rows.Err()
}

func (h *hall) draw(ctx context.Context, q queryer, n int) error {
	if n == 0 {
		return nil
	}
	rows, err := q.QueryContext(ctx, drawKeys, int64(n))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k int64
		if err := rows.Scan(&k); err != nil {
			return badRow(err)
		}
		h.keys = append(h.keys, k)
	}
	return rows.Err()
}
