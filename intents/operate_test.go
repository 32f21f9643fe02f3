package intents_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func TestOpen(t *testing.T) {
	asked := row(intents.Settled, func(in *intents.Intent) { in.NotBefore, in.ExpiresAt = noon().Add(time.Hour), noon().Add(2*time.Hour) })
	one := intents.Open(asked, false, "ann", noon())
	if len(one) != 1 || one[0].After.State != intents.Created || one[0].After.Version != 1 || !one[0].After.DueAt.Equal(asked.ExpiresAt) {
		t.Fatalf("created: %+v", one)
	}
	two := intents.Open(asked, true, "ann", noon())
	if len(two) != 2 {
		t.Fatalf("got %d changes, want created and authorized", len(two))
	}
	for _, c := range append(one, two...) {
		lawful(t, c)
	}
	a := two[1].After
	if a.State != intents.Authorized || a.Version != 2 || !a.CreatedAt.Equal(noon()) || !a.TryAt.Equal(asked.NotBefore) || !a.DueAt.Equal(asked.NotBefore) {
		t.Errorf("authorized: %+v", a)
	}
	now := intents.Open(row(intents.Created), true, "ann", noon())[1].After
	if !now.DueAt.Equal(noon().Add(intents.Grace)) || !now.TryAt.IsZero() {
		t.Errorf("at once: due %v, try %v", now.DueAt, now.TryAt)
	}
}

// TestAuthorizeIsDue: a scheduled intent exactly when it may run, whatever became of its message; any other a grace from now.
func TestAuthorizeIsDue(t *testing.T) {
	for name, tt := range map[string]struct{ notBefore, due time.Time }{
		"not scheduled":     {time.Time{}, noon().Add(intents.Grace)},
		"was to run before": {noon().Add(-time.Hour), noon().Add(intents.Grace)},
		"may run now":       {noon(), noon().Add(intents.Grace)},
		"in a microsecond":  {noon().Add(time.Microsecond), noon().Add(time.Microsecond)},
		"within the grace":  {noon().Add(time.Second), noon().Add(time.Second)},
		"in an hour":        {noon().Add(time.Hour), noon().Add(time.Hour)},
	} {
		in := row(intents.Created, func(in *intents.Intent) { in.NotBefore = tt.notBefore })
		ch, err := intents.Authorize(in, "ann", noon())
		lawful(t, ch)
		if err != nil || !ch.After.DueAt.Equal(tt.due) || !ch.After.TryAt.Equal(tt.notBefore) {
			t.Errorf("%s: due %v, try %v, %v; want %v, %v", name, ch.After.DueAt, ch.After.TryAt, err, tt.due, tt.notBefore)
		}
	}
}

// What no message tells of is due as soon as it may be sent; what waits to be authorized stays as it is.
func TestUnannouncedIsDue(t *testing.T) {
	for name, tt := range map[string]struct{ notBefore, due time.Time }{
		"not scheduled":     {time.Time{}, noon()},
		"was to run before": {noon().Add(-time.Hour), noon()},
		"in an hour":        {noon().Add(time.Hour), noon().Add(time.Hour)},
	} {
		in := row(intents.Created, func(in *intents.Intent) { in.NotBefore = tt.notBefore })
		all := intents.Unannounced(intents.Open(in, true, "ann", noon()))
		for _, c := range all {
			lawful(t, c)
		}
		if got := all[1].After; !got.DueAt.Equal(tt.due) || !got.TryAt.Equal(tt.notBefore) || got.State != intents.Authorized {
			t.Errorf("%s: %s, due %v, try %v; want authorized, %v, %v", name, got.State, got.DueAt, got.TryAt, tt.due, tt.notBefore)
		}
	}
	expires := row(intents.Created, func(in *intents.Intent) { in.ExpiresAt = noon().Add(time.Hour) })
	if got := intents.Unannounced(intents.Open(expires, false, "ann", noon()))[0].After; !got.DueAt.Equal(expires.ExpiresAt) {
		t.Errorf("only created: due %v, want %v", got.DueAt, expires.ExpiresAt)
	}
}

// TestOperatorsMoves is what a person may do in each state.
func TestOperatorsMoves(t *testing.T) {
	for _, s := range intents.States() {
		in := row(s)
		ch, err := intents.Authorize(in, "ann", noon())
		wantMove(t, ch, err, intents.Authorized, s == intents.Created)
		ch, err = intents.CancelIntent(in, "ann", noon())
		if s == intents.Canceled {
			if err != nil || !ch.Empty() {
				t.Errorf("canceled again: %+v, %v", ch, err)
			}
			continue
		}
		wantMove(t, ch, err, intents.Canceled, s == intents.Created || s == intents.Authorized)
	}
}

// wantMove wants a change to a state, or a *TransitionError and nothing to write.
func wantMove(t *testing.T, ch intents.Change, err error, to intents.State, ok bool) {
	t.Helper()
	lawful(t, ch)
	from := ch.Before.State
	no, failed := errors.AsType[*intents.TransitionError](err)
	switch {
	case ok && (err != nil || ch.After.State != to || ch.Event.Actor != "ann"):
		t.Errorf("%s to %s: got %s, %v", from, to, ch.After.State, err)
	case !ok && (!failed || no.From != from || no.To != to || !ch.Empty()):
		t.Errorf("%s to %s: got %+v, %v, want a transition error", from, to, ch.After, err)
	}
}

func TestRefuse(t *testing.T) {
	for _, s := range intents.States() {
		in := row(s)
		ch, err := intents.Refuse(in, in, intents.ReasonRefused, []byte(`{}`), "w1", noon())
		lawful(t, ch)
		if s == intents.Created || s == intents.Authorized {
			if err != nil || ch.After.State != intents.Failed || ch.After.Reason != intents.ReasonRefused || string(ch.Event.Detail) != `{}` {
				t.Errorf("%s: got %+v, %v", s, ch.After, err)
			}
		} else if !errors.Is(err, intents.ErrMoved) || !ch.Empty() {
			t.Errorf("%s: got %+v, %v, want ErrMoved", s, ch.After, err)
		}
		in.Version++
		if ch, err := intents.Refuse(in, row(s), intents.ReasonRefused, nil, "w1", noon()); !errors.Is(err, intents.ErrMoved) || !ch.Empty() {
			t.Errorf("%s, moved: got %+v, %v, want ErrMoved", s, ch.After, err)
		}
	}
}

func TestPark(t *testing.T) {
	for _, s := range intents.States() {
		for wait, due := range map[time.Duration]time.Time{time.Minute: noon().Add(time.Minute), 0: noon(), -time.Minute: noon()} {
			in := row(s)
			ch, err := intents.Park(in, in, wait, noon())
			lawful(t, ch)
			if s.Final() {
				if !errors.Is(err, intents.ErrMoved) || !ch.Empty() {
					t.Errorf("%s: got %+v, %v, want ErrMoved", s, ch.After, err)
				}
			} else if err != nil || ch.Moves() || !ch.After.DueAt.Equal(due) {
				t.Errorf("%s for %v: due %v, %v", s, wait, ch.After.DueAt, err)
			}
		}
		in := row(s)
		in.Version++
		if _, err := intents.Park(in, row(s), time.Minute, noon()); !errors.Is(err, intents.ErrMoved) {
			t.Errorf("%s, moved: got %v, want ErrMoved", s, err)
		}
	}
}

func TestSweep(t *testing.T) {
	for _, s := range intents.States() {
		in := row(s)
		ch, publish := intents.Sweep(in, 1, "w1", noon())
		lawful(t, ch)
		if publish != (s == intents.Authorized || s == intents.Settling) || ch.Moves() || !ch.After.DueAt.Equal(noon().Add(2*intents.Grace)) {
			t.Errorf("%s: published %t, due %v", s, publish, ch.After.DueAt)
		}
		in.ExpiresAt = noon()
		ch, publish = intents.Sweep(in, 1, "w1", noon())
		lawful(t, ch)
		if ends := s == intents.Created || s == intents.Authorized; ends != (ch.After.Reason == intents.ReasonExpired) || ends && (publish || ch.After.State != intents.Failed) {
			t.Errorf("%s, expired: got %s %q, published %t", s, ch.After.State, ch.After.Reason, publish)
		}
	}
}

// TestSweepMeetsTheExpiry: an authorized intent is looked at when it expires, not after.
func TestSweepMeetsTheExpiry(t *testing.T) {
	in := row(intents.Authorized, func(in *intents.Intent) { in.ExpiresAt = noon().Add(time.Second) })
	if ch, publish := intents.Sweep(in, 0, "w1", noon()); !publish || !ch.After.DueAt.Equal(in.ExpiresAt) {
		t.Errorf("published %t, due %v, want the expiry", publish, ch.After.DueAt)
	}
}

func TestPushBy(t *testing.T) {
	for n, want := range map[int]time.Duration{-1: time.Minute, 0: time.Minute, 1: 2 * time.Minute, 3: 8 * time.Minute, 4: 10 * time.Minute, 1 << 40: 10 * time.Minute} {
		if got := intents.PushBy(n); got != want {
			t.Errorf("look %d: %v, want %v", n, got, want)
		}
	}
}
