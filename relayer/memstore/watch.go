package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Watches lists up to most slots of the route to look at, oldest first: intents whose watch_at has come, and every
// counter slot to be filled.
func (s *Store) Watches(_ context.Context, route string, most int) ([]intents.Watch, error) {
	now := s.begin()
	defer s.mu.Unlock()
	var found []*slot
	for _, sl := range s.slots {
		if sl.route == route && sl.open && !sl.due().After(now) && (sl.owner == nil || sl.owner.watched()) {
			found = append(found, sl)
		}
	}
	slices.SortFunc(found, func(a, b *slot) int { return cmp.Or(a.due().Compare(b.due()), cmp.Compare(a.ID, b.ID)) })
	var out []intents.Watch
	for _, sl := range found[:min(len(found), most)] {
		w := intents.Watch{Slot: sl.Slot, Attempts: s.bytes(sl.ID)}
		if sl.owner != nil {
			w.Intent = s.show(sl.owner, now)
		}
		out = append(out, w)
	}
	return out, nil
}

// due is since when the slot waits to be looked at.
func (sl *slot) due() time.Time {
	if sl.owner == nil {
		return sl.since
	}
	return sl.owner.in.WatchAt
}

func (r *record) watched() bool {
	return r.in.Stored > 0 && !r.in.State.Final() && !r.in.WatchAt.IsZero()
}

// Record writes what observations mean and returns the intents after it, one for each observation; a filler's is zero.
// An observation of a slot that its intent has lost changes nothing.
func (s *Store) Record(_ context.Context, ws []intents.Watch, os []intents.Observation, p intents.Patience) ([]intents.Intent, error) {
	now := s.begin()
	defer s.mu.Unlock()
	out := make([]intents.Intent, len(os))
	for i, o := range os {
		sl := s.slots[o.Slot.ID]
		if sl == nil {
			continue
		}
		switch {
		case o.Foreign != nil && o.Fact == intents.Dead && o.No == 0:
			out[i] = s.displace(sl, o, now)
		case sl.owner == nil:
			s.filled(sl, o, now)
		default:
			out[i] = s.witness(sl, o, p, now)
		}
	}
	return out, nil
}

// filled closes a filler that was proved used, or says when to look at it again.
func (s *Store) filled(sl *slot, o intents.Observation, now time.Time) {
	switch {
	case !sl.open:
	case o.Fact == intents.Final || o.Fact == intents.Reverted:
		s.shut(sl)
	case o.After > 0:
		sl.since = now.Add(o.After)
	}
}

func (s *Store) witness(sl *slot, o intents.Observation, p intents.Patience, now time.Time) intents.Intent {
	r := sl.owner
	if r.in.Slot.ID == sl.ID {
		s.write(r, intents.Witness(r.in, o, sl.attempt(o.No), p, s.cfg.Actor, now))
	}
	return s.show(r, now)
}

// attempt gives the attempt of a number, for 0 the last one of ours.
func (sl *slot) attempt(no int) intents.Attempt {
	for _, a := range slices.Backward(sl.attempts) {
		if a.No == no || no == 0 && a.Kind != intents.Alien {
			return a
		}
	}
	return intents.Attempt{}
}
