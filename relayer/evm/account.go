package evm

import (
	"fmt"
	"math/big"
	"strings"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nsqrelayer/relayer/intents"
)

// account is one signer with its counter and its money.
type account struct {
	from   common.Address
	scope  string
	signer Signer                  // nil: it is not the route's any more, what it sent is watched all the same
	has    atomic.Pointer[big.Int] // its balance, in wei, when it was last told; nil: never
	told   atomic.Int64            // when a low balance was last told, in Unix nanoseconds
}

func newAccount(chain uint64, signer Signer) *account {
	from := signer.Address()
	return &account{from: from, scope: fmt.Sprintf("evm:%d:%s", chain, from), signer: signer}
}

// Scopes name the counters of the slots, one for each signer in the order of the configuration: "evm:", chain id, ":", the
// signer's address.
func (s *Sender) Scopes() []string {
	var scopes []string
	for _, a := range s.accounts {
		scopes = append(scopes, a.scope)
	}
	return scopes
}

// account gives who signs in a scope. One that is not configured any more has an address all the same, from its scope, if
// that is one of the chain.
func (s *Sender) account(scope string) *account {
	for _, a := range s.accounts {
		if a.scope == scope {
			return a
		}
	}
	from, _ := strings.CutPrefix(scope, fmt.Sprintf("evm:%d:", s.cfg.ChainID))
	if !common.IsHexAddress(from) {
		return &account{scope: scope}
	}
	return &account{scope: scope, from: common.HexToAddress(from)}
}

// signs says whether the slots of a scope can be given further bytes.
func (s *Sender) signs(scope string) bool { return s.account(scope).signer != nil }

// owner gives who signs in a slot. Errors: the slot is none of the sender's.
func (s *Sender) owner(slot intents.Slot) (*account, error) {
	a := s.account(slot.Scope)
	if slot.Kind != intents.Counter || slot.Number < 0 || a.signer == nil {
		return nil, fmt.Errorf("slot %v is none of %v", slot, s.Scopes())
	}
	return a, nil
}

// empty uses up a number: nothing, to its own signer.
func (a *account) empty() transfer { return transfer{to: a.from, value: new(big.Int)} }
