package simtest

import (
	"slices"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

// believes says whether a person who looks at an intent now would give the order, and completes it. He tells the truth as
// the recipient knows it; where the product asks the recipient itself he may be wrong, since it must refuse him then.
func (s *sim) believes(in intents.Intent, o *intents.Order) bool {
	switch o.Verb {
	case intents.Settle:
		return s.happened(in, o)
	case intents.Fail:
		return s.unpaid(in.ID) || s.proves(in)
	}
	o.MayPayTwice = s.unpaid(in.ID) && s.chance(0.6) // and he has made sure that it was not paid
	return true
}

// happened chooses the reference that a person brings.
func (s *sim) happened(in intents.Intent, o *intents.Order) bool {
	n, beyond := s.recipient.effects(in.ID)
	o.Ref = s.reference(in)
	if n == 1 && beyond {
		o.Unconfirmed = s.chance(0.5)
		return true
	}
	_, referee := s.recipient.(*chain)
	return s.asked(in) || referee
}

// reference is what a person finds of a payment: what a stranger paid, one of the intent's attempts, the provider's id.
func (s *sim) reference(in intents.Intent) string {
	if c, ok := s.recipient.(*chain); ok && s.chance(0.5) {
		for _, f := range c.known() {
			if f.Pays(in) {
				return f.Hash
			}
		}
	}
	if _, ok := s.recipient.(*provider); ok {
		return "ch_" + in.ID
	}
	as, err := s.db.Attempts(s.ctx(), in.ID)
	if err != nil || len(as) == 0 {
		return "0xnothing"
	}
	return as[s.rand.IntN(len(as))].Name
}

// asked says whether the recipient is asked about the intent's bytes before anybody decides.
func (s *sim) asked(in intents.Intent) bool { return in.Seen && in.Stored > 0 }

// proves says whether the product itself must refuse to fail an intent that was paid, or may be: its bytes count on a
// chain, and of a provider that can be asked what it has.
func (s *sim) proves(in intents.Intent) bool {
	n, _ := s.recipient.effects(in.ID)
	return s.asked(in) && (in.Slot.Kind != intents.Key || n > 0)
}

// unpaid says whether an intent was not paid, and nobody has or sends anything that would pay it. A call that has begun
// and has not left its process is nothing that a person can see; what may come of it stands in guarantees.md.
func (s *sim) unpaid(id string) bool {
	n, _ := s.recipient.effects(id)
	if _, alive := s.monitor.alive(id, ""); n > 0 || alive {
		return false
	}
	if c, ok := s.recipient.(*chain); ok {
		for _, f := range c.known() {
			if f.Pays(s.monitor.last[id]) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(s.hall.standing(), func(g *gate) bool {
		return g.call == "submit" && strings.HasSuffix(g.what, " of "+id)
	})
}
