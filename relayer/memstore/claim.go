package memstore

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Claim claims an authorized intent or takes over one whose claim has ended.
// Errors: *intents.NotClaimedError, intents.ErrNoSigner.
func (s *Store) Claim(_ context.Context, c intents.Claim) (intents.Claimed, error) {
	now := s.begin()
	defer s.mu.Unlock()
	r := s.row(c.Intent)
	if r == nil {
		return intents.Claimed{}, &intents.NotClaimedError{Why: intents.WhyMoved}
	}
	if c.ID != "" && r.in.State == intents.Settling && r.in.ClaimID == c.ID && r.in.Version == c.Intent.Version+1 {
		return s.claimed(r, now), nil // asked again
	}
	if c.ID == "" {
		c.ID = rand.Text()
	}
	f := s.facts(r.in, c, now)
	ch, err := intents.Admit(r.in, c, f)
	if err != nil {
		s.write(r, ch)
		return intents.Claimed{}, err
	}
	s.seat(r, &ch.After, c, f.Signer)
	s.write(r, ch)
	return s.claimed(r, now), nil
}

// facts reads what stands beside the row.
func (s *Store) facts(in intents.Intent, c intents.Claim, now time.Time) intents.Facts {
	f := intents.Facts{Now: now, Paused: s.routes[in.Route].Paused, LaneBusy: s.laneBusy(in)}
	if a := s.accounts[potOf(in)]; a != nil {
		f.Enforced, f.Free = a.Enforced, a.Free()
	}
	f.Signer = c.Plan.Pick(in.Lane, s.signer)
	return f
}

// laneBusy says whether another intent of the lane is under way or stands before this one.
func (s *Store) laneBusy(in intents.Intent) bool {
	if in.Lane == "" {
		return false
	}
	for _, r := range s.byID {
		o := r.in
		if o.Key == in.Key || o.Route != in.Route || o.Lane != in.Lane || o.State.Final() || o.State == intents.Created {
			continue
		}
		if o.State.Holds() || o.Key < in.Key {
			return true
		}
	}
	return false
}

// signer shows one as it stands, nil when it is not known.
func (s *Store) signer(scope string) *intents.Signer {
	sg := s.signers[scope]
	if sg == nil {
		return nil
	}
	told := s.told(sg)
	return &told
}

// seat gives a claim the slot it takes: the signer's next number, or the named slot with the bytes that came with it.
func (s *Store) seat(r *record, in *intents.Intent, c intents.Claim, from *intents.Signer) {
	had := r.in.Slot.Kind != intents.NoSlot
	switch {
	case had:
		return
	case c.Plan.Slot == intents.Counter:
		sg := s.signers[from.Scope]
		in.Slot = intents.Slot{ID: s.next(), Kind: intents.Counter, Scope: sg.Scope, Number: sg.Next}
		sg.Next++
		sg.Open++
	case s.slots[in.Slot.ID] != nil: // its first slot was proved dead: bytes of another are never mixed with those
		in.Slot.ID = s.next()
	}
	sl := &slot{Slot: in.Slot, owner: r, by: r.in.Key, route: in.Route, open: true}
	s.slots[sl.ID] = sl
	if c.Plan.Slot != intents.Counter {
		a := *c.Attempt
		a.No = 1
		sl.keep(a)
	}
}

// keep stores bytes under a number that has none.
func (sl *slot) keep(a intents.Attempt) {
	a.Slot, a.Bytes = sl.Slot, slices.Clone(a.Bytes)
	sl.attempts = append(sl.attempts, a)
	slices.SortFunc(sl.attempts, func(a, b intents.Attempt) int { return a.No - b.No })
}

// claimed shows a claim: the row and every attempt of its slot.
func (s *Store) claimed(r *record, now time.Time) intents.Claimed {
	return intents.Claimed{Intent: s.show(r, now), Attempts: s.bytes(r.in.Slot.ID)}
}

// bytes copies the attempts of a slot, by number.
func (s *Store) bytes(id int64) []intents.Attempt {
	sl := s.slots[id]
	if sl == nil {
		return nil
	}
	out := slices.Clone(sl.attempts)
	for i := range out {
		out[i].Bytes = slices.Clone(out[i].Bytes)
	}
	return out
}
