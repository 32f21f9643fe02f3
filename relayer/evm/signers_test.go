package evm_test

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/relayer/evm"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// second is another signer's key, the same in each run.
func second(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := crypto.ToECDSA(common.BigToHash(big.NewInt(0x5ec0d)).Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// funded gives the second signer so many wei.
func funded(t *testing.T, wei *big.Int) types.GenesisAlloc {
	return types.GenesisAlloc{crypto.PubkeyToAddress(second(t).PublicKey): types.Account{Balance: wei}}
}

// both is a config with two signers.
func both(t *testing.T, url string) evm.Config {
	cfg := fast(t, url)
	cfg.Signers = append(cfg.Signers, evm.NewKeystore(second(t)))
	return cfg
}

func ether(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(params.Ether)) }

// used counts the slots of each scope and wants each scope's numbers without a gap.
func (r *route) used(most int) map[string]int {
	r.Helper()
	numbers := map[string][]int64{}
	for n := range most {
		s := r.get(payment(n).ID).Slot
		numbers[s.Scope] = append(numbers[s.Scope], s.Number)
	}
	of := map[string]int{}
	for scope, all := range numbers {
		of[scope] = len(all)
		slices.Sort(all)
		for i, n := range all {
			if n != int64(i) {
				r.Errorf("%s: numbers %v, want them in a row from 0", scope, all)
				break
			}
		}
	}
	return of
}

// TestTwoSigners: payments are spread over both, each with nonces of its own, and settle once. What one of them sent is
// watched to its end also when it is no signer of the route any more.
func TestTwoSigners(t *testing.T) {
	t.Parallel()
	const most = 12
	c := startChain(t, funded(t, ether(5)))
	store := memstore.New(memstore.Config{})
	r := newRoute(t, store, both(t, c.URL))
	r.pay(0, most)
	of := r.used(most)
	for _, scope := range r.sender.Scopes() {
		if of[scope] != most/2 {
			t.Errorf("%s sent %d of %d", scope, of[scope], most)
		}
	}
	c.Mine()
	alone := newRoute(t, store, fast(t, c.URL))
	alone.until("all settled, though one signer left", func() { c.Mine() }, alone.all(most, intents.Settled))
	alone.once(c, most)
}

// TestSignerOfASlot: bytes are signed by the slot's own signer, fillers and cancels go to itself.
func TestSignerOfASlot(t *testing.T) {
	t.Parallel()
	c := startChain(t, funded(t, ether(5)))
	s := open(t, both(t, c.URL))
	for _, scope := range s.Scopes() {
		for _, kind := range []intents.Kind{intents.First, intents.Fill} {
			slot := intents.Slot{ID: 1, Kind: intents.Counter, Scope: scope, Number: 3}
			a, err := s.Prepare(t.Context(), payment(1), slot, kind, nil)
			if err != nil {
				t.Fatal(err)
			}
			tx := decode(t, a)
			from, err := types.Sender(types.LatestSignerForChainID(big.NewInt(chain.ID)), tx)
			if err != nil || !strings.HasSuffix(scope, from.Hex()) || (kind == intents.Fill) != (*tx.To() == from) {
				t.Errorf("%v in %s: from %s to %s, %v", kind, scope, from, tx.To(), err)
			}
		}
	}
}

// TestHugeAmount, case 76: an amount that only one signer has is planned for that one alone, and blocks no smaller one of
// the other.
func TestHugeAmount(t *testing.T) {
	t.Parallel()
	c := startChain(t, funded(t, ether(5)))
	s := open(t, both(t, c.URL))
	rich, poor := s.Scopes()[0], s.Scopes()[1]
	for _, tt := range []struct {
		eth  int64
		want []string
	}{{1, []string{rich, poor}}, {50, []string{rich}}, {2_000_000, nil}} {
		in := payment(1)
		in.Amount = intents.AmountOf(ether(tt.eth))
		p, err := s.Plan(t.Context(), in)
		_, refused := errors.AsType[*intents.RefusedError](err)
		if (err != nil) != (tt.want == nil) || refused {
			t.Errorf("case 76: %d ETH: %v", tt.eth, err)
		}
		if err == nil && !slices.Equal(p.Scopes(), tt.want) {
			t.Errorf("case 76: %d ETH of %v, want %v", tt.eth, p.Scopes(), tt.want)
		}
	}
	if got := s.Balances(); got[poor].Cmp(ether(5)) != 0 || got[rich].Cmp(ether(900_000)) < 0 {
		t.Errorf("balances %v", got)
	}
}

// TestPlanHoldsTheDearest: whoever is picked, the hold covers its gas.
func TestPlanHoldsTheDearest(t *testing.T) {
	t.Parallel()
	node := quiet()
	front := newFront(t, scripted(t, node))
	n := 0
	front.answer = func(c call) string {
		if c.Method == "eth_estimateGas" {
			n++
			return fmt.Sprintf(`"0x%x"`, 30_000+10_000*n)
		}
		return ""
	}
	p, err := open(t, both(t, front.URL)).Plan(t.Context(), payment(1))
	if err != nil || n != 2 {
		t.Fatalf("%d estimates, %v", n, err)
	}
	if want := big.NewInt(60_000 * 50 * params.GWei); p.Cost.Big().Cmp(want) != 0 {
		t.Errorf("cost %s, want %s: a fifth above the dearer estimate of 50,000, at the cap", p.Cost, want)
	}
}

func TestSignersOnce(t *testing.T) {
	cfg := both(t, "http://127.0.0.1:1")
	cfg.Signers = append(cfg.Signers, evm.NewKeystore(chain.DevKey()))
	_, err := evm.New(cfg)
	if bad, ok := errors.AsType[*intents.InvalidError](err); !ok || bad.Value != chain.DevAddress().Hex() {
		t.Errorf("one signer twice: %v", err)
	}
}
