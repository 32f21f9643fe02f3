package evm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/evm"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// front stands before a node and answers some calls itself.
type front struct {
	*httptest.Server
	node string

	mu     sync.Mutex
	answer func(c call) string  // "" leaves the call to the node
	sent   []*types.Transaction // that came by
}

func newFront(t *testing.T, node string) *front {
	f := &front{node: node}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(func() { f.CloseClientConnections(); f.Close() })
	return f
}

// says changes what is answered.
func (f *front) says(answer func(c call) string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// sends are the transactions that were to be sent, in order.
func (f *front) sends() []*types.Transaction {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*types.Transaction(nil), f.sent...)
}

func (f *front) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	if !bytes.HasPrefix(body, []byte("[")) {
		_, _ = io.WriteString(w, f.one(r, body))
		return
	}
	var calls []json.RawMessage
	_ = json.Unmarshal(body, &calls)
	answers := make([]string, len(calls))
	for i, c := range calls {
		answers[i] = f.one(r, c)
	}
	fmt.Fprintf(w, "[%s]", strings.Join(answers, ","))
}

func (f *front) one(r *http.Request, body []byte) string {
	var c call
	_ = json.Unmarshal(body, &c)
	f.mu.Lock()
	if c.Method == "eth_sendRawTransaction" {
		f.sent = append(f.sent, sentIn(c))
	}
	text := ""
	if f.answer != nil {
		text = f.answer(c)
	}
	f.mu.Unlock()
	if text != "" {
		return script{c.Method: text}.answer(c)
	}
	b, err := forward(r.Context(), f.node, body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(b), "["), "]") // a script knows only batches
}

func sentIn(c call) *types.Transaction {
	var raw hexutil.Bytes
	tx := new(types.Transaction)
	if json.Unmarshal(c.Params[0], &raw) != nil || tx.UnmarshalBinary(raw) != nil {
		return new(types.Transaction)
	}
	return tx
}

// route is a whole route in one process: worker and observer over the model store.
type route struct {
	*testing.T
	store    *memstore.Store
	sender   *evm.Sender
	worker   *relayer.Worker
	observer *relayer.Observer
}

// fast is a config whose schedules take no time.
func fast(t *testing.T, url string) evm.Config {
	cfg := config(t, url)
	cfg.ResendAfter = 20 * time.Millisecond
	return cfg
}

type noGate struct{}

func (noGate) Pause(string) {}
func (noGate) Resume()      {}

// newRoute starts a process on a store that others may have used before.
func newRoute(t *testing.T, store *memstore.Store, cfg evm.Config, change ...func(*relayer.Config)) *route {
	t.Helper()
	return newThrottled(t, store, relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 64}), cfg, change...)
}

func newThrottled(t *testing.T, store *memstore.Store, throttle *relayer.Throttle, cfg evm.Config, change ...func(*relayer.Config)) *route {
	t.Helper()
	r := &route{T: t, store: store, sender: open(t, cfg)}
	next, err := r.sender.Check(t.Context())
	r.must(err)
	for _, scope := range r.sender.Scopes() {
		_, err = store.OpenSigner(t.Context(), intents.Signer{Scope: scope, Next: next[scope], Window: 64})
		r.must(err)
	}
	rc := relayer.Config{Route: "payouts", Topic: "payouts", Concurrency: 1, Owner: "w1", ObserveEvery: time.Millisecond, Logger: cfg.Logger,
		SubmitTimeout: 20 * time.Second, ReviewAfter: time.Hour, ConfirmAfter: time.Hour}
	for _, c := range change {
		c(&rc)
	}
	r.worker, err = relayer.NewWorker(rc, store, store, r.sender, throttle, relayer.NewProbe(store, noGate{}, nil))
	r.must(err)
	r.observer = relayer.NewObserver(rc, store, store, store, r.sender, throttle)
	return r
}

func (r *route) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// create stores the n-th payment, authorized.
func (r *route) create(n int) string {
	r.Helper()
	in, err := r.store.Create(r.Context(), payment(n), true, "tester")
	r.must(err)
	return in.ID
}

// deliver has the worker handle a message that names an intent.
func (r *route) deliver(id string) {
	now := time.Now()
	r.worker.Handle(r.Context(), r.Context(), relayer.Delivery{ID: id, Topic: "payouts", Published: now, Until: now.Add(time.Minute),
		Body: fmt.Appendf(nil, `{"v":1,"intent_id":%q}`, id)})
}

// pay brings payments from the n-th up to but without the most-th to confirming.
func (r *route) pay(n, most int) {
	r.Helper()
	for ; n < most; n++ {
		id := r.create(n)
		r.deliver(id)
		if in := r.get(id); in.State != intents.Confirming {
			r.Fatalf("%s is %s, want confirming", id, in.State)
		}
	}
}

func (r *route) get(id string) intents.Intent {
	r.Helper()
	in, err := r.store.Get(r.Context(), id)
	r.must(err)
	return in
}

// until looks again and again, with something done before each look, until ok.
func (r *route) until(what string, before func(), ok func() bool) {
	r.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		before()
		if _, err := r.observer.Observe(r.Context()); err != nil {
			r.Logf("observe: %v", err)
		}
		select {
		case <-tick.C:
		case <-deadline:
			r.Fatalf("not within a minute: %s", what)
		}
	}
}

// all says whether the payments below most are in a state.
func (r *route) all(most int, s intents.State) func() bool {
	return func() bool {
		for n := range most {
			if r.get(payment(n).ID).State != s {
				return false
			}
		}
		return true
	}
}

// once wants each of the payments to have had its effect once, settled by a transaction that the chain has.
func (r *route) once(c *chain.Chain, most int) {
	r.Helper()
	var dests []string
	for n := range most {
		dests = append(dests, payment(n).Destination)
		if in := r.get(payment(n).ID); in.State != intents.Settled {
			r.Errorf("%s is %s, want settled", in.ID, in.State)
		}
	}
	all, err := c.Effects(r.Context(), dests)
	r.must(err)
	for d, n := range all {
		if n != 1 {
			r.Errorf("%d effects at %s, want 1", n, d)
		}
	}
}

// attempts are what is stored for an intent, as the observer sees them once it is to be looked at.
func (r *route) attempts(id string) []intents.Attempt {
	r.Helper()
	as, err := r.store.Attempts(r.Context(), id)
	r.must(err)
	return as
}

// states are an intent's states in order.
func (r *route) states(id string) string {
	r.Helper()
	events, err := r.store.Events(r.Context(), id)
	r.must(err)
	var words []string
	for _, e := range events {
		if e.Kind == intents.Changed {
			words = append(words, e.To.String())
		}
	}
	return strings.Join(words, " ")
}
