package evm_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

func submit(t *testing.T, s *evm.Sender, a intents.Attempt) {
	t.Helper()
	if r := s.Submit(t.Context(), a); r.Verdict != intents.Accepted {
		t.Fatalf("Submit = %v: %s", r.Verdict, r.Evidence)
	}
}

func TestObserveDepth(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	cfg := config(t, c.URL)
	cfg.Confirmations = 3
	s := open(t, cfg)
	in, a := prepared(t, s, 0)
	submit(t, s, a)
	want := []intents.Fact{intents.Pending, intents.Included, intents.Included, intents.Final}
	for blocks, fact := range want {
		if blocks > 0 {
			c.Mine()
		}
		o := observe(t, s, watch(in, a))
		if o.Fact != fact || o.No != 1 || o.Ref != a.Name {
			t.Errorf("after %d blocks %v of attempt %d, want %v of 1: %s", blocks, o.Fact, o.No, fact, o.Evidence)
		}
		if fact == intents.Final && !strings.Contains(string(o.Evidence), `"depth":3`) {
			t.Errorf("evidence %s, want depth 3", o.Evidence)
		}
	}
}

func TestObserveReorg(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	cfg := config(t, c.URL)
	cfg.Confirmations = 4
	s := open(t, cfg)
	in, a := prepared(t, s, 0)
	submit(t, s, a)
	c.Mine()
	if o := observe(t, s, watch(in, a)); o.Fact != intents.Included {
		t.Fatalf("after a block %v, want included", o.Fact)
	}
	if err := c.Reorg(t.Context(), 1, true); err != nil {
		t.Fatal(err)
	}
	if o := observe(t, s, watch(in, a)); o.Fact != intents.NotSeen || o.Ref != "" {
		t.Errorf("after a reorg that dropped it %v, ref %q; want not seen", o.Fact, o.Ref)
	}
}

// TestObserveReverted is case 79 on a real node: mined at a fixed gas limit, reverted.
func TestObserveReverted(t *testing.T) {
	t.Parallel()
	reverts := common.HexToAddress("0xc0de02")
	c := startChain(t, types.GenesisAlloc{reverts: {Balance: new(big.Int), Code: common.FromHex("5f5ffd")}})
	cfg := config(t, c.URL)
	cfg.GasLimit = 100_000
	s := open(t, cfg)
	in := payment(0)
	in.Destination = reverts.Hex()
	in, a := preparedFor(t, s, in, 0)
	submit(t, s, a)
	c.Mine()
	if o := observe(t, s, watch(in, a)); o.Fact != intents.Included {
		t.Errorf("case 79: before its depth %v, want included", o.Fact)
	}
	c.Mine()
	o := observe(t, s, watch(in, a))
	var e struct {
		Status, GasUsed, BlockHash, TransactionHash string
	}
	if err := json.Unmarshal(o.Evidence, &e); o.Fact != intents.Reverted || err != nil || e.Status != "0x0" || e.GasUsed == "" || e.BlockHash == "" || e.TransactionHash != a.Name {
		t.Errorf("case 79: %v with evidence %s, want reverted with hash, block and gas", o.Fact, o.Evidence)
	}
}

// TestObserveForeign: a mined transaction that is not the intent's payment proves nothing of it.
func TestObserveForeign(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	s := open(t, config(t, c.URL))
	in, a := prepared(t, s, 0)
	_, b := prepared(t, s, 1)
	submit(t, s, a)
	c.Mine()
	c.Mine()
	swapped := a
	swapped.Bytes = b.Bytes
	more, elsewhere := in, in
	more.Amount = intents.NewAmount(7)
	elsewhere.Destination = payment(5).Destination
	for name, w := range map[string]intents.Watch{
		"amount": watch(more, a), "destination": watch(elsewhere, a), "bytes": watch(in, swapped),
	} {
		o := observe(t, s, w)
		if o.Fact != intents.NotSeen || o.Ref != "" || !strings.Contains(string(o.Evidence), "note") {
			t.Errorf("another %s: %v, want not seen with evidence: %s", name, o.Fact, o.Evidence)
		}
	}
}

// TestObserveBumped: of several attempts in a slot the one that was mined speaks.
func TestObserveBumped(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	s := open(t, config(t, c.URL))
	in, first := prepared(t, s, 0)
	submit(t, s, first)
	bump, err := s.Prepare(t.Context(), in, in.Slot, intents.Bump, []intents.Attempt{first})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, s, bump)
	c.Mine()
	c.Mine()
	if o := observe(t, s, watch(in, first, bump)); o.Fact != intents.Final || o.No != 2 || o.Ref != bump.Name {
		t.Errorf("%v of attempt %d, ref %q; want settled of 2: %s", o.Fact, o.No, o.Ref, o.Evidence)
	}
	if n := effects(t, c, 0); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

// TestObserveCancel: an empty use of the slot, mined, means that the payment had no effect.
func TestObserveCancel(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	s := open(t, config(t, c.URL))
	in, first := prepared(t, s, 0)
	cancel, err := s.Prepare(t.Context(), in, in.Slot, intents.Cancel, []intents.Attempt{first})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, s, first)
	submit(t, s, cancel)
	c.Mine()
	c.Mine()
	if o := observe(t, s, watch(in, first, cancel)); o.Fact != intents.Reverted || o.No != 2 {
		t.Errorf("%v of attempt %d, want reverted of 2: %s", o.Fact, o.No, o.Evidence)
	}
	if n := effects(t, c, 0); n != 0 {
		t.Errorf("%d effects of a canceled payment", n)
	}
}

// TestObserveFiller, case 67: a number without an intent is filled, and filled again with the same bytes while they are not seen.
func TestObserveFiller(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	s := open(t, config(t, c.URL))
	w := intents.Watch{Slot: slot(s, 0)}
	if o := observe(t, s, w); o.Want != intents.Fill || o.Fact != intents.NotSeen {
		t.Fatalf("an empty filler: %v, want %v; want fill", o.Fact, o.Want)
	}
	a, err := s.Prepare(t.Context(), intents.Intent{}, w.Slot, intents.Fill, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Attempts = []intents.Attempt{a}
	if o := observe(t, s, w); o.Want != 0 || !o.Resend || o.No != 1 {
		t.Errorf("a filler whose bytes are nowhere: want %v, resend %v of %d; want the same bytes again", o.Want, o.Resend, o.No)
	}
	submit(t, s, a)
	if o := observe(t, s, w); o.Fact != intents.Pending || o.Want != 0 || o.Resend {
		t.Errorf("a filler in the pool: %v, want %v; want pending and nothing", o.Fact, o.Want)
	}
	c.Mine()
	c.Mine()
	if o := observe(t, s, w); o.Fact != intents.Final || o.Want != 0 {
		t.Errorf("a filler that was mined: %v, want %v; want settled and nothing", o.Fact, o.Want)
	}
}

// TestObserveScript has answers that no good node gives.
func TestObserveScript(t *testing.T) {
	t.Parallel()
	in, a := prepared(t, open(t, config(t, scripted(t, quiet()))), 0)
	const at = `"blockNumber":"0x60","blockHash":"0x0000000000000000000000000000000000000000000000000000000000000001"`
	own := `{"transactionHash":"` + a.Name + `",` + at
	const canonical = `{"hash":"0x0000000000000000000000000000000000000000000000000000000000000001"}`
	const forked = `{"hash":"0x0000000000000000000000000000000000000000000000000000000000000002"}`
	tests := []struct {
		name           string
		receipt, block string
		tx             string
		want           intents.Fact
		fails          bool
	}{
		{"settled", own + `,"status":"0x1"}`, canonical, "null", intents.Final, false},
		{"the block is no longer canonical", own + `,"status":"0x1"}`, forked, "null", intents.NotSeen, false},
		{"the block cannot be had", own + `,"status":"0x1"}`, "null", "null", intents.Included, false},
		{"the block is an error", own + `,"status":"0x1"}`, `error:{"code":-32000,"message":"busy"}`, "null", intents.Included, false},
		{"case 79: no status", own + `}`, canonical, "null", intents.Pending, false},
		{"a receipt of another transaction", `{"transactionHash":"0x` + strings.Repeat("ab", 32) + `",` + at + `,"status":"0x1"}`, canonical, "null", intents.NotSeen, false},
		{"a receipt of a pending one", `{"transactionHash":"` + a.Name + `","blockNumber":null,"status":"0x1"}`, canonical, `{"hash":"` + a.Name + `"}`, intents.Pending, false},
		{"a receipt above the head", strings.Replace(own, "0x60", "0x70", 1) + `,"status":"0x1"}`, canonical, "null", intents.Included, false},
		{"indexing", `error:{"code":-32000,"message":"transaction indexing is in progress"}`, "null", "null", intents.NotSeen, true},
		{"nonsense", `"nonsense"`, "null", "null", intents.NotSeen, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			node := quiet()
			node["eth_getTransactionReceipt"], node["eth_getBlockByNumber"], node["eth_getTransactionByHash"] = tt.receipt, tt.block, tt.tx
			s := open(t, config(t, scripted(t, node)))
			os, err := s.Observe(t.Context(), []intents.Watch{watch(in, a)})
			if (err != nil) != tt.fails {
				t.Fatalf("Observe: %v", err)
			}
			if err == nil && os[0].Fact != tt.want {
				t.Errorf("%v, want %v: %s", os[0].Fact, tt.want, os[0].Evidence)
			}
		})
	}
}

// TestObserveBatches: many attempts go in few calls, and one that fails does not hide the others.
func TestObserveBatches(t *testing.T) {
	t.Parallel()
	const most = 250
	in, a := prepared(t, open(t, config(t, scripted(t, quiet()))), 0)
	var mu sync.Mutex
	var sizes []int
	node := quiet()
	node["eth_getTransactionByHash"] = `{"hash":"0x01"}`
	bad := "0x" + strings.Repeat("0", 64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var calls []call
		if err := json.NewDecoder(r.Body).Decode(&calls); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		sizes = append(sizes, len(calls))
		var answers []string
		for _, c := range calls {
			if c.Method == "eth_getTransactionReceipt" && strings.Contains(string(c.Params[0]), bad) {
				answers = append(answers, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"busy"}}`, c.ID))
				continue
			}
			answers = append(answers, node.answer(c))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(answers, ","))
	}))
	t.Cleanup(srv.Close)
	ws := make([]intents.Watch, most)
	for i := range ws {
		named := a
		named.Name = fmt.Sprintf("0x%064d", i)
		ws[i] = watch(in, named)
	}
	os, err := open(t, config(t, srv.URL)).Observe(t.Context(), ws)
	if err != nil || len(os) != most {
		t.Fatalf("Observe = %d observations, %v", len(os), err)
	}
	for i, o := range os {
		if o.Fact != intents.Pending {
			t.Errorf("observation %d = %v, want pending", i, o.Fact)
		}
	}
	for _, n := range sizes {
		if n > 100 {
			t.Errorf("a batch of %d calls, want at most 100", n)
		}
	}
	if len(sizes) != 6 { // 251 calls, then 250
		t.Errorf("%d batches %v, want 6", len(sizes), sizes)
	}
}
