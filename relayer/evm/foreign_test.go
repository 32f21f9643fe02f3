package evm_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/evm"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

var _ relayer.Numbered = (*evm.Sender)(nil)

// outside sends with our key, beside the relayer, and has it mined.
func outside(t *testing.T, c *chain.Chain, nonce uint64, to common.Address, value int64, data ...byte) *types.Transaction {
	t.Helper()
	return sendAs(t, c, chain.DevKey(), nonce, to, big.NewInt(value), data...)
}

func sendAs(t *testing.T, c *chain.Chain, key *ecdsa.PrivateKey, nonce uint64, to common.Address, value *big.Int, data ...byte) *types.Transaction {
	t.Helper()
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(chain.ID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(chain.ID), Nonce: nonce, To: &to, Value: value, Gas: 100_000, Data: data,
		GasFeeCap: big.NewInt(20 * params.GWei), GasTipCap: big.NewInt(params.GWei),
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := ethclient.DialContext(t.Context(), c.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.SendTransaction(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	c.Mine()
	return tx
}

var stranger = common.HexToAddress("0x5712a2")

// TestForeign, case 77 on a real node: somebody used our nonce. Before it is beyond recall nothing is said of it.
func TestForeign(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	cfg := config(t, c.URL)
	cfg.Confirmations = 3
	s := open(t, cfg)
	in, a := prepared(t, s, 0)
	for range 5 {
		c.Mine()
	}
	tx := outside(t, c, 0, stranger, 77)
	for range 2 {
		if o := observe(t, s, watch(in, a)); o.Fact != intents.NotSeen || o.Gone || o.Foreign != nil {
			t.Errorf("case 77: not deep enough, got %v, %+v", o.Fact, o.Foreign)
		}
		c.Mine()
	}
	for range 9 {
		c.Mine()
	}
	o := observe(t, s, watch(in, a))
	if o.Fact != intents.Dead || o.No != 0 || o.Foreign == nil {
		t.Fatalf("case 77: got %v of %d: %s", o.Fact, o.No, o.Evidence)
	}
	raw, _ := tx.MarshalBinary()
	f := o.Foreign
	if f.Hash != tx.Hash().Hex() || !bytes.Equal(f.Bytes, raw) || f.Destination != stranger.Hex() || f.Amount.String() != "77" || f.At.IsZero() {
		t.Errorf("case 77: foreign %+v", f)
	}
	var e struct {
		Number, Block, Final, Used uint64
		UsedBy                     string `json:"used_by"`
		Hash                       string `json:"block_hash"`
	}
	if err := json.Unmarshal(o.Evidence, &e); err != nil || e.UsedBy != f.Hash || e.Block == 0 || e.Hash == "" || e.Final < e.Block || e.Used != 1 {
		t.Errorf("case 77: evidence %s", o.Evidence)
	}
	filler := observe(t, s, intents.Watch{Slot: in.Slot})
	if filler.Fact != intents.Dead || filler.Want != 0 || filler.Foreign == nil {
		t.Errorf("a filler's nonce: %v, want %v: %s", filler.Fact, filler.Want, filler.Evidence)
	}
}

// TestForeignTokens: what a token's transfer pays is compared, not the token.
func TestForeignTokens(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	s := open(t, config(t, c.URL))
	in, a := prepared(t, s, 0)
	data := append([]byte{0xa9, 0x05, 0x9c, 0xbb}, common.LeftPadBytes(stranger.Bytes(), 32)...)
	outside(t, c, 0, common.HexToAddress("0x70"), 0, append(data, common.LeftPadBytes(big.NewInt(5).Bytes(), 32)...)...)
	c.Mine()
	o := observe(t, s, watch(in, a))
	if o.Foreign == nil || o.Foreign.Destination != stranger.Hex() || o.Foreign.Amount.String() != "5" {
		t.Errorf("got %v, %+v", o.Fact, o.Foreign)
	}
}

// TestForeignIsOurs, case 65: our own earlier send used the nonce. It settles by its receipt, and while no receipt is
// shown the block tells that it is ours.
func TestForeignIsOurs(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	var hide atomic.Bool
	proxy := rewriting(t, c.URL, func(method string, answer json.RawMessage) json.RawMessage {
		if hide.Load() && (method == "eth_getTransactionReceipt" || method == "eth_getTransactionByHash") {
			return json.RawMessage("null")
		}
		return answer
	})
	s := open(t, config(t, proxy))
	in, a := prepared(t, s, 0)
	submit(t, s, a)
	c.Mine()
	c.Mine()
	if r := s.Submit(t.Context(), a); r.Verdict == intents.Declined || r.Verdict == intents.NotSent {
		t.Errorf("case 65: sent again %v: %s", r.Verdict, r.Evidence)
	}
	hide.Store(true)
	if o := observe(t, s, watch(in, a)); o.Fact != intents.Pending || o.No != 1 || o.Ref != a.Name || o.Foreign != nil || o.Gone {
		t.Errorf("case 65: without a receipt %v of %d, %+v: %s", o.Fact, o.No, o.Foreign, o.Evidence)
	}
	hide.Store(false)
	if o := observe(t, s, watch(in, a)); o.Fact != intents.Final || o.No != 1 {
		t.Errorf("case 65: with its receipt %v of %d: %s", o.Fact, o.No, o.Evidence)
	}
}

// rewriting stands before a node and changes results by method.
func rewriting(t *testing.T, node string, change func(method string, result json.RawMessage) json.RawMessage) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		raw, err := forward(r.Context(), node, body.Bytes())
		var calls []call
		var answers []map[string]json.RawMessage
		if err == nil && json.Unmarshal(body.Bytes(), &calls) == nil && json.Unmarshal(raw, &answers) == nil {
			for i, a := range answers {
				if len(a["result"]) > 0 {
					a["result"] = change(calls[i].Method, a["result"])
				}
			}
			raw, _ = json.Marshal(answers)
		}
		_, _ = w.Write(raw)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestForeignNotFound: a used nonce without a transaction that shows it proves nothing, whatever the reason.
func TestForeignNotFound(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	in, a := prepared(t, open(t, config(t, c.URL)), 0)
	outside(t, c, 0, stranger, 77)
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	other, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(chain.ID)), &types.DynamicFeeTx{ChainID: big.NewInt(chain.ID)})
	if err != nil {
		t.Fatal(err)
	}
	forged, _ := other.MarshalJSON()
	var lie map[string]any
	_ = json.Unmarshal(forged, &lie)
	lie["from"] = chain.DevAddress().Hex()
	forged, _ = json.Marshal([]any{lie})
	for range 3 {
		c.Mine()
	}
	for name, change := range map[string]func(string, json.RawMessage) json.RawMessage{
		"an empty block": func(method string, r json.RawMessage) json.RawMessage {
			return block(method, r, json.RawMessage("[]"))
		},
		"another's signature": func(method string, r json.RawMessage) json.RawMessage { return block(method, r, forged) },
		"no block": func(method string, r json.RawMessage) json.RawMessage {
			if method == "eth_getBlockByNumber" {
				return json.RawMessage("null")
			}
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := observe(t, open(t, config(t, rewriting(t, c.URL, change))), watch(in, a))
			if o.Fact != intents.NotSeen || !o.Gone || o.Foreign != nil || o.After < time.Minute || !strings.Contains(string(o.Evidence), "no block shows") {
				t.Errorf("got %v, gone %t, %+v: %s", o.Fact, o.Gone, o.Foreign, o.Evidence)
			}
		})
	}
	t.Run("state is pruned", func(t *testing.T) {
		node := quiet()
		node["eth_getTransactionCount"] = `error:{"code":-32000,"message":"missing trie node"}`
		o := observe(t, open(t, config(t, scripted(t, node))), watch(in, a))
		if o.Fact != intents.NotSeen || o.Foreign != nil {
			t.Errorf("got %v, %+v", o.Fact, o.Foreign)
		}
	})
}

// block puts other transactions into every block.
func block(method string, result, txs json.RawMessage) json.RawMessage {
	if method != "eth_getBlockByNumber" {
		return result
	}
	var b map[string]json.RawMessage
	_ = json.Unmarshal(result, &b)
	b["transactions"] = txs
	out, _ := json.Marshal(b)
	return out
}

// TestStrangers finds what used numbers nobody gave out, each in its block.
func TestStrangers(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	s := open(t, config(t, c.URL))
	var want []string
	for i := range 5 {
		want = append(want, outside(t, c, uint64(i), stranger, int64(i+1)).Hash().Hex())
	}
	if n, err := s.Numbers(t.Context()); err != nil || n[s.Scopes()[0]] != 5 || len(n) != 1 {
		t.Errorf("Numbers = %v, %v; want 5", n, err)
	}
	found, err := s.Strangers(t.Context(), s.Scopes()[0], 1, 9)
	if err != nil || len(found) != 3 { // the fifth is not deep enough
		t.Fatalf("Strangers = %+v, %v; want 3", found, err)
	}
	for i, f := range found {
		if f.Hash != want[i+1] || f.Amount.String() != fmt.Sprint(i+2) {
			t.Errorf("number %d: %+v", i+1, f)
		}
	}
	if _, err := s.Strangers(t.Context(), "evm:1:0x", 0, 1); err == nil {
		t.Error("of another scope: no error")
	}
}

// stage is a route's worker and observer over the model store and a real chain.
type stage struct {
	*testing.T
	chain    *chain.Chain
	store    *memstore.Store
	sender   *evm.Sender
	worker   *relayer.Worker
	observer *relayer.Observer
}

func newStage(t *testing.T, alloc types.GenesisAlloc) *stage {
	t.Helper()
	st := &stage{T: t, chain: startChain(t, alloc), store: memstore.New(memstore.Config{})}
	st.sender = open(t, config(t, st.chain.URL))
	cfg := relayer.Config{Route: "payouts", Topic: "t", Concurrency: 4, ObserveEvery: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	throttle := relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 16})
	var err error
	st.worker, err = relayer.NewWorker(cfg, st.store, st.store, st.sender, throttle, relayer.NewProbe(st.store, nil, nil))
	st.must(err)
	st.observer = relayer.NewObserver(cfg, st.store, st.store, st.store, st.sender, throttle)
	next, err := nextOf(t, st.sender)
	st.must(err)
	_, err = st.store.OpenSigner(t.Context(), intents.Signer{Scope: st.sender.Scopes()[0], Next: next, Window: 16})
	st.must(err)
	return st
}

func (st *stage) must(err error) {
	st.Helper()
	if err != nil {
		st.Fatal(err)
	}
}

// deliver has the worker look at an intent.
func (st *stage) deliver(id string) {
	body, err := intents.EncodeReference(id)
	st.must(err)
	now := time.Now()
	st.worker.Handle(st.Context(), st.Context(), relayer.Delivery{ID: id, Body: body, Published: now, Until: now.Add(time.Minute)})
}

// until mines, observes and delivers until an intent stands in a state.
func (st *stage) until(id string, want intents.State) intents.Intent {
	st.Helper()
	ctx, cancel := context.WithTimeout(st.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		in, err := st.store.Get(ctx, id)
		st.must(err)
		if in.State == want {
			return in
		}
		select {
		case <-ctx.Done():
			st.Fatalf("%s is %s, want %s", id, in.State, want)
		case <-tick.C:
		}
		st.chain.Mine()
		_, err = st.observer.Observe(ctx)
		st.must(err)
	}
}

func (st *stage) signer() intents.Signer {
	st.Helper()
	all, err := st.store.Signers(st.Context())
	st.must(err)
	return all[0]
}

// TestDisplaced, case 77: a person used our nonce before our bytes came there. The intent is displaced, the signer frozen;
// once a person has looked it takes a new nonce, and is paid once.
func TestDisplaced(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	tx := outside(t, st.chain, 0, stranger, 77) // the store still thinks 0 is the next
	in, err := st.store.Create(t.Context(), payment(1), true, "test")
	st.must(err)
	st.deliver(in.ID) // nonce too low, for bytes never sent before
	if sg := st.signer(); sg.Frozen == "" {
		t.Errorf("case 77: not frozen at the first nonce too low: %+v", sg)
	}
	free := st.until(in.ID, intents.Authorized)
	if sg := st.signer(); sg.Frozen == "" || !strings.Contains(sg.Frozen, tx.Hash().Hex()) || sg.Next != 1 || free.Slot.Kind != intents.NoSlot {
		t.Errorf("case 77: signer %+v, intent %+v", sg, free)
	}
	st.deliver(in.ID)
	if got, err := st.store.Get(t.Context(), in.ID); err != nil || got.State != intents.Authorized {
		t.Errorf("case 77: frozen, and yet %v, %v", got.State, err)
	}
	if n := effects(t, st.chain, 1); n != 0 {
		t.Errorf("case 77: %d effects before a person looked", n)
	}
	_, err = st.store.Unfreeze(t.Context(), st.sender.Scopes()[0], "it was me", "ann")
	st.must(err)
	// A gate that heard of the freeze opens in its own time; another process has none.
	st.worker, err = relayer.NewWorker(relayer.Config{Route: "payouts", Topic: "t", Concurrency: 1}, st.store, st.store, st.sender,
		relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 16}), relayer.NewProbe(st.store, nil, nil))
	st.must(err)
	st.deliver(in.ID)
	if got := st.until(in.ID, intents.Settled); got.Slot.Number != 1 {
		t.Errorf("case 77: settled in slot %v, want nonce 1", got.Slot)
	}
	if n := effects(t, st.chain, 1); n != 1 {
		t.Errorf("case 77: %d effects, want 1", n)
	}
}

// TestDisplacedByItself: what used the nonce may be this very payment. A person decides; nothing is sent again.
func TestDisplacedByItself(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	in := payment(1)
	tx := outside(t, st.chain, 0, common.HexToAddress(in.Destination), in.Amount.Big().Int64())
	in, err := st.store.Create(t.Context(), in, true, "test")
	st.must(err)
	st.deliver(in.ID)
	if got := st.until(in.ID, intents.NeedsReview); got.Reason != intents.ReasonForeign || got.Ref != tx.Hash().Hex() {
		t.Errorf("case 77: in review for %q with %q, want the hash %s", got.Reason, got.Ref, tx.Hash())
	}
	_, err = st.store.Unfreeze(t.Context(), st.sender.Scopes()[0], "looked", "ann")
	st.must(err)
	st.deliver(in.ID)
	for range 3 {
		st.chain.Mine()
	}
	if n := effects(t, st.chain, 1); n != 1 {
		t.Errorf("case 77: %d effects, want the one from outside", n)
	}
}

// TestRestored, case 44: the database forgot that an intent was sent. The chain is ahead, the signer is frozen, and the
// intent waits for a person with the hash of its own forgotten transaction, also when the signer goes on.
func TestRestored(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	in := payment(1)
	tx := outside(t, st.chain, 0, common.HexToAddress(in.Destination), in.Amount.Big().Int64())
	in, err := st.store.Create(t.Context(), in, true, "test")
	st.must(err)
	next, err := nextOf(t, st.sender)
	st.must(err)
	sg, err := st.store.OpenSigner(t.Context(), intents.Signer{Scope: st.sender.Scopes()[0], Next: next, Window: 16})
	st.must(err)
	if sg.Frozen == "" || sg.Next != 0 {
		t.Fatalf("case 44: signer %+v, want it frozen at start", sg)
	}
	st.deliver(in.ID) // at noon, while it is not deep enough yet
	if got := st.until(in.ID, intents.NeedsReview); got.Reason != intents.ReasonForeign || got.Ref != tx.Hash().Hex() {
		t.Errorf("case 44: in review for %q with %q, want the hash %s", got.Reason, got.Ref, tx.Hash())
	}
	sg, err = st.store.Unfreeze(t.Context(), st.sender.Scopes()[0], "looked", "ann")
	st.must(err)
	if sg.Next != 1 {
		t.Errorf("case 44: next is %d, want 1", sg.Next)
	}
	st.deliver(in.ID)
	if n := effects(t, st.chain, 1); n != 1 {
		t.Errorf("case 44: %d effects, want 1", n)
	}
}

// TestPoolAtStart, case 78: transactions that wait in the pool count for the first number, not for what blocks have used.
func TestPoolAtStart(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	for i := range 5 {
		in, err := st.store.Create(t.Context(), payment(i), true, "test")
		st.must(err)
		st.deliver(in.ID)
	}
	next, err := nextOf(t, st.sender)
	st.must(err)
	mined, err := st.sender.Numbers(t.Context())
	st.must(err)
	if next != 5 || mined[st.sender.Scopes()[0]] != 0 {
		t.Errorf("case 78: pending %d, mined %d; want 5 and 0", next, mined[st.sender.Scopes()[0]])
	}
	for _, count := range []int64{next, 0} { // the node kept its pool, and lost it
		sg, err := st.store.OpenSigner(t.Context(), intents.Signer{Scope: st.sender.Scopes()[0], Next: count, Window: 16})
		st.must(err)
		if sg.Next != 5 || sg.Frozen != "" {
			t.Errorf("case 78: the node says %d, signer %+v", count, sg)
		}
	}
	for i := range 10 {
		if i >= 5 {
			_, err := st.store.Create(t.Context(), payment(i), true, "test")
			st.must(err)
			st.deliver(payment(i).ID)
		}
	}
	for i := range 10 {
		st.until(payment(i).ID, intents.Settled)
		if n := effects(t, st.chain, i); n != 1 {
			t.Errorf("case 78: %d effects of payment %d", n, i)
		}
	}
}

// TestGapIsFilled, case 67: a number whose intent ended before bytes existed is filled, and those behind it go on.
func TestGapIsFilled(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	in, err := st.store.Create(t.Context(), payment(0), true, "test")
	st.must(err)
	plan, err := st.sender.Plan(t.Context(), in)
	st.must(err)
	cl, err := st.store.Claim(t.Context(), intents.Claim{Intent: in, Plan: plan, Owner: "test", Term: time.Minute})
	st.must(err)
	_, err = st.store.Complete(t.Context(), cl, intents.Result{Verdict: intents.Declined})
	st.must(err)
	for i := range 2 {
		_, err := st.store.Create(t.Context(), payment(i+1), true, "test")
		st.must(err)
		st.deliver(payment(i + 1).ID)
	}
	for i := range 3 {
		want := []intents.State{intents.Failed, intents.Settled, intents.Settled}[i]
		st.until(payment(i).ID, want)
		if n := effects(t, st.chain, i); n != min(i, 1) {
			t.Errorf("case 67: %d effects of payment %d", n, i)
		}
	}
	if sg := st.signer(); sg.Next != 3 || sg.Frozen != "" {
		t.Errorf("case 67: signer %+v", sg)
	}
}

// TestFundsRunOut, case 76: the signer can pay for three of six. The others keep their numbers and bytes, and once there
// is money each is paid once, without a gap.
func TestFundsRunOut(t *testing.T) {
	t.Parallel()
	rich, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	ether := func(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(params.Ether)) }
	st := newStage(t, types.GenesisAlloc{
		chain.DevAddress(): {Balance: ether(3)}, crypto.PubkeyToAddress(rich.PublicKey): {Balance: ether(1000)},
	})
	const n = 6
	for i := range n {
		in := payment(i)
		in.Amount = intents.AmountOf(new(big.Int).Div(ether(9), big.NewInt(10)))
		_, err := st.store.Create(t.Context(), in, true, "test")
		st.must(err)
		st.deliver(in.ID)
	}
	for i := range 3 {
		st.until(payment(i).ID, intents.Settled)
	}
	for i := 3; i < n; i++ {
		in, err := st.store.Get(t.Context(), payment(i).ID)
		st.must(err)
		if in.State.Final() || in.State == intents.NeedsReview {
			t.Errorf("case 76: payment %d is %s for want of money", i, in.State)
		}
	}
	sendAs(t, st.chain, rich, 0, chain.DevAddress(), ether(10))
	late := time.After(time.Minute)
	for i := 3; i < n; {
		for j := i; j < n; j++ {
			st.deliver(payment(j).ID)
		}
		st.chain.Mine()
		_, err := st.observer.Observe(t.Context())
		st.must(err)
		if in, err := st.store.Get(t.Context(), payment(i).ID); err == nil && in.State == intents.Settled {
			i++
		}
		select {
		case <-late:
			t.Fatalf("case 76: payment %d is not settled", i)
		case <-time.After(50 * time.Millisecond):
		}
	}
	for i := range n {
		if got := effects(t, st.chain, i); got != 1 {
			t.Errorf("case 76: %d effects of payment %d", got, i)
		}
	}
	if sg := st.signer(); sg.Next != n || sg.Open != 0 || sg.Frozen != "" {
		t.Errorf("case 76: signer %+v", sg)
	}
}

// TestLowBalance: a signer that runs dry warns long before, once a minute, and never by default.
func TestLowBalance(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	for _, tt := range []struct {
		low  *big.Int
		want int
	}{{nil, 0}, {big.NewInt(1), 0}, {new(big.Int).Mul(big.NewInt(2_000_000), big.NewInt(1e18)), 1}} {
		var logs bytes.Buffer
		cfg := config(t, c.URL)
		cfg.LowBalance, cfg.Logger = tt.low, slog.New(slog.NewTextHandler(&logs, nil))
		s := open(t, cfg)
		for i := range 3 {
			if _, err := s.Plan(t.Context(), payment(i)); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(logs.String(), "signer's balance is low"); n != tt.want {
			t.Errorf("low %v: warned %d times, want %d", tt.low, n, tt.want)
		}
	}
}
