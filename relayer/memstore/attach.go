package memstore

import (
	"context"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

// Attach stores bytes under (slot, no) and returns the ones stored there first. Errors: intents.ErrSlotClosed.
func (s *Store) Attach(_ context.Context, a intents.Attempt) (intents.Attempt, error) {
	s.begin()
	defer s.mu.Unlock()
	sl := s.slots[a.Slot.ID]
	if sl == nil || !sl.takes(a.Kind) {
		return intents.Attempt{}, intents.ErrSlotClosed
	}
	if !slices.ContainsFunc(sl.attempts, func(b intents.Attempt) bool { return b.No == a.No }) {
		sl.keep(a)
		if sl.owner != nil {
			sl.owner.in.Stored++
		}
	}
	for _, b := range s.bytes(sl.ID) {
		if b.No == a.No {
			return b, nil
		}
	}
	return intents.Attempt{}, intents.ErrSlotClosed
}

// takes says whether bytes of a kind may be stored in the slot. One to be filled never takes a payment: its intent is
// failed, and its first owner may still be preparing.
func (sl *slot) takes(k intents.Kind) bool {
	switch {
	case !sl.open:
		return false
	case sl.owner == nil:
		return k == intents.Fill || k == intents.Cancel
	}
	return sl.owner.in.Takes(k) && sl.owner.in.Slot.ID == sl.ID
}
