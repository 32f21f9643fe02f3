package intents_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// ordered is a complete order about a row.
func ordered(v intents.Verb, change ...func(*intents.Order)) intents.Order {
	o := intents.Order{Verb: v, Version: 7, Actor: "ann", Reason: "asked the bank", Ref: "ref-1"}
	for _, c := range change {
		c(&o)
	}
	return o
}

// seen is an observation of the row's slot, of one attempt.
func seen(f intents.Fact, no int) intents.Observation {
	return intents.Observation{Slot: intents.Slot{ID: 9}, No: no, Of: 1, Fact: f}
}

// keySeen is an observation of the slot of a row that has a key.
func keySeen(f intents.Fact) intents.Observation {
	return intents.Observation{Slot: intents.Slot{ID: 1}, No: 1, Of: 1, Fact: f}
}

func twice(o *intents.Order)       { o.MayPayTwice = true }
func own(o *intents.Order)         { o.Own = true }
func proved(o *intents.Order)      { o.Proved = true }
func against(o *intents.Order)     { o.Against = "not seen there" }
func unconfirmed(o *intents.Order) { o.Unconfirmed = true }

func asSeen(ob intents.Observation) func(*intents.Order) {
	return func(o *intents.Order) { o.Seen = ob }
}

func notAgain(in *intents.Intent) { in.AgainUntil, in.Seen = time.Time{}, false }
func foreign(in *intents.Intent)  { in.Reason, in.Ref = intents.ReasonForeign, "0xf" }
func odd(in *intents.Intent)      { in.Reason = intents.ReasonOddity }
func slotless(in *intents.Intent) { in.Slot, in.Stored, in.Calls = intents.Slot{}, 0, 0 }

// TestResolve is what a person may decide, and what not, in review.
func TestResolve(t *testing.T) {
	none := intents.State(0)
	for name, tt := range map[string]struct {
		in   intents.Intent
		o    intents.Order
		want intents.State // 0: *OrderError
		way  string
	}{
		"settle":                       {row(intents.NeedsReview), ordered(intents.Settle), intents.Settled, ""},
		"settle, contradicted":         {row(intents.NeedsReview), ordered(intents.Settle, against), none, "unconfirmed"},
		"settle, contradicted, insist": {row(intents.NeedsReview), ordered(intents.Settle, against, unconfirmed), intents.Settled, ""},
		"settle, its bytes live":       {row(intents.NeedsReview, counterSlot(1)), ordered(intents.Settle), none, "cancel"},
		"settle, its bytes live, insist": {
			row(intents.NeedsReview, counterSlot(1)), ordered(intents.Settle, proved, unconfirmed), none, "cancel"},
		"settle by its own bytes":          {row(intents.NeedsReview, counterSlot(1)), ordered(intents.Settle, own), intents.Settled, ""},
		"settle, its number used":          {row(intents.NeedsReview, counterSlot(1)), ordered(intents.Settle, asSeen(seen(intents.Dead, 0))), intents.Settled, ""},
		"settle, no bytes":                 {row(intents.NeedsReview, counterSlot(0)), ordered(intents.Settle), intents.Settled, ""},
		"settle what failed":               {row(intents.Failed), ordered(intents.Settle, unconfirmed), none, ""},
		"settle what failed, proved":       {row(intents.Failed), ordered(intents.Settle, proved), intents.Settled, ""},
		"fail, key":                        {row(intents.NeedsReview), ordered(intents.Fail), intents.Failed, ""},
		"fail, key, the other side has it": {row(intents.NeedsReview), ordered(intents.Fail, asSeen(keySeen(intents.Pending))), none, ""},
		"fail, key, not beyond recall":     {row(intents.NeedsReview), ordered(intents.Fail, asSeen(keySeen(intents.Included))), none, ""},
		"fail, key, another slot was seen": {row(intents.NeedsReview),
			ordered(intents.Fail, asSeen(intents.Observation{Slot: intents.Slot{ID: 8}, No: 1, Of: 1, Fact: intents.Pending})), intents.Failed, ""},
		"fail, bytes live (case 63)":        {row(intents.NeedsReview, counterSlot(1)), ordered(intents.Fail, unconfirmed, twice), none, "cancel"},
		"fail, bytes wait":                  {row(intents.NeedsReview, counterSlot(1)), ordered(intents.Fail, asSeen(seen(intents.Pending, 1))), none, "cancel"},
		"fail, one of several dead":         {row(intents.NeedsReview, counterSlot(2)), ordered(intents.Fail, asSeen(seen(intents.Dead, 1))), none, "cancel"},
		"fail, bytes stored after the look": {row(intents.NeedsReview, counterSlot(2)), ordered(intents.Fail, asSeen(seen(intents.Dead, 0))), none, "cancel"},
		"fail, another slot was seen": {row(intents.NeedsReview, counterSlot(1)),
			ordered(intents.Fail, asSeen(intents.Observation{Slot: intents.Slot{ID: 8}, Of: 1, Fact: intents.Dead})), none, "cancel"},
		"fail, slot dead":             {row(intents.NeedsReview, counterSlot(1)), ordered(intents.Fail, asSeen(seen(intents.Dead, 0))), intents.Failed, ""},
		"fail, canceled in its slot":  {row(intents.NeedsReview, counterSlot(1), foreign), ordered(intents.Fail, asSeen(seen(intents.Reverted, 1))), intents.Failed, ""},
		"fail, used by who knows":     {row(intents.NeedsReview, counterSlot(1)), ordered(intents.Fail, asSeen(intents.Observation{Gone: true})), intents.Failed, ""},
		"fail, no bytes":              {row(intents.NeedsReview, counterSlot(0)), ordered(intents.Fail), intents.Failed, ""},
		"retry":                       {row(intents.NeedsReview), ordered(intents.Retry), intents.Settling, ""},
		"retry, number":               {row(intents.NeedsReview, counterSlot(1)), ordered(intents.Retry), intents.Settling, ""},
		"retry, not again":            {row(intents.NeedsReview, notAgain), ordered(intents.Retry), none, "twice"},
		"retry, not again, insist":    {row(intents.NeedsReview, notAgain), ordered(intents.Retry, twice), intents.Settling, ""},
		"retry, suspected":            {row(intents.NeedsReview, foreign), ordered(intents.Retry), none, "twice"},
		"retry, suspected, insist":    {row(intents.NeedsReview, foreign), ordered(intents.Retry, twice), intents.Settling, ""},
		"retry, contradicted":         {row(intents.NeedsReview, odd), ordered(intents.Retry), none, "twice"},
		"retry, never sent":           {row(intents.NeedsReview, foreign, slotless), ordered(intents.Retry), none, "twice"},
		"retry, never sent, insist":   {row(intents.NeedsReview, foreign, slotless), ordered(intents.Retry, twice), intents.Authorized, ""},
		"retry, slot dead":            {row(intents.NeedsReview, counterSlot(1)), ordered(intents.Retry, twice, asSeen(seen(intents.Dead, 0))), none, ""},
		"retry, suspected, slot dead": {row(intents.NeedsReview, counterSlot(1), foreign), ordered(intents.Retry, twice, asSeen(seen(intents.Dead, 0))), intents.Authorized, ""},
		"retry, used by who knows":    {row(intents.NeedsReview, counterSlot(1)), ordered(intents.Retry, twice, asSeen(intents.Observation{Gone: true})), none, ""},
	} {
		ch, err := intents.Resolve(tt.in, tt.o, noon())
		lawful(t, ch)
		refused, no := errors.AsType[*intents.OrderError](err)
		switch {
		case tt.want == none && (!no || refused.Way != tt.way || !ch.Empty()):
			t.Errorf("%s: got %s, %v, want it refused with way %q", name, ch.After.State, err, tt.way)
		case tt.want != none && (err != nil || ch.After.State != tt.want || ch.Event.Actor != "ann"):
			t.Errorf("%s: got %s, %v, want %s", name, ch.After.State, err, tt.want)
		}
	}
}

// TestResolveStates: of what is not in review nothing is decided, but that a failed one happened after all.
func TestResolveStates(t *testing.T) {
	for _, s := range intents.States() {
		for _, v := range []intents.Verb{intents.Settle, intents.Fail, intents.Retry} {
			ch, err := intents.Resolve(row(s), ordered(v, proved, twice, unconfirmed), noon())
			lawful(t, ch)
			_, no := errors.AsType[*intents.TransitionError](err)
			if may := s == intents.NeedsReview || s == intents.Failed && v == intents.Settle; may != (err == nil) || !may && (!no || !ch.Empty()) {
				t.Errorf("%s of %s: got %s, %v", v, s, ch.After.State, err)
			}
		}
	}
}

// TestResolveLacks: a decision is about a version, has a reason, and says what happened.
func TestResolveLacks(t *testing.T) {
	in := row(intents.NeedsReview)
	if _, err := intents.Resolve(in, ordered(intents.Fail, func(o *intents.Order) { o.Version = 6 }), noon()); !errors.Is(err, intents.ErrMoved) {
		t.Errorf("a stale version: %v", err)
	}
	for field, spoil := range map[string]func(*intents.Order){
		"reason": func(o *intents.Order) { o.Reason = "" },
		"ref":    func(o *intents.Order) { o.Ref = "" },
		"verb":   func(o *intents.Order) { o.Verb = "pay" },
	} {
		_, err := intents.Resolve(in, ordered(intents.Settle, spoil), noon())
		if bad, ok := errors.AsType[*intents.InvalidError](err); !ok || bad.Field != field {
			t.Errorf("without %s: %v", field, err)
		}
	}
}

// TestRetryKeeps: slot, bytes and hold stay as they are, and it is due at once.
func TestRetryKeeps(t *testing.T) {
	in := row(intents.NeedsReview, func(in *intents.Intent) { in.Silent, in.Calls, in.WatchAt = 5, 0, noon().Add(time.Hour) })
	ch, err := intents.Resolve(in, ordered(intents.Retry), noon())
	a := ch.After
	if err != nil || a.Slot != in.Slot || a.Stored != 1 || !a.Held().Equal(in.Held()) || !a.AgainUntil.Equal(in.AgainUntil) || !a.FirstClaimedAt.Equal(in.FirstClaimedAt) {
		t.Errorf("got %+v, %v", a, err)
	}
	if !a.DueAt.Equal(noon()) || !a.TryAt.IsZero() || a.Silent != 0 || a.Calls != 1 || a.ClaimID != "" || a.WatchAt.After(noon().Add(time.Minute)) || a.Reason != "" {
		t.Errorf("got %+v", a)
	}
}

// TestRetryOnce: what a person lets be sent once more is claimed once, and whatever becomes of that call, it is not sent
// again by itself.
func TestRetryOnce(t *testing.T) {
	ch, err := intents.Resolve(row(intents.NeedsReview, notAgain), ordered(intents.Retry, twice), noon())
	once := ch.After
	if err != nil || once.Reason != intents.ReasonOnce || once.MayResend(noon()) || !once.MayTakeOver(noon()) {
		t.Fatalf("got %+v, %v", once, err)
	}
	p := intents.Patience{ReviewAfter: time.Second}
	if ch := intents.Witness(once, intents.Observation{}, named(), p, "o", noon()); ch.Moves() {
		t.Errorf("before it was sent it goes back to %s", ch.After.State)
	}
	ch, err = intents.Admit(once, intents.Claim{Intent: once, ID: "c3", Owner: "w1", Term: time.Minute}, intents.Facts{Now: noon()})
	if err != nil || ch.After.Reason != "" || ch.After.MayTakeOver(noon()) {
		t.Fatalf("claimed: %+v, %v", ch.After, err)
	}
	claimed := ch.After
	for _, v := range []intents.Verdict{intents.Unknown, intents.NotSent, intents.Declined} {
		ch, err := intents.Conclude(claimed, claimed.ClaimID, intents.Result{Verdict: v}, "w1", noon())
		if err != nil || ch.After.State != intents.NeedsReview {
			t.Errorf("%s: got %s, %v, want review", v, ch.After.State, err)
		}
	}
	over := claimed.ClaimUntil
	_, err = intents.Admit(claimed, intents.Claim{Intent: claimed, ID: "c4", Owner: "w2", Term: time.Minute}, intents.Facts{Now: over})
	if no, ok := errors.AsType[*intents.NotClaimedError](err); !ok || no.Why != intents.WhyAgain {
		t.Errorf("after its owner died: %v, want %s", err, intents.WhyAgain)
	}
}

// TestRetryAnew: one that was never sent keeps the time that it is scheduled for.
func TestRetryAnew(t *testing.T) {
	later := noon().Add(time.Hour)
	in := row(intents.NeedsReview, foreign, slotless, func(in *intents.Intent) { in.NotBefore = later })
	ch, err := intents.Resolve(in, ordered(intents.Retry, twice), noon())
	if a := ch.After; err != nil || !a.TryAt.Equal(later) || !a.DueAt.Equal(later) || a.Ref != "" || a.Reason != "" || ch.Slot != intents.SlotKeeps {
		t.Errorf("got %+v, %v", a, err)
	}
	used := row(intents.NeedsReview, foreign, counterSlot(1))
	ch, err = intents.Resolve(used, ordered(intents.Retry, twice, asSeen(seen(intents.Dead, 0))), noon())
	if a := ch.After; err != nil || !a.DueAt.Equal(noon()) || a.Slot.Kind != intents.NoSlot || a.Stored != 0 || ch.Slot != intents.SlotDone {
		t.Errorf("got %+v, %v", a, err)
	}
}

// TestMissed: the same order again is told from another's.
func TestMissed(t *testing.T) {
	in := row(intents.NeedsReview)
	o := ordered(intents.Settle)
	ch, err := intents.Resolve(in, o, noon())
	if err != nil {
		t.Fatal(err)
	}
	events := []intents.Event{{Version: 7, Kind: intents.Changed, To: intents.NeedsReview}, {Version: 8, N: 1, Kind: intents.Noted}, ch.Event}
	again := o
	again.Seen, again.Own, again.Against = seen(intents.Pending, 1), true, ""
	if err := again.Missed(ch.After, events); err != nil {
		t.Errorf("the same again: %v", err)
	}
	for name, spoil := range map[string]func(*intents.Order){
		"by another":         func(o *intents.Order) { o.Actor = "bob" },
		"for another reason": func(o *intents.Order) { o.Reason = "guessed" },
		"another reference":  func(o *intents.Order) { o.Ref = "ref-2" },
		"another verb":       func(o *intents.Order) { o.Verb = intents.Fail },
	} {
		err := ordered(intents.Settle, spoil).Missed(ch.After, events)
		moved, ok := errors.AsType[*intents.MovedError](err)
		if !ok || !errors.Is(err, intents.ErrMoved) || moved.By.Actor != "ann" || err.Error() != "intent pi_1 is past v7: ann moved it from needs_review to settled at 2030-06-01T12:00:00.000Z" {
			t.Errorf("%s: %v", name, err)
		}
	}
	future := ordered(intents.Settle, func(o *intents.Order) { o.Version = 9 }).Missed(ch.After, events)
	if bad, ok := errors.AsType[*intents.InvalidError](future); !ok || bad.Field != "version" {
		t.Errorf("a version that never was: %v", future)
	}
}

// TestOrderIsKept: the timeline says what was decided, why, and on what evidence.
func TestOrderIsKept(t *testing.T) {
	ob := seen(intents.Pending, 1)
	ob.Evidence = []byte(`{"status":200}`)
	ch, err := intents.Resolve(row(intents.NeedsReview), ordered(intents.Settle, against, unconfirmed, asSeen(ob)), noon())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(ch.Event.Detail, &got); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{"did": "review settle", "why": "asked the bank", "ref": "ref-1", "against": "not seen there", "seen": "pending"} {
		if got[field] != want {
			t.Errorf("%s is %v, want %v", field, got[field], want)
		}
	}
	if ch.After.Ref != "ref-1" || ch.Event.Ref != "ref-1" || ch.Event.Reason != intents.ReasonOperator || got["evidence"] == nil {
		t.Errorf("got %+v, %s", ch.Event, ch.Event.Detail)
	}
}

// TestSafe is what may be sent again in bulk.
func TestSafe(t *testing.T) {
	for name, tt := range map[string]struct {
		in   intents.Intent
		safe bool
	}{
		"key":          {row(intents.NeedsReview), true},
		"number":       {row(intents.NeedsReview, counterSlot(1)), true},
		"not again":    {row(intents.NeedsReview, notAgain), false},
		"suspected":    {row(intents.NeedsReview, foreign), false},
		"contradicted": {row(intents.NeedsReview, odd), false},
		"never sent":   {row(intents.NeedsReview, foreign, slotless), false},
		"failed":       {row(intents.Failed), false},
		"settling":     {row(intents.Settling), false},
	} {
		if err := tt.in.Safe(noon()); (err == nil) != tt.safe {
			t.Errorf("%s: %v", name, err)
		}
	}
}
