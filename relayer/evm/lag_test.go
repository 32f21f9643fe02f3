package evm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// laggard gives two nodes, the second of them as high as it says and known to be, and a payment that neither knows.
func laggard(t *testing.T, height string, change func(*evm.Config)) (behind, high *stand, s *evm.Sender, w intents.Watch) {
	t.Helper()
	behind, high = newStand(t, quiet()), newStand(t, quiet())
	high.set("eth_blockNumber", height)
	high.set("eth_getBlockByNumber", `{"baseFeePerGas":"0x3b9aca00","hash":"0x01","number":`+height+`}`)
	cfg := config(t, "")
	cfg.Endpoints = []evm.Endpoint{{URL: behind.URL}, {URL: high.URL}}
	change(&cfg)
	s = open(t, cfg)
	in, a := prepared(t, s, 7)
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	in.State, in.ReadAt, in.ChangedAt = intents.Confirming, time.Now(), time.Now().Add(-time.Hour)
	return behind, high, s, watch(in, a)
}

// TestLaggingGone: bytes that a node behind does not know are not gone; those that one at the top does not know are.
func TestLaggingGone(t *testing.T) {
	t.Parallel()
	behind, high, s, w := laggard(t, `"0x65"`, func(cfg *evm.Config) { cfg.ResendAfter = time.Nanosecond })
	high.turn(500)
	for range 2 {
		if o := observe(t, s, w); o.Fact != intents.NotSeen || o.Resend || o.Want != 0 {
			t.Errorf("only the node behind answers: %v, resend %v, want %v; want not seen and no more", o.Fact, o.Resend, o.Want)
		}
	}
	high.turn(200)
	for range 2 { // whoever is asked first
		if o := observe(t, s, w); o.Fact != intents.NotSeen || !o.Resend {
			t.Errorf("the highest node does not know it: %v, resend %v; want it asked for", o.Fact, o.Resend)
		}
	}
	high.set("eth_getTransactionByHash", `{}`)
	for range 2 {
		if o := observe(t, s, w); o.Fact != intents.Pending || o.Resend {
			t.Errorf("the highest node knows it: %v, resend %v; want pending", o.Fact, o.Resend)
		}
	}
	if behind.calls("eth_getTransactionByHash") == 0 {
		t.Error("the node behind was never asked")
	}
}

// TestLaggingBump: that no block used a number is believed only of a node at the top.
func TestLaggingBump(t *testing.T) {
	t.Parallel()
	behind, high, s, w := laggard(t, `"0x70"`, func(cfg *evm.Config) { cfg.BumpAfter = 1 })
	behind.set("eth_getTransactionByHash", `{}`)
	high.turn(500)
	for _, height := range []string{`"0x64"`, `"0x6a"`, `"0x6f"`, `"0x70"`} {
		behind.set("eth_blockNumber", height)
		if o := observe(t, s, w); o.Fact != intents.Pending || o.Want != 0 {
			t.Errorf("at %s of 0x70: %v, want %v; want pending and no more", height, o.Fact, o.Want)
		}
	}
	behind.set("eth_blockNumber", `"0x71"`)
	if o := observe(t, s, w); o.Want != intents.Bump {
		t.Errorf("at the top: want %v, want a bump", o.Want)
	}
}

// TestLaggingNumbers: how many numbers are used up is told by a node at the top, if one answers.
func TestLaggingNumbers(t *testing.T) {
	t.Parallel()
	_, high, s, _ := laggard(t, `"0x65"`, func(*evm.Config) {})
	high.set("eth_getTransactionCount", `"0x9"`)
	for range 4 {
		if n, err := s.Numbers(t.Context()); err != nil || n[s.Scopes()[0]] != 9 {
			t.Errorf("Numbers = %v, %v; want 9", n, err)
		}
	}
	high.turn(500)
	if n, err := s.Numbers(t.Context()); err != nil || n[s.Scopes()[0]] != 7 {
		t.Errorf("with only the node behind: %v, %v; want 7", n, err)
	}
}

// TestPlanAtOneNode: whether the signer has the tokens and what the transfer takes is asked of one node.
func TestPlanAtOneNode(t *testing.T) {
	t.Parallel()
	node := quiet()
	node["eth_call"] = `"0x` + strings.Repeat("0", 48) + strings.Repeat("f", 16) + `"`
	a, b := newStand(t, node), newStand(t, quiet())
	b.set("eth_call", node["eth_call"])
	cfg := config(t, "")
	cfg.Endpoints = []evm.Endpoint{{URL: a.URL}, {URL: b.URL}}
	cfg.Tokens = map[string]evm.Token{"USDC": {Address: common.HexToAddress("0x00000000000000000000000000000000000000aa")}}
	in := payment(0)
	in.Asset = "USDC"
	token := open(t, cfg)
	for range 4 {
		if _, err := token.Plan(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	for _, st := range []*stand{a, b} {
		if x, y := st.calls("eth_call"), st.calls("eth_estimateGas"); x != 2 || y != 2 {
			t.Errorf("%d balances and %d estimates at one node, want 2 of each", x, y)
		}
	}
}
