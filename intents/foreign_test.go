package intents_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// used is the observation that a foreign transaction used the slot.
func used() intents.Observation {
	f := &intents.Foreign{Hash: "0xf", Destination: "dest", Amount: intents.NewAmount(100), At: noon().Add(-time.Hour)}
	return intents.Observation{Fact: intents.Dead, Of: 1, Foreign: f, Evidence: []byte(`{}`)}
}

func paid(in *intents.Intent) { in.Destination = "dest" }

func TestForeignPays(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(f *intents.Foreign)
		want   bool
	}{
		"the same":            {func(*intents.Foreign) {}, true},
		"another destination": {func(f *intents.Foreign) { f.Destination = "other" }, false},
		"nobody":              {func(f *intents.Foreign) { f.Destination = "" }, false},
		"more":                {func(f *intents.Foreign) { f.Amount = intents.NewAmount(101) }, false},
		"nothing":             {func(f *intents.Foreign) { f.Amount = intents.Amount{} }, false},
	} {
		f := *used().Foreign
		tt.change(&f)
		if got := f.Pays(row(intents.Authorized, paid)); got != tt.want {
			t.Errorf("%s: pays %t", name, got)
		}
	}
}

// TestDisplace is every state in which a number may turn out to be used.
func TestDisplace(t *testing.T) {
	suspected := func(in *intents.Intent) { in.Reason, in.Ref = intents.ReasonForeign, "0xf" }
	odd := func(in *intents.Intent) { in.Reason = intents.ReasonOddity }
	late := func(in *intents.Intent) { in.Stored = 2 }
	for name, tt := range map[string]struct {
		in      intents.Intent
		matched bool
		want    intents.State     // 0: it stays
		note    intents.EventKind // the first time
	}{
		"settling":                         {row(intents.Settling, counterSlot(1)), false, intents.Authorized, 0},
		"confirming":                       {row(intents.Confirming, counterSlot(1)), false, intents.Authorized, 0},
		"review":                           {row(intents.NeedsReview, counterSlot(1)), false, intents.Authorized, 0},
		"suspected, nobody is any more":    {row(intents.NeedsReview, counterSlot(1), suspected), false, intents.Authorized, 0},
		"against another proof":            {row(intents.NeedsReview, counterSlot(1), odd), false, 0, intents.Contradicted},
		"bytes came after the look":        {row(intents.Settling, counterSlot(1), late), false, 0, intents.Evidence},
		"matched, bytes came":              {row(intents.Settling, counterSlot(1), late), true, 0, intents.Evidence},
		"matched, settling":                {row(intents.Settling, counterSlot(1)), true, intents.NeedsReview, 0},
		"matched, confirming":              {row(intents.Confirming, counterSlot(1)), true, intents.NeedsReview, 0},
		"matched, in review for what ever": {row(intents.NeedsReview, counterSlot(1)), true, 0, intents.Evidence},
		"matched again":                    {row(intents.NeedsReview, counterSlot(1), suspected), true, 0, intents.Evidence},
		"authorized":                       {row(intents.Authorized), true, 0, 0},
		"settled":                          {row(intents.Settled), true, 0, 0},
	} {
		ch := intents.Displace(tt.in, used(), tt.matched, false, "o1", noon())
		lawful(t, ch)
		if again := intents.Displace(tt.in, used(), tt.matched, true, "o1", noon()); tt.in.State == intents.NeedsReview && tt.want == 0 && again.Event.Kind != 0 {
			t.Errorf("%s: told again: %+v", name, again.Event)
		}
		if ch.Moves() != (tt.want != 0) || tt.want != 0 && ch.After.State != tt.want {
			t.Errorf("%s: got %s", name, ch.After.State)
		}
		if !ch.Moves() && ch.Event.Kind != tt.note {
			t.Errorf("%s: event %+v", name, ch.Event)
		}
		if a := ch.After; tt.want == intents.NeedsReview && (a.Reason != intents.ReasonForeign || a.Ref != "0xf" || ch.Event.Ref != "0xf" || a.Slot != tt.in.Slot || string(ch.Event.Detail) != `{}`) {
			t.Errorf("%s: %+v", name, a)
		}
		if tt.want == intents.Authorized && (ch.After.Slot != (intents.Slot{}) || ch.Slot != intents.SlotDone) {
			t.Errorf("%s: slot %v, end %d", name, ch.After.Slot, ch.Slot)
		}
	}
}

// TestSuspect is every state that a foreign transaction may be the payment of.
func TestSuspect(t *testing.T) {
	for s, want := range map[intents.State]struct {
		review, may bool
		note        intents.EventKind
	}{
		intents.Created: {false, true, intents.Contradicted}, intents.Authorized: {true, true, 0}, intents.Settling: {true, true, 0},
		intents.Confirming: {true, true, 0}, intents.NeedsReview: {false, true, intents.Evidence}, intents.Settled: {},
		intents.Failed: {false, true, intents.Contradicted}, intents.Canceled: {false, true, intents.Contradicted},
	} {
		for _, again := range []bool{false, true} {
			ch, may := intents.Suspect(row(s, paid), *used().Foreign, noon().Add(-time.Hour), again, []byte(`{}`), "o1", noon())
			lawful(t, ch)
			if may != want.may || ch.Moves() != want.review || want.review && ch.After.State != intents.NeedsReview {
				t.Errorf("%s: may %t, moves to %s", s, may, ch.After.State)
			}
			if note := want.note; !want.review && (ch.Event.Kind != note) != (again && note != 0) {
				t.Errorf("%s, again %t: event %+v", s, again, ch.Event)
			}
		}
		ch, may := intents.Suspect(row(s, paid), *used().Foreign, noon(), false, nil, "o1", noon()) // it changed before that
		if s.Final() && (may || !ch.Empty()) {
			t.Errorf("%s before the slot was taken: may %t, %+v", s, may, ch.Event)
		}
		if ch, may := intents.Suspect(row(s), *used().Foreign, time.Time{}, false, nil, "o1", noon()); may || !ch.Empty() {
			t.Errorf("%s, paid to another: may %t", s, may)
		}
	}
}

// TestSuspectedStaysForAPerson: only proof of its own effect takes a suspect out of review.
// A number without bytes is filled: those above wait for it, and none that pay will come.
func TestSuspectLeavesItsIdleNumber(t *testing.T) {
	for stored, want := range map[int]intents.SlotEnd{0: intents.SlotFill, 1: intents.SlotKeeps} {
		in := row(intents.Settling, paid, counterSlot(stored))
		ch, _ := intents.Suspect(in, *used().Foreign, noon().Add(-time.Hour), false, nil, "o1", noon())
		if lost := ch.After.Slot == (intents.Slot{}); ch.Slot != want || lost != (want == intents.SlotFill) {
			t.Errorf("%d stored: slot end %d, slot %v", stored, ch.Slot, ch.After.Slot)
		}
	}
}

func TestSuspectedStaysForAPerson(t *testing.T) {
	in := row(intents.NeedsReview, counterSlot(1), func(in *intents.Intent) { in.Reason, in.Ref = intents.ReasonForeign, "0xf" })
	for fact := intents.NotSeen; fact <= intents.Dead; fact++ {
		for _, kind := range []intents.Kind{intents.First, intents.Cancel} {
			a := intents.Attempt{No: 1, Kind: kind, Name: "name"}
			ch := intents.Witness(in, intents.Observation{Fact: fact, No: 1, Of: 1}, a, intents.Patience{ConfirmAfter: 1}, "o1", noon())
			lawful(t, ch)
			if settles := fact == intents.Final && kind == intents.First; ch.Moves() != settles {
				t.Errorf("%s of %s: got %s", fact, kind, ch.After.State)
			}
		}
	}
	cl := intents.Claimed{Intent: intents.Intent{ClaimID: "c1"}}
	for v, moves := range map[intents.Verdict]bool{intents.Accepted: false, intents.Done: true} {
		ch, err := intents.Conclude(in, cl.Intent.ClaimID, intents.Result{Verdict: v, Ref: "late"}, "w1", noon())
		if lawful(t, ch); err != nil || ch.Moves() != moves {
			t.Errorf("%s: got %s, %v", v, ch.After.State, err)
		}
	}
}

// TestWitnessCancel: an empty use of the slot is never the payment. Beyond recall it ends it, however it was executed.
func TestWitnessCancel(t *testing.T) {
	for _, kind := range []intents.Kind{intents.Cancel, intents.Fill, intents.Alien, intents.Kind(9)} {
		for _, s := range intents.States() {
			for fact := intents.Pending; fact < intents.Dead; fact++ {
				in := row(s)
				ch := intents.Witness(in, intents.Observation{Fact: fact, No: 2, Of: 2}, intents.Attempt{No: 2, Kind: kind, Name: "0xempty"}, intents.Patience{}, "o1", noon())
				lawful(t, ch)
				beyond := fact == intents.Final || fact == intents.Reverted
				ends := beyond && s.Holds() && kind != intents.Alien
				if ch.Moves() != ends || ends && (ch.After.State != intents.Failed || ch.After.Reason != intents.ReasonInSlot || ch.After.Ref != "0xempty") {
					t.Errorf("%s of %s in %s: got %s %q", fact, kind, s, ch.After.State, ch.After.Reason)
				}
				alarm := beyond && s == intents.Settled && kind != intents.Alien
				if (ch.Event.Kind == intents.Contradicted) != alarm || !ends && ch.After.Ref != in.Ref {
					t.Errorf("%s of %s in %s: event %+v, ref %q", fact, kind, s, ch.Event, ch.After.Ref)
				}
			}
		}
	}
}

// TestWitnessGone, case 65: a used number of which nobody can tell who used it is for a person, in time; never a failure.
func TestWitnessGone(t *testing.T) {
	running := func(in *intents.Intent) { in.ClaimUntil = noon().Add(time.Second) }
	for name, tt := range map[string]struct {
		in   intents.Intent
		gone bool
		p    time.Duration
		want bool
	}{
		"gone for long":        {row(intents.Settling, counterSlot(1)), true, time.Minute, true},
		"not for long":         {row(intents.Settling, counterSlot(1)), true, time.Minute + 1, false},
		"only not seen":        {row(intents.Settling, counterSlot(1)), false, time.Minute, false},
		"somebody is on to it": {row(intents.Settling, counterSlot(1), running), true, time.Minute, false},
		"confirming":           {row(intents.Confirming, counterSlot(1)), true, time.Minute, true},
		"without patience":     {row(intents.Settling, counterSlot(1)), true, 0, false},
	} {
		ch := intents.Witness(tt.in, intents.Observation{Gone: tt.gone, Evidence: []byte(`{}`)}, named(), intents.Patience{ConfirmAfter: tt.p}, "o1", noon())
		lawful(t, ch)
		if ch.Moves() != tt.want || tt.want && (ch.After.State != intents.NeedsReview || ch.After.Reason != intents.ReasonUnseen || string(ch.Event.Detail) != `{}`) {
			t.Errorf("case 65, %s: got %s %q", name, ch.After.State, ch.After.Reason)
		}
	}
}

func TestSignerFreezes(t *testing.T) {
	s := intents.Signer{Scope: "s", Next: 7, Seen: 5, Window: 2, Ahead: 2}
	if got := s.Look(7); got.Frozen != "" || got.Seen != 7 || !got.Full() {
		t.Errorf("all that was given out is used: %+v", got)
	}
	ahead := s.Look(9)
	if ahead.Frozen == "" || ahead.Seen != 9 || ahead.Next != 7 {
		t.Errorf("the chain is ahead: %+v", ahead)
	}
	if got := ahead.Look(7); got.Frozen != ahead.Frozen {
		t.Errorf("thawed by itself: %+v", got)
	}
	if got := ahead.Unfreeze(); got.Frozen != "" || got.Next != 9 {
		t.Errorf("unfrozen: %+v", got)
	}
	if got := s.Unfreeze(); got.Next != 7 {
		t.Errorf("numbers that were given out come again: %+v", got)
	}
	f := intents.Foreign{Hash: "0xf"}
	if got := s.Displaced(6, f); !strings.Contains(got.Frozen, "0xf") || !strings.Contains(got.Frozen, "number 6") || got.Displaced(5, f).Frozen != got.Frozen {
		t.Errorf("displaced: %+v", got)
	}
	if got := ahead.Freeze("why", "ann"); got.Frozen != ahead.Frozen+"; why (ann)" {
		t.Errorf("ordered: %q", got.Frozen)
	}
}
