package evm_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/evm"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// mine makes a block before each look.
func mine(c *chain.Chain) func() { return func() { c.Mine() } }

func nothing() {}

// TestPoolDropped is case 70 with many: the pool is emptied while all wait in it.
func TestPoolDropped(t *testing.T) {
	t.Parallel()
	const most = 30
	c := startChain(t, nil)
	f := newFront(t, c.URL)
	r := newRoute(t, memstore.New(memstore.Config{}), fast(t, f.URL))
	r.pay(0, most)
	dropPool(t, c)
	first := f.sends()
	r.until("all settled", mine(c), r.all(most, intents.Settled))
	r.once(c, most)
	for _, tx := range f.sends()[len(first):] {
		if tx.Nonce() >= most || tx.Hash() != first[tx.Nonce()].Hash() {
			t.Errorf("case 70: sent %s with nonce %d, want the first bytes again", tx.Hash(), tx.Nonce())
		}
	}
}

// TestReorgSettlesOnce: a transaction that a reorg took out of its block, into another one or out of sight, leaves its
// intent confirming, and settles it once.
func TestReorgSettlesOnce(t *testing.T) {
	t.Parallel()
	for _, drop := range []bool{false, true} {
		t.Run(fmt.Sprintf("drop %v", drop), func(t *testing.T) {
			t.Parallel()
			const most = 3
			c := startChain(t, nil)
			cfg := fast(t, c.URL)
			cfg.Confirmations = 4
			r := newRoute(t, memstore.New(memstore.Config{}), cfg)
			r.pay(0, most)
			c.Mine()
			r.until("included", nothing, func() bool { return strings.Contains(sights(r, most), "included") })
			r.must(c.Reorg(t.Context(), 1, drop))
			for range 5 {
				_, err := r.observer.Observe(t.Context())
				r.must(err)
			}
			if !r.all(most, intents.Confirming)() {
				t.Error("a reorg before its depth moved an intent")
			}
			r.until("all settled", mine(c), r.all(most, intents.Settled))
			r.once(c, most)
			for n := range most {
				if got := r.states(payment(n).ID); got != "created authorized settling confirming settled" {
					t.Errorf("states %s", got)
				}
			}
		})
	}
}

// sights are the facts of one look past the observer.
func sights(r *route, most int) string {
	r.Helper()
	var ws []intents.Watch
	for n := range most {
		in := r.get(payment(n).ID)
		ws = append(ws, intents.Watch{Intent: in, Slot: in.Slot, Attempts: r.attempts(in.ID)})
	}
	var out []string
	for _, o := range looksAt(r.T, r.sender, ws) {
		out = append(out, o.Fact.String())
	}
	return strings.Join(out, " ")
}

// TestBumpSettles: the observer bumps what no block takes, and the intent settles with the bump's hash.
func TestBumpSettles(t *testing.T) {
	t.Parallel()
	const most = 3
	c := startChain(t, nil)
	store := memstore.New(memstore.Config{})
	cfg := fast(t, c.URL)
	cfg.BumpAfter = 2
	newRoute(t, store, cheap(cfg)).pay(0, most)
	r := newRoute(t, store, cfg)
	r.until("all settled", mine(c), r.all(most, intents.Settled))
	r.once(c, most)
	for n := range most {
		in, as := r.get(payment(n).ID), r.attempts(payment(n).ID)
		if len(as) < 2 || as[1].Kind != intents.Bump || in.Ref == as[0].Name || in.Ref != as[len(as)-1].Name {
			t.Errorf("%s settled by %s with %d attempts, want by its bump", in.ID, in.Ref, len(as))
		}
		if decode(t, as[0]).Nonce() != decode(t, as[1]).Nonce() {
			t.Errorf("%s has attempts of two numbers", in.ID)
		}
	}
}

// TestReplacementUnderpriced is case 68: the node wants more for a replacement than we pay at first. The old hash lives, the
// next bump goes above the highest attempt, and either may settle the intent.
func TestReplacementUnderpriced(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	f := newFront(t, c.URL)
	f.says(refuseReplacements(40))
	store := memstore.New(memstore.Config{})
	cfg := fast(t, f.URL)
	cfg.BumpAfter = 1
	newRoute(t, store, cheap(cfg)).pay(0, 1)
	r := newRoute(t, store, cheap(cfg))
	id := payment(0).ID
	r.until("refused, and bumped above what was refused", mine(c), func() bool { return len(r.attempts(id)) >= 5 })
	if in := r.get(id); in.State != intents.Confirming || !strings.Contains(sights(r, 1), "pending") {
		t.Errorf("case 68: %s, %s; want the old hash alive", in.State, sights(r, 1))
	}
	sent := f.sends()
	for i := 1; i < len(sent); i++ {
		if old, tx := sent[i-1], sent[i]; tx.Hash() != old.Hash() && (!pays10(old.GasFeeCap(), tx.GasFeeCap()) || !pays10(old.GasTipCap(), tx.GasTipCap())) {
			t.Errorf("case 68: bump from %v/%v to %v/%v", old.GasFeeCap(), old.GasTipCap(), tx.GasFeeCap(), tx.GasTipCap())
		}
	}
	r = newRoute(t, store, cfg)
	r.until("settled", mine(c), r.all(1, intents.Settled))
	r.once(c, 1)
	if as := r.attempts(id); len(as) > 11 {
		t.Errorf("case 68: %d attempts, want a first one and ten bumps at most", len(as))
	}
}

// refuseReplacements refuses what replaces a transaction by less than so many percent of its fee.
func refuseReplacements(percent int64) func(c call) string {
	var held *types.Transaction
	return func(c call) string {
		if c.Method != "eth_sendRawTransaction" {
			return ""
		}
		tx := sentIn(c)
		if held == nil || held.Hash() == tx.Hash() {
			held = tx
			return ""
		}
		need := new(big.Int).Mul(held.GasFeeCap(), big.NewInt(100+percent))
		if new(big.Int).Mul(tx.GasFeeCap(), big.NewInt(100)).Cmp(need) < 0 {
			return `error:{"code":-32000,"message":"replacement transaction underpriced"}`
		}
		held = tx
		return ""
	}
}

// TestCappedGoesOn is case 71: what was sent at its cap before a spike is sent again as it is, also after a pool forgot it,
// and lands when prices fall. The base fee of the chain starts near 1 gwei and falls with each empty block.
func TestCappedGoesOn(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	f := newFront(t, c.URL)
	store := memstore.New(memstore.Config{})
	cfg := fast(t, f.URL)
	cfg.MaxFeePerGas, cfg.BumpAfter = big.NewInt(params.GWei/2), 1
	f.says(func(c call) string { // before the spike
		if c.Method == "eth_feeHistory" {
			return fmt.Sprintf(`{"baseFeePerGas":["%#x"],"gasUsedRatio":[0.5],"reward":[["%#x"]]}`, int64(params.GWei/4), int64(params.GWei/100))
		}
		return ""
	})
	newRoute(t, store, cfg).pay(0, 1)
	looks := 0
	f.says(func(c call) string {
		if c.Method == "eth_getTransactionReceipt" {
			looks++
		}
		return ""
	})
	r := newRoute(t, store, cfg)
	late := r.create(1)
	r.deliver(late)
	if in := r.get(late); in.State != intents.Authorized {
		t.Errorf("case 71: under the spike %s, want it to wait without a claim", in.State)
	}
	r.until("looked at", nothing, func() bool { return looks > 0 })
	c.Mine()
	r.until("the capped bytes again", nothing, func() bool { return len(f.sends()) == 2 })
	f.says(forgets())
	r.until("again, since the pool forgot them", nothing, func() bool { return len(f.sends()) > 2 })
	if in := r.get(payment(0).ID); in.State != intents.Confirming {
		t.Errorf("case 71: under the spike %s, want confirming", in.State)
	}
	r.until("settled", mine(c), r.all(1, intents.Settled))
	r.once(c, 1)
	if as := r.attempts(payment(0).ID); len(as) != 1 {
		t.Errorf("case 71: %d attempts above the cap", len(as)-1)
	}
	for _, tx := range f.sends() {
		if tx.GasFeeCap().Cmp(cfg.MaxFeePerGas) > 0 || tx.Nonce() != 0 {
			t.Errorf("case 71: fee %v, number %d; want at most the cap of %v, and 0", tx.GasFeeCap(), tx.Nonce(), cfg.MaxFeePerGas)
		}
	}
	await(t, func() bool { _, err := r.sender.Plan(t.Context(), payment(1)); return err == nil })
}

// forgets knows no transaction until one is sent.
func forgets() func(c call) string {
	forgot := true
	return func(c call) string {
		switch c.Method {
		case "eth_sendRawTransaction":
			forgot = false
		case "eth_getTransactionByHash":
			if forgot {
				return "null"
			}
		}
		return ""
	}
}

// TestReceiptsComeAndGo is case 73: answers that are none, and a node that lags, move nothing.
func TestReceiptsComeAndGo(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	f := newFront(t, c.URL)
	r := newRoute(t, memstore.New(memstore.Config{}), config(t, f.URL))
	r.pay(0, 1)
	id := payment(0).ID
	asked, phase := 0, ""
	f.says(func(c call) string {
		if c.Method != "eth_getTransactionReceipt" && c.Method != "eth_getTransactionByHash" {
			return ""
		}
		asked++
		switch {
		case phase == "receipts":
			return ""
		case phase == "indexing" && c.Method == "eth_getTransactionReceipt":
			return `error:{"code":-32000,"message":"transaction indexing is in progress"}`
		}
		return "null"
	})
	c.Mine()
	for _, p := range []string{"null", "indexing", "receipts", "null", "receipts"} {
		phase = p // no call is under way
		before := asked
		r.until("five looks", nothing, func() bool { return asked >= before+10 })
		if in := r.get(id); in.State != intents.Confirming {
			t.Fatalf("case 73: %s after %s, want confirming", in.State, p)
		}
	}
	r.until("settled", mine(c), r.all(1, intents.Settled))
	r.once(c, 1)
	for _, tx := range f.sends() {
		if tx.Hash().Hex() != r.get(id).Ref {
			t.Errorf("case 73: %s was sent too", tx.Hash())
		}
	}
}

// TestRestart is case 78: twenty wait unmined when the process is killed, and its node kept its pool, or lost it.
func TestRestart(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"pool kept": false, "pool lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startChain(t, nil)
			f := newFront(t, c.URL)
			store := memstore.New(memstore.Config{})
			newRoute(t, store, fast(t, f.URL)).pay(0, 20)
			if lost {
				dropPool(t, c)
			}
			r := newRoute(t, store, fast(t, f.URL))
			r.pay(20, 25)
			r.until("all settled", mine(c), r.all(25, intents.Settled))
			r.once(c, 25)
			for n := range 25 {
				if tx := decode(t, r.attempts(payment(n).ID)[0]); tx.Nonce() != uint64(n) {
					t.Errorf("case 78: payment %d has number %d", n, tx.Nonce())
				}
			}
			if n := len(f.sends()); !lost && n > 25+5 {
				t.Errorf("case 78: %d sends of 25 that never left the pool", n)
			}
		})
	}
}

// TestNoStatus is case 79: a receipt that does not say what it did is never failed, and a person has to look.
func TestNoStatus(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	f := newFront(t, c.URL)
	r := newRoute(t, memstore.New(memstore.Config{}), fast(t, f.URL), func(c *relayer.Config) { c.ConfirmAfter = time.Second })
	r.pay(0, 1)
	name := r.attempts(payment(0).ID)[0].Name
	c.Mine()
	block := c.Mine()
	f.says(func(c call) string {
		if c.Method != "eth_getTransactionReceipt" {
			return ""
		}
		return fmt.Sprintf(`{"transactionHash":%q,"blockNumber":"0x2","blockHash":%q,"gasUsed":"0x5208"}`, name, block)
	})
	r.until("in review", mine(c), r.all(1, intents.NeedsReview))
	if in := r.get(payment(0).ID); in.Reason != intents.ReasonUnseen || in.Held().Sign() <= 0 {
		t.Errorf("case 79: in review for %s, held %v", in.Reason, in.Held())
	}
}

// TestNeedRises is case 80: the recipient needs more gas when the transaction is mined than when it was estimated.
func TestNeedRises(t *testing.T) {
	t.Parallel()
	greedy := common.HexToAddress("0xc0de03")
	// NUMBER PUSH1 6 LT PUSH1 8 JUMPI STOP; JUMPDEST PUSH1 8 JUMP: from block 7 on it never ends.
	c := startChain(t, types.GenesisAlloc{greedy: {Balance: new(big.Int), Code: common.FromHex("4360061060085700" + "5b600856")}})
	f := newFront(t, c.URL)
	r := newRoute(t, memstore.New(memstore.Config{}), fast(t, f.URL))
	in := payment(0)
	in.Destination = greedy.Hex()
	in, err := r.store.Create(t.Context(), in, true, "tester")
	r.must(err)
	r.deliver(in.ID)
	dropPool(t, c) // and out of the pool until it is late
	for range 6 {
		c.Mine()
	}
	r.until("failed", mine(c), r.all(1, intents.Failed))
	in = r.get(in.ID)
	sent := f.sends()
	if in.Reason != intents.ReasonReverted || len(r.attempts(in.ID)) != 1 {
		t.Errorf("case 80: failed for %s with %d attempts, want reverted with 1", in.Reason, len(r.attempts(in.ID)))
	}
	for range 5 {
		c.Mine()
		_, err := r.observer.Observe(t.Context())
		r.must(err)
	}
	if n := len(f.sends()); n != len(sent) {
		t.Errorf("case 80: sent %d times more after it failed", n-len(sent))
	}
}

// TestHashIsNowhere is case 82: a node that names the hash of every send and has none of them.
func TestHashIsNowhere(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	f := newFront(t, c.URL)
	f.says(func(c call) string {
		if c.Method == "eth_sendRawTransaction" {
			return fmt.Sprintf("%q", sentIn(c).Hash())
		}
		return ""
	})
	r := newRoute(t, memstore.New(memstore.Config{}), fast(t, f.URL), func(c *relayer.Config) { c.ConfirmAfter = 5 * time.Second })
	r.pay(0, 1)
	r.until("in review", nothing, r.all(1, intents.NeedsReview))
	in, sent := r.get(payment(0).ID), f.sends()
	if in.Reason != intents.ReasonUnseen || in.Held().Sign() <= 0 || in.Slot.Kind != intents.Counter {
		t.Errorf("case 82: review for %s, held %v, slot %v", in.Reason, in.Held(), in.Slot)
	}
	if len(sent) < 2 || len(sent) > 10 { // from 20 ms, doubling, for 5 s
		t.Errorf("case 82: sent %d times, want a few", len(sent))
	}
	for _, tx := range sent {
		if tx.Hash() != sent[0].Hash() {
			t.Errorf("case 82: %s and %s were sent, want the same bytes", sent[0].Hash(), tx.Hash())
		}
	}
	if n := effects(t, c, 0); n != 0 {
		t.Errorf("case 82: %d effects", n)
	}
}

// TestFinality settles by tag: of the simulated chain the newest block is safe, and every 32nd becomes final.
func TestFinality(t *testing.T) {
	t.Parallel()
	for tag, blocks := range map[evm.Finality][2]int{evm.FinalSafe: {1, 1}, evm.FinalFinalized: {31, 64}} {
		t.Run(string(tag), func(t *testing.T) {
			t.Parallel()
			c := startChain(t, nil)
			cfg := config(t, c.URL)
			cfg.Finality, cfg.Confirmations = tag, 1
			s := open(t, cfg)
			in, a := prepared(t, s, 0)
			submit(t, s, a)
			n := 0
			for o := observe(t, s, watch(in, a)); o.Fact != intents.Final && n < 100; o = observe(t, s, watch(in, a)) {
				if want := map[bool]intents.Fact{true: intents.Pending, false: intents.Included}[n == 0]; o.Fact != want {
					t.Fatalf("after %d blocks %v, want %v", n, o.Fact, want)
				}
				c.Mine()
				n++
			}
			if n < blocks[0] || n > blocks[1] {
				t.Errorf("settled after %d blocks, want %d to %d", n, blocks[0], blocks[1])
			}
		})
	}
}

// TestFinalityTold: the tag's answer is taken for what it says, and the block is compared all the same.
func TestFinalityTold(t *testing.T) {
	t.Parallel()
	in, a := prepared(t, open(t, config(t, scripted(t, quiet()))), 0)
	const own, fork = `"hash":"0x0000000000000000000000000000000000000000000000000000000000000001"`, `"hash":"0x0000000000000000000000000000000000000000000000000000000000000002"`
	for _, tt := range []struct {
		name, tag, block string
		want             intents.Fact
	}{
		{"above it", `{"number":"0x60"}`, `{` + own + `}`, intents.Final},
		{"under it", `{"number":"0x5f"}`, `{` + own + `}`, intents.Included},
		{"not canonical", `{"number":"0x60"}`, `{` + fork + `}`, intents.NotSeen},
		{"no such block yet", `error:{"code":-39001,"message":"finalized block not found"}`, `{` + own + `}`, intents.Included},
		{"null", `null`, `{` + own + `}`, intents.Included},
		{"without a number", `{}`, `{` + own + `}`, intents.Included},
	} {
		node := quiet()
		node["eth_getTransactionReceipt"] = `{"transactionHash":"` + a.Name + `","blockNumber":"0x60","blockHash":"0x0000000000000000000000000000000000000000000000000000000000000001","status":"0x1"}`
		f := newFront(t, scripted(t, node))
		f.says(func(c call) string {
			switch {
			case c.Method != "eth_getBlockByNumber":
				return ""
			case string(c.Params[0]) == `"finalized"`:
				return tt.tag
			}
			return tt.block
		})
		cfg := config(t, f.URL)
		cfg.Finality = evm.FinalFinalized
		if o := observe(t, open(t, cfg), watch(in, a)); o.Fact != tt.want {
			t.Errorf("%s: %v, want %v: %s", tt.name, o.Fact, tt.want, o.Evidence)
		}
	}
}

// TestAlreadyKnown is case 64 in a whole route: the first answer is lost, and the same bytes are known for ever after.
func TestAlreadyKnown(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	f := newFront(t, c.URL)
	cfg := fast(t, f.URL)
	r := newRoute(t, memstore.New(memstore.Config{}), cfg)
	lost := true
	f.says(func(call call) string {
		if call.Method != "eth_sendRawTransaction" || !lost {
			return ""
		}
		lost = false
		raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":[%s]}`, call.Params[0])
		if _, err := forward(context.Background(), c.URL, raw); err != nil {
			t.Error(err)
		}
		return `"nonsense"`
	})
	id := r.create(0)
	r.deliver(id)
	if in := r.get(id); in.State != intents.Settling {
		t.Fatalf("case 64: %s after a lost answer, want settling", in.State)
	}
	for range 50 {
		if res := r.sender.Submit(t.Context(), r.attempts(id)[0]); res.Verdict != intents.Accepted {
			t.Fatalf("case 64: again: %v, want accepted", res.Verdict)
		}
	}
	r.until("confirming by sight", nothing, r.all(1, intents.Confirming))
	r.until("settled", mine(c), r.all(1, intents.Settled))
	r.once(c, 1)
	if as := r.attempts(id); len(as) != 1 {
		t.Errorf("case 64: %d attempts, want 1", len(as))
	}
}
