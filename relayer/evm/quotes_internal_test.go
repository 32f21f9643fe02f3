package evm

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/internal/devstack/rpcproxy"
)

var (
	poor    = common.HexToAddress("0x900d")   // a signer with a little money
	reverts = common.HexToAddress("0xc0de00") // revert(0, 0)
)

// stores is a contract that takes so many words' gas, so that no two estimates are the same.
func stores(words int) common.Address {
	return common.BigToAddress(big.NewInt(int64(0xc0de00 + words)))
}

const contracts = 8

// startContracts runs a chain with a contract of each kind.
func startContracts(t *testing.T) *chain.Chain {
	t.Helper()
	alloc := types.GenesisAlloc{
		poor:    {Balance: big.NewInt(1e15)},
		reverts: {Balance: new(big.Int), Code: common.FromHex("5f5ffd")},
	}
	var code strings.Builder
	for n := range contracts {
		code.WriteString(fmt.Sprintf("600160%02x55", n)) // sstore(n, 1)
		alloc[stores(n+1)] = types.Account{Balance: new(big.Int), Code: common.FromHex(code.String())}
	}
	c, err := chain.Start(t.Context(), chain.Config{BlockTime: -1, Alloc: alloc})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// lie stands a proxy before a node, which has faults without end and counts calls.
func lie(t *testing.T, node, spec string) *rpcproxy.Proxy {
	t.Helper()
	f, err := rpcproxy.ParseFaults(spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := rpcproxy.Start(t.Context(), rpcproxy.Config{Node: node, Faults: f, MaxFaults: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	return p
}

// reader is a sender of several endpoints, of which the first is asked first.
func reader(t *testing.T, urls ...string) *Sender {
	t.Helper()
	cfg := Config{ChainID: chain.ID, Signers: []Signer{NewKeystore(chain.DevKey())}}
	for i, u := range urls {
		cfg.Endpoints = append(cfg.Endpoints, Endpoint{URL: u, Weight: 100 - i})
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// pay asks for a transfer of a wei.
func pay(from, to common.Address) *question {
	return &question{from: from, transfer: transfer{to: to, value: big.NewInt(1)}}
}

// several are questions of which each has another answer.
func several() (qs []*question) {
	for n := range contracts {
		qs = append(qs, pay(chain.DevAddress(), stores(n+1)))
	}
	return append(qs, pay(chain.DevAddress(), common.HexToAddress("0xabc")), pay(poor, common.HexToAddress("0xabc")))
}

func isRefusal(err error) bool {
	_, ok := errors.AsType[*intents.RefusedError](err)
	return ok
}

func (q quote) String() string {
	return fmt.Sprintf("gas %d, balance %v, base %v, tip %v", q.gas, q.balance, q.base, q.tip)
}

// TestQuotesTogether: together they get the answers that each gets alone, from one call that asks for nothing twice. One
// that cannot be estimated is the only one that fails.
func TestQuotesTogether(t *testing.T) {
	t.Parallel()
	c := startContracts(t)
	front := lie(t, c.URL, "")
	qs := several()
	bad, rich, given := pay(chain.DevAddress(), reverts), pay(poor, common.HexToAddress("0xabc")), pay(poor, reverts)
	rich.value, given.gas = big.NewInt(1e18), 99_999 // more than poor has; not to be estimated
	all := append([]*question{bad, rich, given}, qs...)
	reader(t, front.URL).quoteAll(t.Context(), all)
	if !isRefusal(bad.err) {
		t.Errorf("case 80: a recipient that reverts: %v, want it refused", bad.err)
	}
	if rich.err == nil || isRefusal(rich.err) {
		t.Errorf("case 76: more than there is: %v, want: not now", rich.err)
	}
	if given.err != nil || given.answer.gas != 99_999 || given.answer.balance.Int64() != 1e15 {
		t.Errorf("gas that was given: %v, %v", given.answer, given.err)
	}
	seen := map[uint64]bool{}
	for i, alone := range several() {
		reader(t, c.URL).quoteAll(t.Context(), []*question{alone})
		if qs[i].err != nil || alone.err != nil || qs[i].answer.String() != alone.answer.String() {
			t.Errorf("to %v: together %v, %v; alone %v, %v", alone.to, qs[i].answer, qs[i].err, alone.answer, alone.err)
		}
		seen[qs[i].answer.gas] = true
	}
	if len(seen) != contracts+1 {
		t.Errorf("%d different estimates, want %d", len(seen), contracts+1)
	}
	calls := front.Calls()
	if calls["eth_chainId"] != 1 || calls["eth_getBalance"] != 2 || calls["eth_estimateGas"] != len(all)-1 || calls["eth_feeHistory"] != 1 {
		t.Errorf("calls %v; want one batch, a balance for each of two signers, an estimate for each question but one", calls)
	}
}

// TestQuotesLimited: of the calls of a batch some are told that there were too many. Those are made at the next node, the
// others have their answers; where there is no other node they are the only ones that fail.
func TestQuotesLimited(t *testing.T) {
	t.Parallel()
	c := startContracts(t)
	first, second := lie(t, c.URL, "json-429@eth_estimateGas=50%"), lie(t, c.URL, "")
	bad := pay(chain.DevAddress(), reverts) // that is an answer too
	qs := append(several(), bad)
	reader(t, first.URL, second.URL).quoteAll(t.Context(), qs)
	for _, q := range qs {
		if q == bad && !isRefusal(q.err) || q != bad && (q.err != nil || q.answer.gas == 0) {
			t.Errorf("to %v: %v, %v", q.to, q.answer, q.err)
		}
	}
	hits := first.Hits()["json-429"]
	if n := second.Calls()["eth_estimateGas"]; n != hits || hits == 0 || hits == len(qs) {
		t.Errorf("%d of %d limited, and %d asked at the next node", hits, len(qs), n)
	}

	only := lie(t, c.URL, "json-429@eth_estimateGas=50%")
	qs = several()
	failed := 0
	reader(t, only.URL).quoteAll(t.Context(), qs)
	for _, q := range qs {
		if _, ok := errors.AsType[*intents.LimitedError](q.err); ok {
			failed++
		} else if q.err != nil {
			t.Errorf("to %v: %v", q.to, q.err)
		}
	}
	if hits := only.Hits()["json-429"]; failed != hits || hits == 0 || hits == len(qs) {
		t.Errorf("%d of %d limited, %d failed", hits, len(qs), failed)
	}
}

// TestQuotesFail: a call that fails as a whole is made at the next node, and fails all where there is none.
func TestQuotesFail(t *testing.T) {
	t.Parallel()
	c := startContracts(t)
	for _, fault := range []string{"html-502=100%", "http-429=100%", "half-reply=100%", "json-429@eth_getBlockByNumber=100%", "json-429@eth_chainId=100%"} {
		bad, good := lie(t, c.URL, fault), lie(t, c.URL, "")
		qs := several()
		reader(t, bad.URL, good.URL).quoteAll(t.Context(), qs)
		for _, q := range qs {
			if q.err != nil {
				t.Errorf("%s: to %v: %v", fault, q.to, q.err)
			}
		}
		if n, m := bad.Calls()["eth_chainId"], good.Calls()["eth_chainId"]; n != 1 || m != 1 {
			t.Errorf("%s: %d and %d calls, want one each", fault, n, m)
		}
		qs = several()
		reader(t, bad.URL).quoteAll(t.Context(), qs)
		for _, q := range qs {
			if q.err == nil || isRefusal(q.err) || q.answer.gas != 0 {
				t.Errorf("%s: to %v: %v, %v; want: not now", fault, q.to, q.answer, q.err)
			}
		}
	}
}

// TestPlansTogether: plans that are asked for at once share calls, and each gets what it gets alone.
func TestPlansTogether(t *testing.T) {
	t.Parallel()
	c := startContracts(t)
	front := lie(t, c.URL, "slow=100%:200ms")
	shared, alone := reader(t, front.URL), reader(t, c.URL)
	const n = 100
	payment := func(i int) intents.Intent {
		to := stores(i%contracts + 1)
		if i == n/2 {
			to = reverts
		}
		return intents.Intent{ID: fmt.Sprint(i), Destination: to.Hex(), Asset: "ETH", Amount: intents.NewAmount(1)}
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			got, err := shared.Plan(t.Context(), payment(i))
			want, wantErr := alone.Plan(t.Context(), payment(i))
			if !got.Cost.Equal(want.Cost) || (err == nil) != (wantErr == nil) || isRefusal(err) != (i == n/2) {
				t.Errorf("payment %d: %v, %v; alone %v, %v", i, got, err, want, wantErr)
			}
		})
	}
	all.Wait()
	if calls := front.Calls()["eth_chainId"]; calls > n/5 {
		t.Errorf("%d calls for %d plans", calls, n)
	}
}
