package intents_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// named is an attempt of the payment.
func named() intents.Attempt { return intents.Attempt{No: 1, Kind: intents.First, Name: "name"} }

// TestWitnessProofs is every fact in every state that holds.
func TestWitnessProofs(t *testing.T) {
	none := intents.State(0)
	for _, tt := range []struct {
		fact                         intents.Fact
		settling, confirming, review intents.State
	}{
		{intents.NotSeen, none, none, none},
		{intents.Pending, intents.Confirming, none, none},
		{intents.Included, intents.Confirming, none, intents.Confirming},
		{intents.Final, intents.Settled, intents.Settled, intents.Settled},
		{intents.Reverted, intents.Failed, intents.Failed, intents.Failed},
		{intents.Dead, intents.Authorized, intents.Authorized, intents.Authorized},
		{intents.Fact(99), none, none, none},
	} {
		for from, to := range map[intents.State]intents.State{intents.Settling: tt.settling, intents.Confirming: tt.confirming, intents.NeedsReview: tt.review} {
			ch := intents.Witness(row(from), intents.Observation{Fact: tt.fact, Of: 9, Evidence: []byte(`{}`)}, named(), intents.Patience{}, "o1", noon())
			lawful(t, ch)
			if to == none {
				to = from
			}
			if ch.After.State != to || ch.Moves() != (from != to) || ch.Captures() != (to == intents.Settled) {
				t.Errorf("%s in %s: got %s, want %s", tt.fact, from, ch.After.State, to)
			}
			if ch.Moves() && string(ch.Event.Detail) != `{}` {
				t.Errorf("%s in %s: the event keeps no evidence", tt.fact, from)
			}
			if ch.Moves() && to != intents.Authorized && ch.After.Ref != "name" {
				t.Errorf("%s in %s: ref %q, want the attempt's name", tt.fact, from, ch.After.Ref)
			}
		}
	}
}

func TestWitnessTakesTheRefItIsGiven(t *testing.T) {
	ch := intents.Witness(row(intents.Settling), intents.Observation{Fact: intents.Included, Ref: "0xabc", After: time.Minute}, named(), intents.Patience{}, "o1", noon())
	if a := ch.After; a.Ref != "0xabc" || ch.Event.Ref != "0xabc" || !a.WatchAt.Equal(noon().Add(time.Minute)) || a.Silent != 0 {
		t.Errorf("got %+v", a)
	}
}

func TestWitnessRevertedSaysWhy(t *testing.T) {
	ch := intents.Witness(row(intents.Confirming, counterSlot(1)), intents.Observation{Fact: intents.Reverted}, named(), intents.Patience{}, "o1", noon())
	if ch.After.Reason != intents.ReasonReverted || ch.Slot != intents.SlotDone || ch.Pending().String() != "-110" {
		t.Errorf("got %+v", ch)
	}
}

// TestWitnessLate: after an end nothing moves; what contradicts it is an alarm.
func TestWitnessLate(t *testing.T) {
	alarms := map[intents.State][]intents.Fact{
		intents.Failed: {intents.Final, intents.Included}, intents.Canceled: {intents.Final, intents.Included}, intents.Settled: {intents.Reverted},
	}
	for _, s := range intents.States() {
		if s.Holds() {
			continue
		}
		for fact := intents.NotSeen; fact <= intents.Dead; fact++ {
			ch := intents.Witness(row(s), intents.Observation{Fact: fact, Evidence: []byte(`{}`)}, named(), intents.Patience{ReviewAfter: 1, ConfirmAfter: 1}, "o1", noon())
			lawful(t, ch)
			alarm := slices.Contains(alarms[s], fact)
			if ch.Moves() || (ch.Event.Kind == intents.Contradicted) != alarm || ch.Empty() == alarm {
				t.Errorf("%s in %s: got event %+v, want an alarm: %t", fact, s, ch.Event, alarm)
			}
		}
	}
}

// TestWitnessDead: a dead attempt ends nothing while others live; a dead slot frees the intent for a new one.
func TestWitnessDead(t *testing.T) {
	several := row(intents.Settling, counterSlot(2))
	ch := intents.Witness(several, intents.Observation{Fact: intents.Dead, No: 1, Evidence: []byte(`{}`)}, named(), intents.Patience{}, "o1", noon())
	if lawful(t, ch); ch.Moves() || ch.Event.Kind != intents.Evidence {
		t.Errorf("one of two: got %+v", ch.Event)
	}
	ch = intents.Witness(several, intents.Observation{Fact: intents.Dead, Of: 1, Evidence: []byte(`{}`)}, named(), intents.Patience{}, "o1", noon())
	if lawful(t, ch); ch.Moves() || ch.Event.Kind != intents.Evidence {
		t.Errorf("a second one was stored after the look: got %+v", ch.Event)
	}
	for _, s := range []intents.State{intents.Settling, intents.Confirming, intents.NeedsReview} {
		for of, dead := range []bool{false, false, true, true} { // of so many that were looked at, and two stored
			ch := intents.Witness(row(s, counterSlot(2)), intents.Observation{Fact: intents.Dead, Of: of, Evidence: []byte(`{"n":1}`)}, named(), intents.Patience{}, "o1", noon())
			lawful(t, ch)
			if (ch.After.State == intents.Authorized) != dead || ch.Moves() != dead || (ch.Event.Kind == intents.Evidence) == dead || string(ch.Event.Detail) != `{"n":1}` {
				t.Errorf("%s, %d of 2 looked at: got %s, event %+v, want dead: %t", s, of, ch.After.State, ch.Event, dead)
			}
		}
	}
	for name, o := range map[string]intents.Observation{"the slot": {Fact: intents.Dead, Of: 2}, "the only one": {Fact: intents.Dead, No: 1, Of: 1}} {
		in := several
		if o.No != 0 {
			in.Stored = 1
		}
		ch := intents.Witness(in, o, named(), intents.Patience{}, "o1", noon())
		lawful(t, ch)
		a := ch.After
		if a.State != intents.Authorized || a.Slot != (intents.Slot{}) || a.Stored != 0 || a.Calls != 0 || !a.AgainUntil.IsZero() || !a.FirstClaimedAt.IsZero() || !a.WatchAt.IsZero() {
			t.Errorf("%s: %+v", name, a)
		}
		if ch.Slot != intents.SlotDone || ch.Before.Slot != in.Slot || !a.DueAt.Equal(noon()) || a.Ref != "" || a.Cost.Sign() != 0 {
			t.Errorf("%s: slot end %d, due %v, ref %q, cost %s", name, ch.Slot, a.DueAt, a.Ref, a.Cost)
		}
	}
}

// TestWitnessPatience: a person must look when it takes too long, and not a moment before.
func TestWitnessPatience(t *testing.T) {
	running := func(in *intents.Intent) { in.ClaimUntil = noon().Add(time.Second) }
	minute := intents.Patience{ReviewAfter: time.Minute, ConfirmAfter: time.Minute}
	more := intents.Patience{ReviewAfter: time.Minute + 1, ConfirmAfter: time.Minute + 1}
	for name, tt := range map[string]struct {
		in   intents.Intent
		fact intents.Fact
		p    intents.Patience
		want intents.Reason // empty: it waits on
	}{
		"confirming, not seen":        {row(intents.Confirming), intents.NotSeen, minute, intents.ReasonUnseen},
		"confirming, pending":         {row(intents.Confirming), intents.Pending, minute, intents.ReasonUnseen},
		"confirming, included":        {row(intents.Confirming), intents.Included, minute, ""},
		"confirming, not yet":         {row(intents.Confirming), intents.NotSeen, more, ""},
		"confirming, never":           {row(intents.Confirming), intents.NotSeen, intents.Patience{ReviewAfter: 1}, ""},
		"settling, never again":       {row(intents.Settling, never), intents.NotSeen, minute, intents.ReasonAbandoned},
		"settling, not yet":           {row(intents.Settling, never), intents.NotSeen, more, ""},
		"settling, no limit":          {row(intents.Settling, never), intents.NotSeen, intents.Patience{ConfirmAfter: 1}, ""},
		"settling, may be sent again": {row(intents.Settling), intents.NotSeen, minute, ""},
		"settling, claim runs":        {row(intents.Settling, never, running), intents.NotSeen, minute, ""},
		"settling, no bytes":          {row(intents.Settling, never, counterSlot(0)), intents.NotSeen, minute, ""},
		"in review already":           {row(intents.NeedsReview), intents.NotSeen, minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ch := intents.Witness(tt.in, intents.Observation{Fact: tt.fact}, named(), tt.p, "o1", noon())
			lawful(t, ch)
			if a := ch.After; (a.State == intents.NeedsReview && ch.Moves()) != (tt.want != "") || a.Reason != tt.want {
				t.Errorf("got %s %q, want %q", a.State, a.Reason, tt.want)
			}
		})
	}
}

// TestWitnessLooksAgain: when the next look is due.
func TestWitnessLooksAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		in         intents.Intent
		after      time.Duration
		watch, due time.Duration // from now; -1: as it was
	}{
		"confirming, as asked":           {row(intents.Confirming), time.Minute, time.Minute, -1},
		"confirming, not asked":          {row(intents.Confirming), 0, -1, -1},
		"review, at most each 5 min":     {row(intents.NeedsReview), time.Second, intents.MostRetry, -1},
		"review, as asked":               {row(intents.NeedsReview), time.Hour, time.Hour, -1},
		"settling, may be sent again":    {row(intents.Settling), time.Minute, time.Minute, -1},
		"settling, may not":              {row(intents.Settling, never), 2 * time.Minute, 2 * time.Minute, 2 * time.Minute},
		"settling, may not, asked early": {row(intents.Settling, never), time.Second, time.Second, intents.Grace},
	} {
		ch := intents.Witness(tt.in, intents.Observation{After: tt.after}, named(), intents.Patience{}, "o1", noon())
		lawful(t, ch)
		watch, due := noon().Add(tt.watch), noon().Add(tt.due)
		if tt.watch < 0 {
			watch = tt.in.WatchAt
		}
		if tt.due < 0 {
			due = tt.in.DueAt
		}
		if ch.Moves() || !ch.After.WatchAt.Equal(watch) || !ch.After.DueAt.Equal(due) {
			t.Errorf("%s: watched %v, due %v; want %v, %v", name, ch.After.WatchAt, ch.After.DueAt, watch, due)
		}
	}
}
