package pgstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

const selectEvents = `select version, n, at, kind, from_state as "from", to_state as "to", actor, coalesce(reason, '') as reason,
 coalesce(claim_id, '') as claimid, coalesce(ref, '') as ref, detail
 from intent_events where intent = $1 order by version, n`

// Events reads an intent's timeline, oldest first. Nothing is left of that of a pruned one. Errors: intents.ErrNotFound.
func (s *Store) Events(ctx context.Context, id string) ([]intents.Event, error) {
	in, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return all[intents.Event](ctx, s, selectEvents, in.Key)
}

// Attempts reads the bytes stored in an intent's slot, by number. Errors: intents.ErrNotFound.
func (s *Store) Attempts(ctx context.Context, id string) ([]intents.Attempt, error) {
	in, err := s.Get(ctx, id)
	if err != nil || in.Slot.Kind == intents.NoSlot {
		return nil, err
	}
	found, err := readAttempts(ctx, s.pool, []int64{in.Slot.ID})
	if err != nil {
		return nil, ofPool(err)
	}
	return inSlot(found[in.Slot.ID], in.Slot), nil
}
