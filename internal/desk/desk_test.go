package desk_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// other is the other side: it says one thing of everything, and the store's own name stands for what is written.
type other struct {
	store *memstore.Store
	fact  intents.Fact
	err   error
	while func() // what happens while it is asked
}

func (o *other) Peek(_ context.Context, w intents.Watch) (intents.Observation, error) {
	if o.while != nil {
		o.while()
	}
	return intents.Observation{Slot: w.Slot, No: 1, Of: 1, Fact: o.fact, Ref: "seen"}, o.err
}

func (o *other) Look(ctx context.Context, w intents.Watch) (intents.Observation, intents.Intent, error) {
	seen, err := o.Peek(ctx, w)
	if err != nil {
		return seen, intents.Intent{}, err
	}
	ins, err := o.store.Record(ctx, []intents.Watch{w}, []intents.Observation{seen}, intents.Patience{})
	return seen, ins[0], err
}

func (*other) Refer(context.Context, intents.Intent, string) (intents.Observation, bool, error) {
	return intents.Observation{}, false, nil
}

// reviewed is a store of the process "worker" with an intent in review.
func reviewed(t *testing.T, id string) (*memstore.Store, intents.Watch) {
	t.Helper()
	s := memstore.New(memstore.Config{Actor: "worker"})
	in, err := s.Create(t.Context(), intents.Intent{ID: id, Route: "r", Account: "a", Destination: "x", Asset: "EUR", Amount: intents.NewAmount(1)}, true, "t")
	if err != nil {
		t.Fatal(err)
	}
	cl, err := s.Claim(t.Context(), intents.Claim{Intent: in, Owner: "worker", Term: time.Hour, Plan: intents.Plan{Slot: intents.Key, Scope: "s", Again: intents.Never},
		Attempt: &intents.Attempt{No: 1, Kind: intents.First, Bytes: []byte("b"), Name: "n"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Complete(t.Context(), cl, intents.Result{}); err != nil {
		t.Fatal(err)
	}
	w, err := desk.Read(t.Context(), s, id)
	if err != nil || w.Intent.State != intents.NeedsReview {
		t.Fatalf("got %+v, %v", w, err)
	}
	return s, w
}

func order(w intents.Watch, v intents.Verb) intents.Order {
	return intents.Order{Verb: v, Version: w.Intent.Version, Actor: "ann", Reason: "why", Ref: "ref"}
}

// What the other side proves while ann is about to decide is written under the process's name, not hers, and is told as
// what it is. Another person's decision in that moment is not taken for it.
func TestProofDecides(t *testing.T) {
	t.Parallel()
	s, w := reviewed(t, "pi_1")
	out, err := desk.New(s, &other{store: s, fact: intents.Final}, "worker", w).Decide(t.Context(), order(w, intents.Fail))
	if err != nil || !out.ByProof || out.Intent.State != intents.Settled || out.Serves(intents.Fail) || !out.Serves(intents.Settle) {
		t.Errorf("got %+v, %v", out, err)
	}

	s, w = reviewed(t, "pi_2")
	bob := order(w, intents.Settle)
	bob.Actor, bob.Own = "worker", true // even one who calls himself like the process
	meanwhile := &other{store: s, fact: intents.Final, while: func() {
		if _, _, err := s.Resolve(t.Context(), "pi_2", bob); err != nil {
			t.Error(err)
		}
	}}
	_, err = desk.New(s, meanwhile, "worker", w).Decide(t.Context(), order(w, intents.Fail))
	if moved, ok := errors.AsType[*intents.MovedError](err); !ok || moved.By.Actor != "worker" {
		t.Errorf("got %v, want who settled it", err)
	}
}

// An order is carried out once; where nobody answers nothing is decided.
func TestDecide(t *testing.T) {
	t.Parallel()
	s, w := reviewed(t, "pi_1")
	silent := desk.New(s, &other{store: s, err: errors.New("no route to host")}, "worker", w)
	_, err := silent.Decide(t.Context(), order(w, intents.Fail))
	if _, ok := errors.AsType[*desk.UnansweredError](err); !ok {
		t.Errorf("got %v, want that nobody answers", err)
	}
	if now, err := s.Get(t.Context(), "pi_1"); err != nil || now.Version != w.Intent.Version {
		t.Errorf("got %+v, %v", now, err)
	}
	file := desk.New(s, &other{store: s}, "worker", w)
	_, err = file.Decide(t.Context(), order(w, intents.Retry))
	if no, ok := errors.AsType[*desk.RefusedError](err); !ok || no.Order.Way != "twice" {
		t.Errorf("retry: got %v, want that it may pay twice", err)
	}
	for _, again := range []bool{false, true} {
		if out, err := file.Decide(t.Context(), order(w, intents.Fail)); err != nil || out.Again != again || out.Intent.State != intents.Failed {
			t.Errorf("got %+v, %v, want again %v", out, err, again)
		}
	}
}

// What was claimed cannot be called off any more, and it is said who has it.
func TestCancelTooLate(t *testing.T) {
	t.Parallel()
	s, _ := reviewed(t, "pi_1")
	_, err := desk.Cancel(t.Context(), s, "pi_1", "ann")
	if late, ok := errors.AsType[*desk.LateError](err); !ok || late.By.Actor != "worker" || late.Late.From != intents.NeedsReview {
		t.Errorf("got %v", err)
	}
}
