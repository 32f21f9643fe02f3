package memstore

import (
	"cmp"
	"context"
	"fmt"
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
	had.Window, had.Seen = sg.Window, sg.Next
	if sg.Next > had.Next && had.Frozen == "" {
		had.Frozen = fmt.Sprintf("the chain's next number is %d, ours is %d: another sends with this signer", sg.Next, had.Next)
	}
	return *had, nil
}

// Signers reads every counter scope, by name.
func (s *Store) Signers(context.Context) ([]intents.Signer, error) {
	s.begin()
	defer s.mu.Unlock()
	var out []intents.Signer
	for _, sg := range s.signers {
		out = append(out, *sg)
	}
	slices.SortFunc(out, func(a, b intents.Signer) int { return cmp.Compare(a.Scope, b.Scope) })
	return out, nil
}
