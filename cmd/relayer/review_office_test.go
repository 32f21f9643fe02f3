package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/pgtest"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// oracle is the other side: what it says of an intent, and what happens while it is asked.
type oracle struct {
	way
	mu    sync.Mutex
	facts map[string]intents.Fact
	while func(id string) error // nil: nothing
	asked int

	referError error
}

func (o *oracle) Observe(_ context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []intents.Observation
	for _, w := range ws {
		o.asked++
		if o.while != nil {
			if err := o.while(w.Intent.ID); err != nil {
				return nil, err
			}
		}
		all = append(all, intents.Observation{Slot: w.Slot, No: 1, Fact: o.facts[w.Intent.ID], Ref: "ref-" + w.Intent.ID})
	}
	return all, nil
}

// Refer tells of references as Observe does of intents.
func (o *oracle) Refer(_ context.Context, _ intents.Intent, ref string) (intents.Observation, error) {
	if ref == "nonsense" {
		return intents.Observation{}, &intents.InvalidError{Field: "ref", Value: ref, Want: "a hash"}
	}
	return intents.Observation{No: 1, Fact: o.facts[ref], Ref: ref}, o.referError
}

func (*oracle) Close() {}

// office is a database with a review list, and a person at a terminal.
type office struct {
	*testing.T
	store  *pgstore.Store
	oracle *oracle
	args   []string
}

func newOffice(t *testing.T) *office {
	dsn := pgtest.New(t, migrated)
	s, err := pgstore.Open(t.Context(), pgstore.Config{DSN: dsn, Actor: "worker"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "relayer.toml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return &office{T: t, store: s, oracle: &oracle{facts: map[string]intents.Fact{}}, args: []string{"--config", file, "--database-url", dsn}}
}

// relayer runs a command and gives its exit code and what it printed.
func (o *office) relayer(args ...string) (code int, stdout, stderr string) {
	o.Helper()
	var out, complaints bytes.Buffer
	p := realParts()
	p.way = func(*config.Route, evm.Meter, *slog.Logger) (way, error) { return o.oracle, nil }
	code = run(append(args, o.args...), strings.NewReader(""), &out, &complaints, p)
	return code, out.String(), complaints.String()
}

func (o *office) must(in intents.Intent, err error) intents.Intent {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
	return in
}

func (o *office) get(id string) intents.Intent {
	o.Helper()
	return o.must(o.store.Get(o.Context(), id))
}

// claimed makes an intent that somebody claimed. Its bytes may be sent again, and what became of it can be seen, as said.
func (o *office) claimed(id string, again intents.Again, seen bool) intents.Claimed {
	o.Helper()
	in := o.must(o.store.Create(o.Context(), intents.Intent{ID: id, Route: "webhooks", Account: "acct_1", Destination: "x", Asset: "EUR", Amount: intents.NewAmount(1)}, true, "test"))
	cl, err := o.store.Claim(o.Context(), intents.Claim{Intent: in, Owner: "worker", Term: time.Hour,
		Plan:    intents.Plan{Slot: intents.Key, Scope: "pay.example", Again: again, Seen: seen},
		Attempt: &intents.Attempt{No: 1, Kind: intents.First, Bytes: []byte(id), Name: id}})
	if err != nil {
		o.Fatal(err)
	}
	return cl
}

// reviewed makes an intent in review; again: its bytes may be sent again.
func (o *office) reviewed(id string, again bool) intents.Intent {
	o.Helper()
	if !again {
		return o.must(o.store.Complete(o.Context(), o.claimed(id, intents.Never, false), intents.Result{}))
	}
	o.must(o.store.Complete(o.Context(), o.claimed(id, intents.For(time.Hour), true), intents.Result{Verdict: intents.Accepted, Ref: "r"}))
	in := o.get(id)
	got, err := o.store.Record(o.Context(), []intents.Watch{{Intent: in, Slot: in.Slot}}, []intents.Observation{{Slot: in.Slot}}, intents.Patience{ConfirmAfter: time.Nanosecond})
	if err != nil || got[0].State != intents.NeedsReview {
		o.Fatalf("got %+v, %v, want it in review", got, err)
	}
	return got[0]
}

// moves counts how often an intent went from review to a state.
func (o *office) moves(id string, to intents.State) (n int) {
	o.Helper()
	events, err := o.store.Events(o.Context(), id)
	if err != nil {
		o.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == intents.Changed && e.From == intents.NeedsReview && e.To == to {
			n++
		}
	}
	return n
}

// lastDetail is what the last event of an intent tells.
func (o *office) lastDetail(id string) string {
	o.Helper()
	events, err := o.store.Events(o.Context(), id)
	if err != nil {
		o.Fatal(err)
	}
	return string(events[len(events)-1].Detail)
}
