package intents_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func forgotten(in *intents.Intent) { in.Reason = intents.ReasonForgotten }

func loss() intents.Loss {
	return intents.Loss{NoticedAt: noon().Add(-time.Minute), NoticedBy: "w", Missing: "version 3 of intent #1"}
}

func recall() intents.Recall { return intents.Recall{Since: noon().Add(-time.Hour), Actor: "ann"} }

// TestDoubt: what could have been sent before the loss was noticed goes to a person, and nothing else does.
func TestDoubt(t *testing.T) {
	after := loss().NoticedAt.Add(time.Second)
	for name, tt := range map[string]struct {
		in   intents.Intent
		want intents.State     // 0: it stays
		note intents.EventKind // 0: nothing is said
	}{
		"authorized":        {row(intents.Authorized), intents.NeedsReview, intents.Changed},
		"stored later":      {row(intents.Authorized, func(in *intents.Intent) { in.CreatedAt = after }), 0, 0},
		"due later":         {row(intents.Authorized, func(in *intents.Intent) { in.TryAt = after }), 0, 0},
		"scheduled later":   {row(intents.Created, func(in *intents.Intent) { in.NotBefore = after }), 0, 0},
		"created":           {row(intents.Created), 0, intents.Evidence},
		"settling":          {row(intents.Settling), 0, 0},
		"confirming":        {row(intents.Confirming), 0, 0},
		"settled":           {row(intents.Settled), 0, 0},
		"failed":            {row(intents.Failed), 0, 0},
		"canceled":          {row(intents.Canceled), 0, 0},
		"in review already": {row(intents.NeedsReview), 0, 0},
	} {
		c := intents.Doubt(tt.in, loss(), recall(), noon())
		lawful(t, c)
		if c.Event.Kind != tt.note || c.Moves() != (tt.want != 0) || tt.want != 0 && (c.After.State != tt.want || c.After.Reason != intents.ReasonForgotten) {
			t.Errorf("%s: %s (%s), event %s", name, c.After.State, c.After.Reason, c.Event.Kind)
		}
		if tt.note != 0 && (c.Event.Actor != "ann" || !strings.Contains(string(c.Event.Detail), "version 3 of intent #1")) {
			t.Errorf("%s: by %s: %s", name, c.Event.Actor, c.Event.Detail)
		}
	}
}

// A late answer proves what it proves; without its bytes the intent cannot be watched, so that "on its way" is only kept.
func TestForgottenIsRemembered(t *testing.T) {
	cl := intents.Claimed{Intent: row(intents.Settling)}
	in := row(intents.NeedsReview, forgotten, slotless)
	c, err := intents.Conclude(in, cl.Intent.ClaimID, intents.Result{Verdict: intents.Done, Ref: "r"}, "w", noon())
	if err != nil || c.After.State != intents.Settled || c.After.Ref != "r" {
		t.Errorf("done: %s, %v", c.After.State, err)
	}
	c, err = intents.Conclude(in, cl.Intent.ClaimID, intents.Result{Verdict: intents.Accepted, Ref: "r", Evidence: []byte(`{}`)}, "w", noon())
	if err != nil || c.Moves() || c.Event.Kind != intents.Evidence || c.Event.Ref != "r" {
		t.Errorf("accepted: %s, event %+v, %v", c.After.State, c.Event, err)
	}
	// Before anybody recovered it is authorized: it must not be sent again either.
	c, err = intents.Conclude(row(intents.Authorized), cl.Intent.ClaimID, intents.Result{Verdict: intents.Accepted, Ref: "r"}, "w", noon())
	if err != nil || c.After.State != intents.NeedsReview || c.After.Ref != "r" {
		t.Errorf("accepted, authorized: %s, %v", c.After.State, err)
	}
}

// Only a person who says that it may pay twice sends it again.
func TestForgottenIsNotRetried(t *testing.T) {
	in := row(intents.NeedsReview, forgotten, slotless)
	_, err := intents.Resolve(in, ordered(intents.Retry), noon())
	if e, ok := errors.AsType[*intents.OrderError](err); !ok || e.Way != "twice" {
		t.Errorf("retry: %v", err)
	}
	c, err := intents.Resolve(in, ordered(intents.Retry, twice), noon())
	if err != nil || c.After.State != intents.Authorized {
		t.Errorf("retry, may pay twice: %s, %v", c.After.State, err)
	}
	if in.Safe(noon()) == nil {
		t.Error("retry of all takes it")
	}
}

func TestRecallCheck(t *testing.T) {
	for since, want := range map[time.Time]bool{
		{}: false, noon(): false, loss().NoticedAt: false, loss().NoticedAt.Add(-time.Second): true,
	} {
		r := intents.Recall{Since: since}
		err := r.Check(loss().NoticedAt)
		if bad, ok := errors.AsType[*intents.InvalidError](err); (err == nil) != want || !want && (!ok || bad.Field != "since") {
			t.Errorf("since %s: %v", since, err)
		}
	}
}
