package intents_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// TestConcludeFacts: law C. What is true moves an intent whoever brings it; against an end it is an alarm.
func TestConcludeFacts(t *testing.T) {
	const alarm = intents.State(-1)
	for _, tt := range []struct {
		from           intents.State
		accepted, done intents.State // 0: nothing is written
	}{
		{intents.Created, alarm, alarm},
		{intents.Authorized, intents.NeedsReview, intents.NeedsReview},
		{intents.Settling, intents.Confirming, intents.Settled},
		{intents.Confirming, 0, intents.Settled},
		{intents.NeedsReview, intents.Confirming, intents.Settled},
		{intents.Settled, 0, 0},
		{intents.Failed, alarm, alarm},
		{intents.Canceled, alarm, alarm},
	} {
		for verdict, to := range map[intents.Verdict]intents.State{intents.Accepted: tt.accepted, intents.Done: tt.done} {
			in := row(tt.from)
			stranger := intents.Claimed{Intent: row(intents.Settling, func(in *intents.Intent) { in.ClaimID, in.Version = "other", 3 })}
			ch, err := intents.Conclude(in, stranger.Intent.ClaimID, intents.Result{Verdict: verdict, Ref: "new", Evidence: []byte(`{}`)}, "w1", noon())
			lawful(t, ch)
			if err != nil {
				t.Errorf("%s from %s: a fact got %v", verdict, tt.from, err)
			}
			switch to {
			case 0:
				if !ch.Empty() {
					t.Errorf("%s from %s writes %+v", verdict, tt.from, ch.After)
				}
			case alarm:
				if ch.Moves() || ch.Event.Kind != intents.Contradicted || string(ch.Event.Detail) != `{}` {
					t.Errorf("%s from %s: event %+v, want an alarm", verdict, tt.from, ch.Event)
				}
			default:
				reason := intents.Reason("")
				if to == intents.NeedsReview {
					reason = intents.ReasonOddity
				}
				if ch.After.Reason != reason || string(ch.Event.Detail) != `{}` {
					t.Errorf("%s from %s: reason %q, event %+v, want %q", verdict, tt.from, ch.After.Reason, ch.Event, reason)
				}
				if ch.After.State != to || ch.After.Ref != "new" || ch.Event.Ref != "new" || ch.Captures() != (to == intents.Settled) || ch.After.Silent != 0 {
					t.Errorf("%s from %s: got %+v, want %s", verdict, tt.from, ch.After, to)
				}
			}
		}
	}
}

// TestConcludeFactMeetsAuthorized: what was proved not sent, or dead, was not. It is held again and a person decides.
func TestConcludeFactMeetsAuthorized(t *testing.T) {
	letGo := func(in *intents.Intent) {
		in.Slot, in.Stored, in.Cost, in.Seen = intents.Slot{ID: 1, Kind: intents.Key, Scope: "s", Name: in.ID}, 1, intents.NewAmount(10), true
		in.TryAt, in.DueAt, in.FirstClaimedAt, in.AgainUntil = noon().Add(time.Second), noon().Add(time.Second), noon(), intents.Always.Until(noon())
	}
	for name, tt := range map[string]struct {
		in      intents.Intent
		pending string
		watched time.Time
	}{
		"let go":                  {row(intents.Authorized, letGo), "110", noon().Add(intents.MostRetry)},
		"let go, cannot be found": {row(intents.Authorized, letGo, unseen), "110", time.Time{}},
		"its slot was dead":       {row(intents.Authorized), "100", time.Time{}},
	} {
		for _, v := range []intents.Verdict{intents.Accepted, intents.Done} {
			late := intents.Claimed{Intent: row(intents.Settling)}
			ch, err := intents.Conclude(tt.in, late.Intent.ClaimID, intents.Result{Verdict: v, Ref: "new", Evidence: []byte(`{"n":1}`)}, "w1", noon())
			lawful(t, ch)
			a := ch.After
			if err != nil || a.State != intents.NeedsReview || a.Reason != intents.ReasonOddity || a.Ref != "new" || ch.Event.Ref != "new" || string(ch.Event.Detail) != `{"n":1}` {
				t.Errorf("%s, %s: got %+v, event %+v, %v", name, v, a, ch.Event, err)
			}
			if ch.Pending().String() != tt.pending || ch.Captures() || ch.Slot != intents.SlotKeeps || a.Slot != tt.in.Slot || a.Stored != tt.in.Stored {
				t.Errorf("%s, %s: pending %s, captures %t, slot %v, slot end %d, stored %d", name, v, ch.Pending(), ch.Captures(), a.Slot, ch.Slot, a.Stored)
			}
			if !a.DueAt.Equal(noon().Add(intents.MostPush)) || !a.TryAt.IsZero() || !a.WatchAt.Equal(tt.watched) {
				t.Errorf("%s, %s: due %v, try %v, watched %v", name, v, a.DueAt, a.TryAt, a.WatchAt)
			}
		}
	}
}

func TestConcludeFactKeepsTheRefItHas(t *testing.T) {
	ch, _ := intents.Conclude(row(intents.Confirming), "", intents.Result{Verdict: intents.Done}, "w1", noon())
	if ch.After.Ref != "ref" || ch.Slot != intents.SlotDone || ch.Pending().String() != "-110" {
		t.Errorf("got %+v", ch)
	}
}

func TestConcludeWatchesWhatIsAccepted(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{0: time.Second, time.Millisecond: time.Second, time.Minute: time.Minute} {
		ch, _ := intents.Conclude(row(intents.Settling), "", intents.Result{Verdict: intents.Accepted, After: after}, "w1", noon())
		if got := ch.After.WatchAt.Sub(noon()); got != want {
			t.Errorf("after %v: watched in %v, want %v", after, got, want)
		}
	}
}

// TestConcludePermissions goes through everything the running claim may say.
func TestConcludePermissions(t *testing.T) {
	second := func(in *intents.Intent) { in.Calls = 2 }
	for name, tt := range map[string]struct {
		in      intents.Intent
		verdict intents.Verdict
		to      intents.State
		reason  intents.Reason
		calls   int
		slot    intents.SlotEnd
	}{
		"not sent, key, only call":             {row(intents.Settling), intents.NotSent, intents.Authorized, "", 0, intents.SlotKeeps},
		"not sent, key, second call":           {row(intents.Settling, second), intents.NotSent, intents.Settling, "", 1, intents.SlotKeeps},
		"not sent, counter with bytes":         {row(intents.Settling, counterSlot(1)), intents.NotSent, intents.Settling, "", 0, intents.SlotKeeps},
		"not sent, counter without bytes":      {row(intents.Settling, counterSlot(0)), intents.NotSent, intents.Settling, "", 0, intents.SlotKeeps},
		"declined, key, only call":             {row(intents.Settling), intents.Declined, intents.Failed, intents.ReasonDeclined, 1, intents.SlotDone},
		"declined, key, second call (law D)":   {row(intents.Settling, second), intents.Declined, intents.Settling, "", 2, intents.SlotKeeps},
		"declined, counter with bytes (law B)": {row(intents.Settling, counterSlot(1)), intents.Declined, intents.Settling, "", 1, intents.SlotKeeps},
		"declined, before bytes":               {row(intents.Settling, counterSlot(0)), intents.Declined, intents.Failed, intents.ReasonRefused, 1, intents.SlotFill},
		"unknown, may be sent again":           {row(intents.Settling), intents.Unknown, intents.Settling, "", 1, intents.SlotKeeps},
		"unknown, may be observed":             {row(intents.Settling, never), intents.Unknown, intents.Settling, "", 1, intents.SlotKeeps},
		"unknown, neither":                     {row(intents.Settling, never, unseen), intents.Unknown, intents.NeedsReview, intents.ReasonUnknown, 1, intents.SlotKeeps},
		"not sent, second call, neither":       {row(intents.Settling, never, unseen, second), intents.NotSent, intents.NeedsReview, intents.ReasonUnknown, 1, intents.SlotKeeps},
		"declined late, neither":               {row(intents.Settling, never, unseen, second), intents.Declined, intents.NeedsReview, intents.ReasonUnknown, 2, intents.SlotKeeps},
		"unknown, no bytes, never again":       {row(intents.Settling, counterSlot(0), never, unseen), intents.Unknown, intents.Settling, "", 1, intents.SlotKeeps},
	} {
		t.Run(name, func(t *testing.T) {
			ch, err := intents.Conclude(tt.in, tt.in.ClaimID, intents.Result{Verdict: tt.verdict, After: time.Minute, Evidence: []byte(`{}`)}, "w1", noon())
			lawful(t, ch)
			a := ch.After
			if err != nil || a.State != tt.to || a.Reason != tt.reason || a.Calls != tt.calls || ch.Slot != tt.slot || a.ClaimID != "" {
				t.Errorf("got %s %q, calls %d, slot end %d, claim %q, %v", a.State, a.Reason, a.Calls, ch.Slot, a.ClaimID, err)
			}
			if ch.Event.ClaimID != "c1" || string(ch.Event.Detail) != `{}` {
				t.Errorf("event %+v", ch.Event)
			}
			if next := noon().Add(time.Minute); (a.State == intents.Settling || a.State == intents.Authorized) && (!a.TryAt.Equal(next) || !a.DueAt.Equal(next) || a.Silent != 0) {
				t.Errorf("try %v, due %v, want %v; silent %d", a.TryAt, a.DueAt, next, a.Silent)
			}
		})
	}
}

func never(in *intents.Intent)  { in.AgainUntil = time.Time{} }
func unseen(in *intents.Intent) { in.Seen = false }

// TestConcludeFences: a permission is valid only from the running claim.
func TestConcludeFences(t *testing.T) {
	for _, s := range intents.States() {
		for _, v := range []intents.Verdict{intents.Unknown, intents.NotSent, intents.Declined} {
			in := row(s)
			claims := map[string]string{"another's": "c0", "none": ""}
			if s != intents.Settling {
				claims["its own"] = in.ClaimID
			}
			for whose, id := range claims {
				cl := intents.Claimed{Intent: row(intents.Settling, func(in *intents.Intent) { in.ClaimID = id })}
				ch, err := intents.Conclude(in, cl.Intent.ClaimID, intents.Result{Verdict: v, Evidence: []byte(`{"n":1}`)}, "w1", noon())
				lawful(t, ch)
				if !errors.Is(err, intents.ErrMoved) || ch.Moves() || ch.Event.Kind != intents.Evidence || string(ch.Event.Detail) != `{"n":1}` {
					t.Errorf("%s in %s under %s claim: got %+v, %v", v, s, whose, ch.Event, err)
				}
				if ch.Event.ClaimID != id { // of the claim that says it, not of the one that runs
					t.Errorf("%s in %s under %s claim: evidence is of claim %q, want %q", v, s, whose, ch.Event.ClaimID, id)
				}
			}
		}
	}
	ended := row(intents.Settling, func(in *intents.Intent) { in.ClaimID = "" })
	if ch, err := intents.Conclude(ended, ended.ClaimID, intents.Result{}, "w1", noon()); !errors.Is(err, intents.ErrMoved) || !ch.Empty() {
		t.Errorf("no claim runs: got %+v, %v", ch, err)
	}
}

// TestConcludeWaits: without a wish the wait doubles from 2 s with each call, and it is never longer than MostRetry.
func TestConcludeWaits(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		calls int
		want  time.Duration
	}{
		{0, 1, 2 * time.Second}, {0, 2, 4 * time.Second}, {0, 4, 16 * time.Second}, {0, 9, intents.MostRetry}, {0, 1000, intents.MostRetry},
		{time.Millisecond, 5, time.Millisecond}, {time.Hour, 1, intents.MostRetry},
	} {
		in := row(intents.Settling, func(in *intents.Intent) { in.Calls = tt.calls })
		ch, err := intents.Conclude(in, in.ClaimID, intents.Result{After: tt.after}, "w1", noon())
		if got := ch.After.TryAt.Sub(noon()); err != nil || got != tt.want {
			t.Errorf("call %d, asked for %v: wait %v, want %v", tt.calls, tt.after, got, tt.want)
		}
	}
}

// TestConcludeWatchesWhatMayHaveLeft: bytes that exist and can be found are looked for; what does not exist is not.
func TestConcludeWatchesWhatMayHaveLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		in   intents.Intent
		want bool
	}{
		"bytes":           {row(intents.Settling), true},
		"no bytes":        {row(intents.Settling, counterSlot(0)), false},
		"cannot be found": {row(intents.Settling, unseen), false},
	} {
		ch, _ := intents.Conclude(tt.in, tt.in.ClaimID, intents.Result{}, "w1", noon())
		if got := !ch.After.WatchAt.IsZero(); got != tt.want {
			t.Errorf("%s: watched %t, want %t", name, got, tt.want)
		}
	}
}

// TestConcludeFreezes: only the first call ever made with a counter's bytes shows that another used its number.
func TestConcludeFreezes(t *testing.T) {
	counter := func(calls int) intents.Intent {
		return row(intents.Settling, counterSlot(1), func(in *intents.Intent) { in.Calls = calls })
	}
	for name, tt := range map[string]struct {
		in     intents.Intent
		r      intents.Result
		frozen bool
	}{
		"first call":                {counter(1), intents.Result{Taken: true}, true},
		"second call":               {counter(2), intents.Result{Taken: true}, false},
		"no word of it":             {counter(1), intents.Result{}, false},
		"a key":                     {row(intents.Settling), intents.Result{Taken: true}, false},
		"known after all":           {counter(1), intents.Result{Verdict: intents.Accepted, Ref: "0x", Taken: true}, false},
		"the claim is not his":      {row(intents.Settling, counterSlot(1), func(in *intents.Intent) { in.ClaimID = "c9" }), intents.Result{Taken: true}, false},
		"the claim has ended":       {row(intents.Settling, counterSlot(1), func(in *intents.Intent) { in.ClaimID = "" }), intents.Result{Taken: true}, false},
		"accepted by now, too late": {row(intents.Confirming, counterSlot(1)), intents.Result{Taken: true}, false},
	} {
		cl := intents.Claimed{Intent: tt.in}
		if name == "the claim is not his" {
			cl.Intent.ClaimID = "c1"
		}
		ch, _ := intents.Conclude(tt.in, cl.Intent.ClaimID, tt.r, "w1", noon())
		if (ch.Freeze != "") != tt.frozen {
			t.Errorf("%s: freeze %q", name, ch.Freeze)
		}
	}
}
