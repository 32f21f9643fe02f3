package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func cancelTests() []test {
	return []test{
		{"cancel/before the claim it is certain", cancelCertain},
		{"cancel/once claimed it is refused", cancelRefused},
		{"cancel/unknown", cancelUnknown},
		{"cancel/let go", cancelLetGo},
		{"cancel/races the claim (case 107)", cancelRace},
	}
}

func cancelCertain(f *fixture) {
	made, err := f.Create(f.ctx, f.intent(), false, "tester")
	f.must(err)
	for _, in := range []intents.Intent{made, f.taken(), f.taken(func(in *intents.Intent) { in.NotBefore = time.Now().Add(time.Hour) })} {
		first, err := f.Cancel(f.ctx, in.ID, "ann")
		f.must(err)
		f.stands(first, intents.Canceled, in.Version+1, intents.ReasonOperator)
		again, err := f.Cancel(f.ctx, in.ID, "bob") // case 38
		f.must(err)
		f.same(first, again)
		if !first.DueAt.IsZero() {
			f.Errorf("canceled, and due at %v", first.DueAt)
		}
		f.refused(f.keyed(in), intents.WhyMoved)
		f.refused(f.keyed(first), intents.WhyMoved)
	}
}

func cancelRefused(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	f.notCanceled(cl.Intent)
	f.notCanceled(f.complete(cl, intents.Result{Verdict: intents.Accepted, Ref: "r"}))
	f.notCanceled(f.complete(cl, intents.Result{Verdict: intents.Done, Ref: "r"}))
	f.notCanceled(f.get(f.reviewed().Intent.ID))
}

func (f *fixture) notCanceled(in intents.Intent) {
	f.Helper()
	_, err := f.Cancel(f.ctx, in.ID, "ann")
	no, ok := errors.AsType[*intents.TransitionError](err)
	if !ok || no.ID != in.ID || no.From != in.State || no.To != intents.Canceled {
		f.Errorf("cancel of %s: got %v, want a transition error", in.State, err)
	}
	f.same(in, f.get(in.ID))
}

func cancelUnknown(f *fixture) {
	if _, err := f.Cancel(f.ctx, f.name("pi"), "ann"); !errors.Is(err, intents.ErrNotFound) {
		f.Errorf("got %v, want ErrNotFound", err)
	}
}

// cancelLetGo: law A. Authorized again means that nobody can still send it.
func cancelLetGo(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	f.complete(cl, intents.Result{Verdict: intents.NotSent})
	in, err := f.Cancel(f.ctx, cl.Intent.ID, "ann")
	f.must(err)
	f.stands(in, intents.Canceled, 5, intents.ReasonOperator)
	f.sums(0, 0)
}

// cancelRace: one of the two has it. Never is an intent canceled that someone may send.
func cancelRace(f *fixture) {
	canceled, claimed := 0, 0
	for i := range 200 {
		in := f.taken()
		var cancel, claim error
		both := []func(){
			func() { _, cancel = f.Cancel(f.ctx, in.ID, "ann") },
			func() { _, claim = f.Claim(f.ctx, f.keyedAs(in, in.ID+".claim")) },
		}
		var wg sync.WaitGroup
		wg.Go(both[i%2])
		wg.Go(both[1-i%2])
		wg.Wait()
		if (cancel == nil) == (claim == nil) {
			f.Fatalf("cancel got %v, claim got %v: want exactly one to have it", cancel, claim)
		}
		if got := f.get(in.ID); claim == nil {
			f.stands(got, intents.Settling, 3, "")
			claimed++
		} else {
			f.stands(got, intents.Canceled, 3, intents.ReasonOperator)
			canceled++
		}
	}
	f.Logf("canceled %d, claimed %d", canceled, claimed)
}

// keyedAs is keyed with a claim id of its own; safe from several goroutines.
func (f *fixture) keyedAs(in intents.Intent, id string) intents.Claim {
	a := &intents.Attempt{Slot: intents.Slot{Name: in.ID}, No: 1, Kind: intents.First, Bytes: []byte(id), Name: in.ID}
	p := intents.Plan{Slot: intents.Key, Scope: f.scope, Again: intents.Always, Seen: true}
	return intents.Claim{Intent: in, Plan: p, Attempt: a, ID: id, Owner: "tester", Term: time.Hour}
}
