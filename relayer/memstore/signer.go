package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

// OpenSigner makes a counter scope known with the chain's next number (sg.Next), or compares the two: it freezes the
// scope when the chain is ahead of the numbers given out. It returns the signer as it stands; a frozen one stays frozen.
func (s *Store) OpenSigner(_ context.Context, sg intents.Signer) (intents.Signer, error) {
	s.begin()
	defer s.mu.Unlock()
	had := s.signers[sg.Scope]
	if had == nil {
		had = &intents.Signer{Scope: sg.Scope, Next: sg.Next}
		s.signers[sg.Scope] = had
	}
	*had = had.Look(sg.Next)
	had.Window = sg.Window
	return s.told(had), nil
}

// See tells the next number by the chain's own count. Errors: intents.ErrNoSigner.
func (s *Store) See(_ context.Context, scope string, next int64) (intents.Signer, error) {
	return s.turn(scope, func(sg intents.Signer) intents.Signer { return sg.Look(next) })
}

// Freeze stops a signer: no number is given out. Errors: intents.ErrNoSigner.
func (s *Store) Freeze(_ context.Context, scope, reason, actor string) (intents.Signer, error) {
	return s.turn(scope, func(sg intents.Signer) intents.Signer { return sg.Freeze(reason, actor) })
}

// Unfreeze lets a signer give out numbers again, above all that the chain has used. Those left out are kept as closed slots.
// Errors: intents.ErrNoSigner.
func (s *Store) Unfreeze(_ context.Context, scope, _, _ string) (intents.Signer, error) {
	return s.turn(scope, func(sg intents.Signer) intents.Signer {
		after := sg.Unfreeze()
		for n := sg.Next; n < after.Next; n++ {
			sl := &slot{Slot: intents.Slot{ID: s.next(), Kind: intents.Counter, Scope: scope, Number: n}}
			s.slots[sl.ID] = sl
		}
		return after
	})
}

func (s *Store) turn(scope string, how func(intents.Signer) intents.Signer) (intents.Signer, error) {
	s.begin()
	defer s.mu.Unlock()
	sg := s.signers[scope]
	if sg == nil {
		return intents.Signer{}, intents.ErrNoSigner
	}
	*sg = how(*sg)
	return s.told(sg), nil
}

// told counts the signer's slots that the chain has not used yet.
func (s *Store) told(sg *intents.Signer) intents.Signer {
	out := *sg
	for _, sl := range s.slots {
		if sl.Kind == intents.Counter && sl.open && sl.Scope == sg.Scope && sl.Number >= sg.Seen {
			out.Ahead++
		}
	}
	return out
}

// Signers reads every counter scope, by name.
func (s *Store) Signers(context.Context) ([]intents.Signer, error) {
	s.begin()
	defer s.mu.Unlock()
	var out []intents.Signer
	for _, sg := range s.signers {
		out = append(out, s.told(sg))
	}
	slices.SortFunc(out, func(a, b intents.Signer) int { return cmp.Compare(a.Scope, b.Scope) })
	return out, nil
}
