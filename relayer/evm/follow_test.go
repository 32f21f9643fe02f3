package evm_test

import (
	"testing"

	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/relayer/evm"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// TestSecondNodeLags, case 65 with two real nodes, of which the second has only the first blocks: what it does not know
// proves nothing, so nothing is sent again and no fee is raised, and everything settles by the first. Later the second is
// the only one left, and settles what it sees once it has the blocks.
func TestSecondNodeLags(t *testing.T) {
	t.Parallel()
	const most = 6
	c := startChain(t, nil)
	f, err := c.Follow()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	first, second := newFront(t, c.URL), newFront(t, f.URL)
	cfg := fast(t, first.URL)
	cfg.BumpAfter = 1
	cfg.Endpoints = []evm.Endpoint{{URL: second.URL}}
	r := newRoute(t, memstore.New(memstore.Config{}), cfg)
	feed := func(height uint64) {
		t.Helper()
		r.must(c.Feed(t.Context(), f, height))
	}
	feed(1)
	r.pay(0, most/2)
	r.until("settled beside a node that lags", func() { c.Mine() }, r.all(most/2, intents.Settled))
	r.pay(most/2, most)
	for range 12 {
		c.Mine()
	}
	down := func(call) string { return `error:{"code":-32000,"message":"shutting down"}` }
	first.says(down)
	for range 3 {
		if _, err := r.observer.Observe(t.Context()); err == nil && r.all(most, intents.Settled)() {
			t.Error("settled by a node that has no block of it")
		}
	}
	first.says(nil)
	height := headOf(t, c)
	feed(height)
	first.says(down)
	r.until("settled by the second node alone", func() {}, r.all(most, intents.Settled))
	r.once(c, most)
	for n := range most {
		if as := r.attempts(payment(n).ID); len(as) != 1 {
			t.Errorf("%d attempts of %s, want 1", len(as), payment(n).ID)
		}
	}
	if n, m := len(first.sends()), len(second.sends()); n != most || m != 0 {
		t.Errorf("%d sends to the first and %d to the second, want %d and none", n, m, most)
	}
}

func headOf(t *testing.T, c *chain.Chain) uint64 {
	t.Helper()
	client, err := ethclient.DialContext(t.Context(), c.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	n, err := client.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}
