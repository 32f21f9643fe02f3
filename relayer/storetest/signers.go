package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/nsqrelayer/relayer/intents"
)

func signerTests() []test {
	return []test{
		{"signers/opened once", signerOnce},
		{"signers/the chain is behind", signerBehind},
		{"signers/the chain is ahead", signerAhead},
		{"signers/seen by the chain's count", signerSeen},
		{"signers/by a person's order", signerOrder},
		{"signers/the window counts what the chain has not used", signerWindow},
		{"signers/numbers at once", signerAtOnce},
		{"signers/a number that was never sent is used", signerTaken},
	}
}

func signerOnce(f *fixture) {
	for range 2 {
		if s := f.signer(7, 4); s.Scope != f.scope || s.Next != 7 || s.Window != 4 || s.Open != 0 || s.Frozen != "" || s.Seen != 7 {
			f.Errorf("signer: got %+v", s)
		}
	}
	if s := f.readSigner(); s.Next != 7 {
		f.Errorf("signer: got %+v", s)
	}
}

// signerBehind: numbers given out may not be on the chain yet. They are not given out again.
func signerBehind(f *fixture) {
	f.signer(7, 4)
	f.claim(f.counted(f.taken()))
	f.claim(f.counted(f.taken()))
	if s := f.signer(8, 4); s.Next != 9 || s.Seen != 8 || s.Open != 2 || s.Frozen != "" {
		f.Errorf("signer: got %+v", s)
	}
}

func signerAhead(f *fixture) {
	f.signer(7, 4)
	for range 2 {
		if s := f.signer(8, 4); s.Frozen == "" || s.Next != 7 || s.Seen != 8 {
			f.Errorf("signer: got %+v, want it frozen", s)
		}
	}
}

func signerSeen(f *fixture) {
	if _, err := f.See(f.ctx, f.scope, 7); !errors.Is(err, intents.ErrNoSigner) {
		f.Errorf("a signer that is not open: %v", err)
	}
	f.signer(7, 4)
	f.claim(f.counted(f.taken()))
	for _, tt := range []struct {
		next   int64
		frozen bool
	}{{7, false}, {8, false}, {7, false}, {9, true}, {8, true}} {
		s, err := f.See(f.ctx, f.scope, tt.next)
		f.must(err)
		if s.Next != 8 || s.Seen != tt.next || (s.Frozen != "") != tt.frozen || s.Open != 1 || s.Window != 4 {
			f.Errorf("seen %d: got %+v, want it frozen: %t", tt.next, s, tt.frozen)
		}
	}
}

// signerOrder: a person's word stands beside the reason for which it is frozen already, and only a person takes it away.
func signerOrder(f *fixture) {
	for _, order := range []func(context.Context, string, string, string) (intents.Signer, error){f.Freeze, f.Unfreeze} {
		if _, err := order(f.ctx, f.scope, "why", "ann"); !errors.Is(err, intents.ErrNoSigner) {
			f.Errorf("a signer that is not open: %v", err)
		}
	}
	f.signer(7, 4)
	in := f.taken()
	for range 2 {
		s, err := f.Freeze(f.ctx, f.scope, "key rotation", "ann")
		f.must(err)
		if s.Frozen != "key rotation (ann)" {
			f.Errorf("frozen: %+v", s)
		}
	}
	f.refused(f.counted(in), intents.WhyFrozen)
	f.refused(f.counted(in), intents.WhyFrozen) // postponed is not parked: a second message may ask
	if s := f.signer(9, 4); s.Frozen != "key rotation (ann)" {
		f.Errorf("opened: %+v", s)
	}
	s, err := f.Unfreeze(f.ctx, f.scope, "done", "ann")
	f.must(err)
	if s.Frozen != "" || s.Next != 9 {
		f.Errorf("unfrozen: %+v", s)
	}
	if cl := f.claim(f.counted(in)); cl.Slot().Number != 9 {
		f.Errorf("number %d: the chain has used 7 and 8", cl.Slot().Number)
	}
}

// signerWindow: a number the chain has used is in no pool any more, though it is not beyond recall yet.
func signerWindow(f *fixture) {
	f.signer(0, 2)
	f.sent()
	f.sent()
	in := f.taken()
	f.refused(f.counted(in), intents.WhyNoSlot)
	_, err := f.See(f.ctx, f.scope, 1)
	f.must(err)
	if s := f.readSigner(); s.Open != 2 || s.Ahead != 1 {
		f.Errorf("signer: got %+v, want 2 open, 1 ahead", s)
	}
	f.claim(f.counted(in))
	f.refused(f.counted(f.taken()), intents.WhyNoSlot)
}

func signerAtOnce(f *fixture) {
	f.signer(0, 1000)
	var ins []intents.Intent
	for range 40 {
		ins = append(ins, f.taken())
	}
	numbers := make([]int64, len(ins))
	var wg sync.WaitGroup
	for i, in := range ins {
		wg.Go(func() {
			c := f.keyedAs(in, in.ID+".claim")
			c.Attempt, c.Plan.Slot = nil, intents.Counter
			cl, err := f.Claim(f.ctx, c)
			if err != nil {
				f.Errorf("claim: %v", err)
			}
			numbers[i] = cl.Slot().Number
		})
	}
	wg.Wait()
	given := map[int64]bool{}
	for _, n := range numbers {
		if n < 0 || n >= int64(len(ins)) || given[n] {
			f.Errorf("number %d was given out twice or leaves a gap", n)
		}
		given[n] = true
	}
}

// signerTaken: what the first call ever made with bytes is told of their number freezes the signer in the same commit. A
// later call proves nothing of the kind: the first may have used it.
func signerTaken(f *fixture) {
	f.signer(5, 8)
	taken := intents.Result{Verdict: intents.Unknown, Taken: true, After: soon}
	cl := f.counter()
	f.attach(cl.Slot(), 1, "tx")
	in := f.complete(cl, intents.Result{Verdict: intents.Unknown, After: soon})
	f.complete(f.claim(f.counted(in)), taken)
	if s := f.readSigner(); s.Frozen != "" {
		f.Errorf("frozen by a second call: %+v", s)
	}
	other := f.counter()
	first := f.counter()
	f.attach(first.Slot(), 1, "tx of another")
	in = f.complete(first, taken)
	f.stands(in, intents.Settling, 4, "")
	s := f.readSigner()
	if s.Frozen == "" || s.Next != 8 || s.Open != 3 {
		f.Errorf("signer: %+v, want it frozen", s)
	}
	f.refused(f.counted(f.taken()), intents.WhyFrozen)
	f.attach(other.Slot(), 1, "tx of a third")
	f.complete(other, taken)
	if again := f.readSigner(); again.Frozen != s.Frozen {
		f.Errorf("frozen for %q, then for %q: the first reason stays", s.Frozen, again.Frozen)
	}
	_, err := f.Freeze(f.ctx, f.scope, "rotation", "ann")
	f.must(err)
	if again := f.readSigner(); again.Frozen != s.Frozen+"; rotation (ann)" {
		f.Errorf("frozen: %q", again.Frozen)
	}
}
