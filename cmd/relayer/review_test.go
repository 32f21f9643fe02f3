package main

import (
	"bytes"
	"context"
	"fmt"
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
)

// oracle is the other side: what it says of an intent, and what happens while it is asked.
type oracle struct {
	way
	mu    sync.Mutex
	facts map[string]intents.Fact
	while func(id string) error // nil: nothing
	asked int
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
	p.way = func(*config.Route, *slog.Logger) (way, error) { return o.oracle, nil }
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

// TestCase106: the other side is asked before anything is sent again. What is done or on its way is not, whatever the page
// said that the person looked at.
func TestCase106(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	done := o.must(o.store.Complete(t.Context(), o.claimed("pi_done", intents.Always, true), intents.Result{Verdict: intents.Done, Ref: "r"}))
	sent := o.must(o.store.Complete(t.Context(), o.claimed("pi_sent", intents.Always, true), intents.Result{Verdict: intents.Accepted, Ref: "r"}))
	failed, landed := o.reviewed("pi_failed", false), o.reviewed("pi_landed", true)
	again := func(in intents.Intent, code int, says string) intents.Intent {
		t.Helper()
		got, stdout, stderr := o.relayer("review", "retry", in.ID, "--version", fmt.Sprint(in.Version), "--reason", "again", "--may-pay-twice")
		if got != code || !strings.Contains(stdout+stderr, says) {
			t.Errorf("retry of %s: exit %d, %s%s, want %d, %q", in.ID, got, stdout, stderr, code, says)
		}
		return o.get(in.ID)
	}
	for _, in := range []intents.Intent{done, sent} {
		if got := again(in, exitFailed, "cannot become settling"); got.Version != in.Version {
			t.Errorf("%s moved to %s", in.ID, got.State)
		}
	}
	if code, _, stderr := o.relayer("review", "fail", failed.ID, "--version", "4", "--reason", "never arrived"); code != 0 {
		t.Fatalf("fail: exit %d, %s", code, stderr)
	}
	failed = o.get(failed.ID)
	if got := again(failed, exitFailed, "is failed and cannot become settling"); got.State != intents.Failed {
		t.Errorf("what failed is %s", got.State)
	}
	o.oracle.facts["pi_failed"], o.oracle.facts["pi_landed"] = intents.Final, intents.Final
	if got := again(failed, exitOK, "settled"); got.State != intents.Settled || got.Ref != "ref-pi_failed" {
		t.Errorf("what failed and landed is %s, ref %q", got.State, got.Ref)
	}
	if got := again(landed, exitOK, "settled"); got.State != intents.Settled || o.moves(landed.ID, intents.Settling) != 0 {
		t.Errorf("what landed is %s", got.State)
	}
}

// TestCase109: a bulk retry moves what is safe to send again and nothing else, each on the version that it saw. It says
// what it left and why; interrupted and run again it moves nothing twice.
func TestCase109(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	untouched := map[string]intents.Intent{}
	for n := range 60 {
		in := o.claimed(fmt.Sprintf("pi_failed_%02d", n), intents.Always, true)
		failed := o.must(o.store.Complete(t.Context(), in, intents.Result{Verdict: intents.Declined}))
		untouched[failed.ID] = failed
	}
	var safe []string
	for n := range 50 {
		switch id := fmt.Sprintf("pi_review_%02d", n); {
		case n%5 == 0:
			untouched[id] = o.reviewed(id, false)
		default:
			o.reviewed(id, true)
			safe = append(safe, id)
		}
	}
	for n := range 20 {
		in := o.claimed(fmt.Sprintf("pi_sending_%02d", n), intents.Always, true).Intent
		untouched[in.ID] = in
	}
	bulk := []string{"review", "retry", "--all", "--route", "webhooks", "--reason", "the provider was down", "--as", "ann"}
	code, stdout, stderr := o.relayer(bulk...)
	if want := "review retry: 40 would be moved (--yes moves them), 0 ended by proof, 10 skipped (10 its bytes must not be sent again)"; code != 0 || !strings.Contains(stdout, want) {
		t.Fatalf("dry run: exit %d, %s%s, want %q", code, stdout, stderr, want)
	}
	if o.oracle.asked > 0 || o.moves(safe[0], intents.Settling) > 0 {
		t.Fatal("the dry run did something")
	}

	changing := map[string]bool{safe[3]: true, safe[9]: true, safe[17]: true, safe[25]: true, safe[33]: true}
	o.oracle.facts[safe[5]] = intents.Final
	o.oracle.while = func(id string) error {
		if o.oracle.asked == 20 {
			return context.Canceled // Ctrl-C
		}
		if !changing[id] {
			return nil
		}
		delete(changing, id)
		_, _, err := o.store.Resolve(t.Context(), id, intents.Order{Verb: intents.Fail, Version: o.get(id).Version, Actor: "bob", Reason: "by hand"})
		return err
	}
	code, stdout, stderr = o.relayer(append(bulk, "--yes")...)
	if want := "review retry: 15 moved, 1 ended by proof, 8 skipped (5 its bytes must not be sent again; 3 moved meanwhile)"; code != exitFailed || !strings.Contains(stdout, want) || !strings.Contains(stderr, "interrupted") {
		t.Errorf("interrupted: exit %d, %s%s, want %q", code, stdout, stderr, want)
	}
	code, stdout, stderr = o.relayer(append(bulk, "--yes")...)
	if want := "review retry: 19 moved, 0 ended by proof, 12 skipped (10 its bytes must not be sent again; 2 moved meanwhile)"; code != exitOK || !strings.Contains(stdout, want) {
		t.Errorf("run again: exit %d, %s%s, want %q", code, stdout, stderr, want)
	}
	code, stdout, _ = o.relayer(append(bulk, "--yes")...)
	if code != exitOK || !strings.Contains(stdout, "review retry: 0 moved, 0 ended by proof, 10 skipped (10 its") {
		t.Errorf("nothing is left, and yet: exit %d, %s", code, stdout)
	}
	for i, id := range safe {
		in, byHand := o.get(id), i == 3 || i == 9 || i == 17 || i == 25 || i == 33
		switch n := o.moves(id, intents.Settling); {
		case i == 5 && (in.State != intents.Settled || n != 0):
			t.Errorf("%s had happened, and is %s, moved %d times", id, in.State, n)
		case byHand && (in.State != intents.Failed || n != 0):
			t.Errorf("%s was failed by hand, and is %s, moved %d times", id, in.State, n)
		case i != 5 && !byHand && (in.State != intents.Settling || n != 1):
			t.Errorf("%s is %s, moved %d times, want once to settling", id, in.State, n)
		}
	}
	for id, was := range untouched {
		if now := o.get(id); now.Version != was.Version || now.State != was.State {
			t.Errorf("%s was %s v%d and is %s v%d", id, was.State, was.Version, now.State, now.Version)
		}
	}
}
