package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/nsqrelayer/relayer/intents"
)

func pickTests() []test {
	return []test{
		{"pick/the one with most room", pickRoom},
		{"pick/the one that is not frozen", pickFrozen},
		{"pick/the lane's", pickLane},
		{"pick/only one is known", pickKnown},
		{"pick/many at once", pickAtOnce},
	}
}

// either is a claim that two signers can serve, the test's own and another.
func (f *fixture) either(in intents.Intent) intents.Claim {
	c := f.counted(in)
	c.Plan.Scope, c.Plan.Others = f.scope, []string{f.other()}
	return c
}

func (f *fixture) other() string { return f.scope + ".other" }

// openBoth makes both signers known, with so much room.
func (f *fixture) openBoth(own, other int) {
	f.signer(10, own)
	_, err := f.OpenSigner(f.ctx, intents.Signer{Scope: f.other(), Next: 20, Window: other, Seen: 20})
	f.must(err)
}

func pickRoom(f *fixture) {
	f.openBoth(2, 4)
	var got []intents.Slot
	for range 6 {
		got = append(got, f.claim(f.either(f.taken())).Slot())
	}
	of := map[string]int64{}
	for _, s := range got {
		of[s.Scope]++
	}
	if got[0].Scope != f.other() || got[0].Number != 20 || of[f.scope] != 2 || of[f.other()] != 4 {
		f.Errorf("numbers: %v", got)
	}
	if no := f.refused(f.either(f.taken()), intents.WhyNoSlot); no.Scope != f.scope && no.Scope != f.other() {
		f.Errorf("no room in %q", no.Scope)
	}
}

func pickFrozen(f *fixture) {
	f.openBoth(2, 8)
	_, err := f.Freeze(f.ctx, f.other(), "key rotation", "ann")
	f.must(err)
	for range 2 {
		if s := f.claim(f.either(f.taken())).Slot(); s.Scope != f.scope {
			f.Errorf("number of %s, which is frozen", s.Scope)
		}
	}
	if no := f.refused(f.either(f.taken()), intents.WhyNoSlot); no.Scope != f.scope {
		f.Errorf("no room in %q, want that of the one that is not frozen", no.Scope)
	}
	_, err = f.Freeze(f.ctx, f.scope, "key rotation", "ann")
	f.must(err)
	f.refused(f.either(f.taken()), intents.WhyFrozen)
}

// pickLane: a lane has its own signer, whatever room the other has, and waits for that one's.
func pickLane(f *fixture) {
	f.openBoth(2, 2)
	of := func(lane string) string { return f.either(intents.Intent{}).Plan.Ranked(lane)[0] }
	var lanes []string // all of one signer
	for i := 0; len(lanes) < 3; i++ {
		if lane := fmt.Sprintf("lane_%d", i); of(lane) == of("lane_0") {
			lanes = append(lanes, lane)
		}
	}
	var last intents.Claimed
	for i, lane := range lanes {
		in := f.taken(func(in *intents.Intent) { in.Lane = lane })
		if i == 2 {
			if no := f.refused(f.either(in), intents.WhyNoSlot); no.Scope != of(lane) {
				f.Errorf("no room in %q, want %s", no.Scope, of(lane))
			}
			f.attach(last.Slot(), 1, "tx")
			f.complete(last, intents.Result{Verdict: intents.Done, Ref: "tx"})
		}
		last = f.claim(f.either(in))
		if last.Slot().Scope != of(lane) {
			f.Errorf("%s: number of %s, want %s", lane, last.Slot().Scope, of(lane))
		}
	}
}

func pickKnown(f *fixture) {
	if _, err := f.Claim(f.ctx, f.either(f.taken())); !errors.Is(err, intents.ErrNoSigner) {
		f.Errorf("none is open: %v", err)
	}
	_, err := f.OpenSigner(f.ctx, intents.Signer{Scope: f.other(), Next: 20, Window: 1, Seen: 20})
	f.must(err)
	if s := f.claim(f.either(f.taken())).Slot(); s.Scope != f.other() || s.Number != 20 {
		f.Errorf("slot %v, want that of the one that is open", s)
	}
}

// pickAtOnce: claims of one batch see what those before them took.
func pickAtOnce(f *fixture) {
	f.openBoth(20, 20)
	var ins []intents.Intent
	for range 40 {
		ins = append(ins, f.taken())
	}
	slots := make([]intents.Slot, len(ins))
	var wg sync.WaitGroup
	for i, in := range ins {
		wg.Go(func() {
			c := f.either(in)
			c.ID = in.ID + ".claim"
			cl, err := f.Claim(f.ctx, c)
			if err != nil {
				f.Errorf("claim: %v", err)
			}
			slots[i] = cl.Slot()
		})
	}
	wg.Wait()
	given := map[string]bool{}
	for _, s := range slots {
		if given[s.String()] {
			f.Errorf("number %s was given out twice", s)
		}
		given[s.String()] = true
	}
	all, err := f.Signers(f.ctx)
	f.must(err)
	for _, sg := range all {
		if (sg.Scope == f.scope || sg.Scope == f.other()) && sg.Open != 20 {
			f.Errorf("%s gave out %d numbers, want 20", sg.Scope, sg.Open)
		}
	}
}
