package storetest

import (
	"context"
	"errors"

	"github.com/nsqrelayer/relayer/intents"
)

func repeatTests() []test {
	return []test{
		{"repeats/claim (case 38)", repeatClaim},
		{"repeats/claim of a counter slot (case 38)", repeatCounter},
		{"repeats/permissions (case 38)", repeatPermissions},
		{"repeats/a permission after the next claim (case 38)", repeatLate},
		{"repeats/refuse (case 38)", repeatRefuse},
		{"repeats/result written while the caller gave up (case 46)", repeatAfterGivingUp},
	}
}

// repeatClaim: who lost the answer asks again and gets the same claim; who asks with another id does not.
func repeatClaim(f *fixture) {
	c := f.keyed(f.taken())
	first := f.claim(c)
	again := f.claim(c)
	f.same(first.Intent, again.Intent)
	f.wantBytes(again.Attempts, string(c.Attempt.Bytes))
	f.sums(0, 100)
	other := c
	other.ID = f.name("claim")
	f.refused(other, intents.WhyMoved)
	other = c
	other.Intent.Version-- // another question, though under the same id
	f.refused(other, intents.WhyMoved)

	next := f.keyed(f.complete(first, intents.Result{After: soon}))
	over := f.claim(next)
	f.same(over.Intent, f.claim(next).Intent)
	f.refused(c, intents.WhyMoved) // the first claim is history
}

func repeatCounter(f *fixture) {
	f.signer(0, 8)
	c := f.counted(f.taken())
	first := f.claim(c)
	f.attach(first.Slot(), 1, "tx")
	again := f.claim(c)
	if again.Slot() != first.Slot() || again.Intent.Version != first.Intent.Version {
		f.Errorf("got %+v, then %+v", first.Intent, again.Intent)
	}
	f.wantBytes(again.Attempts, "tx")
	if s := f.readSigner(); s.Next != 1 || s.Open != 1 {
		f.Errorf("signer: got %+v, want one number given out", s)
	}
}

func repeatPermissions(f *fixture) {
	for name, r := range map[string]intents.Result{
		"let go":   {Verdict: intents.NotSent, Evidence: []byte(`{"n":1}`)},
		"unknown":  {Evidence: []byte(`{"n":2}`)},
		"silence":  {},
		"declined": {Verdict: intents.Declined, Evidence: []byte(`{"n":3}`)},
	} {
		cl := f.claim(f.keyed(f.taken()))
		first := f.complete(cl, r)
		before, err := f.Events(f.ctx, first.ID)
		f.must(err)
		again, err := f.Complete(f.ctx, cl, r)
		if err != nil {
			f.Errorf("%s again: %v", name, err)
		}
		f.same(first, again)
		after, err := f.Events(f.ctx, first.ID)
		f.must(err)
		if len(after) != len(before) {
			f.Errorf("%s again: %d events, then %d", name, len(before), len(after))
		}
	}
}

// repeatLate: asked again after someone else went on, the result still counts as written, and moves nothing.
func repeatLate(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	r := intents.Result{After: soon, Evidence: []byte(`{"n":1}`)}
	over := f.claim(f.keyed(f.complete(cl, r)))
	again, err := f.Complete(f.ctx, cl, r)
	f.must(err)
	f.same(over.Intent, again)
	if _, err := f.Complete(f.ctx, cl, intents.Result{Verdict: intents.Declined, Evidence: []byte(`{"n":2}`)}); !errors.Is(err, intents.ErrMoved) {
		f.Errorf("another result of the same claim: got %v, want ErrMoved", err)
	}
	f.same(over.Intent, f.get(cl.Intent.ID))
}

func repeatRefuse(f *fixture) {
	in := f.taken()
	first, err := f.Refuse(f.ctx, in, intents.ReasonRefused, []byte(`{"why":"no"}`))
	f.must(err)
	again, err := f.Refuse(f.ctx, in, intents.ReasonRefused, []byte(`{"why":"no"}`))
	f.must(err)
	f.same(first, again)
}

// repeatAfterGivingUp: a caller that leaves does not learn what became of its result; asking again must.
func repeatAfterGivingUp(f *fixture) {
	for range 20 {
		cl := f.claim(f.keyed(f.taken()))
		ctx, gone := context.WithCancel(f.ctx)
		r := intents.Result{Verdict: intents.Done, Ref: "r"}
		go gone()
		_, _ = f.Complete(ctx, cl, r)
		f.stands(f.complete(cl, r), intents.Settled, 4, "")
	}
	f.sums(-2000, 0)
}
