package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Account keeps a foreign transaction that used a number which was never given out, and compares it with all intents.
// Numbers below that are accounted for or given out change nothing. Errors: intents.ErrNoSigner.
func (s *Store) Account(_ context.Context, scope string, number int64, f intents.Foreign, detail []byte) (intents.Signer, error) {
	now := s.begin()
	defer s.mu.Unlock()
	sg := s.signers[scope]
	switch {
	case sg == nil:
		return intents.Signer{}, intents.ErrNoSigner
	case number != sg.Next:
		return s.told(sg), nil
	}
	sl := &slot{Slot: intents.Slot{ID: s.next(), Kind: intents.Counter, Scope: scope, Number: number}}
	s.slots[sl.ID] = sl
	sl.keep(f.Attempt(sl.Slot, nil))
	s.suspects(nil, f, f.At, false, detail, now)
	sg.Next++
	*sg = sg.Displaced(number, f)
	return s.told(sg), nil
}

// displace writes that a foreign transaction used the number of a slot: it is kept there, the signer is frozen, every
// intent that it may have paid is told, and the slot's own, if it has one, goes to a person or takes a new slot.
func (s *Store) displace(sl *slot, o intents.Observation, now time.Time) intents.Intent {
	r, f := sl.owner, *o.Foreign
	if !sl.open || r != nil && (r.in.Slot.ID != sl.ID || !r.in.State.Holds()) {
		if r == nil {
			return intents.Intent{}
		}
		return s.show(r, now)
	}
	since, again := f.At, slices.ContainsFunc(sl.attempts, func(a intents.Attempt) bool { return a.Name == f.Hash })
	if sg := s.signers[sl.Scope]; !again { // a person may have unfrozen it since, knowing this
		*sg = sg.Displaced(sl.Number, f)
	}
	if r == nil {
		s.suspects(nil, f, since, again, o.Evidence, now)
		s.keepForeign(sl, f, again)
		s.shut(sl)
		return intents.Intent{}
	}
	if r.in.FirstClaimedAt.Before(since) {
		since = r.in.FirstClaimedAt
	}
	matched := s.suspects(r, f, since, again, o.Evidence, now) || f.Pays(r.in)
	s.write(r, intents.Displace(r.in, o, matched, again, s.cfg.Actor, now))
	s.keepForeign(sl, f, again)
	return s.show(r, now)
}

// keepForeign keeps the transaction in the slot, once.
func (s *Store) keepForeign(sl *slot, f intents.Foreign, again bool) {
	if again {
		return
	}
	sl.keep(f.Attempt(sl.Slot, sl.attempts))
	if sl.owner != nil && sl.owner.in.Slot.ID == sl.ID {
		sl.owner.in.Stored++
	}
}

// suspects tells every intent but the displaced one that a foreign transaction may have paid it, and says whether any.
func (s *Store) suspects(displaced *record, f intents.Foreign, since time.Time, again bool, detail []byte, now time.Time) bool {
	any := false
	for _, r := range s.byID {
		if r == displaced {
			continue
		}
		ch, may := intents.Suspect(r.in, f, since, again, detail, s.cfg.Actor, now)
		if may {
			s.write(r, ch)
			any = true
		}
	}
	return any
}
