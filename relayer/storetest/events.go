package storetest

import (
	"errors"

	"github.com/nsqrelayer/relayer/intents"
)

func eventTests() []test {
	return []test{
		{"events/the timeline of a payment", eventsPath},
		{"events/notes are numbered", eventsNotes},
		{"events/unknown", eventsUnknown},
	}
}

func eventsPath(f *fixture) {
	in := f.taken()
	cl := f.claim(f.keyed(in))
	f.complete(cl, intents.Result{Verdict: intents.Accepted, Ref: "r", Evidence: []byte(`{"status":202}`)})
	done := f.record(f.get(in.ID), intents.Observation{Fact: intents.Final}, intents.Patience{})
	events, err := f.Events(f.ctx, in.ID)
	f.must(err)
	want := []intents.State{0, intents.Created, intents.Authorized, intents.Settling, intents.Confirming, intents.Settled}
	if len(events) != len(want)-1 {
		f.Fatalf("got %d events: %+v", len(events), events)
	}
	for i, e := range events {
		if e.Kind != intents.Changed || e.From != want[i] || e.To != want[i+1] || e.Version != i+1 || e.At.IsZero() {
			f.Errorf("event %d: got %+v", i, e)
		}
	}
	if events[0].Actor != "tester" || events[2].Actor != "tester" || events[2].ClaimID != cl.Intent.ClaimID {
		f.Errorf("actor, claim: %+v", events)
	}
	if events[3].Ref != "r" || !sameJSON(events[3].Detail, []byte(`{"status":202}`)) || len(events[4].Detail) != 0 || !events[4].At.Equal(done.ChangedAt) {
		f.Errorf("ref, detail: %+v", events[3:])
	}
}

func eventsNotes(f *fixture) {
	cl := f.counter()
	f.attach(cl.Slot(), 1, "one")
	f.attach(cl.Slot(), 2, "two")
	in := f.get(cl.Intent.ID)
	for range 3 {
		in = f.record(in, intents.Observation{Fact: intents.Dead, No: 1, Evidence: []byte(`{"dead":1}`)}, intents.Patience{})
		f.stands(in, intents.Settling, 3, "")
	}
	f.complete(cl, intents.Result{Evidence: []byte(`{"n":1}`)})
	events, err := f.Events(f.ctx, in.ID)
	f.must(err)
	if len(events) != 7 {
		f.Fatalf("got %d events: %+v", len(events), events)
	}
	for i, n := range []int{0, 1, 2, 3} {
		if e := events[2+i]; e.Version != 3 || e.N != n {
			f.Errorf("got v%d.%d, want v3.%d", e.Version, e.N, n)
		}
	}
	if e := events[6]; e.Version != 4 || e.N != 0 {
		f.Errorf("got v%d.%d, want v4.0", e.Version, e.N)
	}
}

func eventsUnknown(f *fixture) {
	if _, err := f.Events(f.ctx, f.name("pi")); !errors.Is(err, intents.ErrNotFound) {
		f.Errorf("events: got %v, want ErrNotFound", err)
	}
	if _, err := f.Attempts(f.ctx, f.name("pi")); !errors.Is(err, intents.ErrNotFound) {
		f.Errorf("attempts: got %v, want ErrNotFound", err)
	}
	if as, err := f.Attempts(f.ctx, f.taken().ID); err != nil || len(as) != 0 {
		f.Errorf("attempts before the claim: got %v, %v", as, err)
	}
}
