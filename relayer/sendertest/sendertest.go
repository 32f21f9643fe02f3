// Package sendertest holds what every sender promises the engine, as tests. A sender's package calls [Run] with a way
// to make the other side behave as each test needs it.
package sendertest

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// Mode is how the other side behaves.
type Mode int

// The modes.
const (
	Works Mode = iota // it takes calls, has the effect and answers
	Dead              // nobody listens: connections are refused, and none is left open from before
	Hangs             // it takes a call and neither acts nor answers until the mode changes or the test ends
	Loses             // it has the effect, then cuts the connection without an answer
)

// Stage is one sender with the other side it talks to. Functions are called from several goroutines where a test sends
// from several.
type Stage struct {
	Sender relayer.Sender
	// Intent gives the n-th intent, n from 0: valid for the sender, each with another id.
	Intent func(n int) intents.Intent
	// Number is the number of the n-th counter slot. Nil: n itself. Only counters use it.
	Number func(n int) int64
	// Turn changes the behavior of the other side. It starts in Works.
	Turn func(Mode)
	// Calls counts the calls that reached the other side and could have had an effect. Reads do not count.
	Calls func() int
	// Settle waits until what was accepted is beyond recall, and Effects counts what the n-th intent came to outside.
	Settle  func()
	Effects func(n int) int
}

// Harness makes stages and says what the sender promises beyond the common.
type Harness struct {
	// Open makes a new stage, which ends with the test.
	Open func(t *testing.T) *Stage
	// Once says that the same bytes sent twice have one effect.
	Once bool
	// Secrets must not show in evidence or errors.
	Secrets []string
}

// Wait bounds every wait of the suite that is expected to end early.
const Wait = 60 * time.Second

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	tests := []struct {
		name string
		run  func(*act)
	}{
		{"plan changes nothing", planChangesNothing},
		{"prepare sends nothing and may run twice", prepareTwice},
		{"prepare gives what is stored", prepareStored},
		{"a call is accepted or done and happens once", sendOne},
		{"the same bytes again", sendAgain},
		{"a lost answer is unknown", loseAnswer},
		{"nobody listens: not sent", sendDead},
		{"canceled before: not sent", cancelBefore},
		{"canceled during: unknown", cancelDuring},
		{"deadline during: unknown", deadlineDuring},
		{"garbage is never a fact", sendGarbage},
		{"what was never sent is not seen", observeUnsent},
		{"what was sent is seen", observeSent},
		{"an outage is no observation", observeDead},
		{"many at once", sendMany},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(&act{T: t, h: h, Stage: h.Open(t)}) })
	}
}

// act is one test on its stage.
type act struct {
	*testing.T
	h Harness
	*Stage
}

func (a *act) plan(n int) intents.Plan {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), Wait)
	defer cancel()
	p, err := a.Sender.Plan(ctx, a.Intent(n))
	if err != nil {
		a.Fatalf("Plan(%d): %v", n, err)
	}
	return p
}

// claimed gives the n-th intent as a claim leaves it, with its slot.
func (a *act) claimed(n int) (intents.Intent, intents.Slot) {
	a.Helper()
	in, p := a.Intent(n), a.plan(n)
	s := intents.Slot{ID: int64(n) + 1, Kind: p.Slot, Scope: p.Scope}
	switch p.Slot {
	case intents.Key:
		s.Name = in.ID
	case intents.Counter:
		s.Number = int64(n)
		if a.Number != nil {
			s.Number = a.Number(n)
		}
	}
	in.State, in.Slot, in.Cost, in.Seen = intents.Settling, s, p.Cost, p.Seen
	return in, s
}

func (a *act) prepare(n int) intents.Attempt {
	a.Helper()
	in, s := a.claimed(n)
	return a.prepareIn(in, s, nil)
}

func (a *act) prepareIn(in intents.Intent, s intents.Slot, prior []intents.Attempt) intents.Attempt {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), Wait)
	defer cancel()
	at, err := a.Sender.Prepare(ctx, in, s, intents.First, prior)
	if err != nil {
		a.Fatalf("Prepare(%s): %v", in.ID, err)
	}
	return at
}

// submit sends and checks what holds for every result.
func (a *act) submit(ctx context.Context, at intents.Attempt) intents.Result {
	a.Helper()
	ctx, cancel := context.WithTimeout(ctx, Wait)
	defer cancel()
	r := a.Sender.Submit(ctx, at)
	a.clean("evidence of Submit", r.Evidence)
	if r.After < 0 || r.Calm < 0 {
		a.Errorf("Submit: after %v, calm %v, want none below 0", r.After, r.Calm)
	}
	return r
}

// observe looks at watches and checks what holds for every observation.
func (a *act) observe(ws ...intents.Watch) ([]intents.Observation, error) {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), Wait)
	defer cancel()
	os, err := a.Sender.Observe(ctx, ws)
	if err != nil {
		a.clean("error of Observe", []byte(err.Error()))
		return nil, err
	}
	if len(os) != len(ws) {
		a.Fatalf("Observe(%d watches) = %d observations, want one for each", len(ws), len(os))
	}
	for i, o := range os {
		if o.Slot != ws[i].Slot {
			a.Errorf("observation %d speaks of %v, want %v", i, o.Slot, ws[i].Slot)
		}
		a.clean("evidence of Observe", o.Evidence)
	}
	return os, nil
}

// clean checks evidence: JSON a database takes, or an error's text, and no secrets.
func (a *act) clean(what string, b []byte) {
	a.Helper()
	if strings.HasPrefix(what, "evidence") && len(b) > 0 && (!json.Valid(b) || bytes.Contains(b, []byte(`\u0000`))) {
		a.Errorf("%s is not JSON that a database takes: %s", what, b)
	}
	for _, s := range a.h.Secrets {
		if bytes.Contains(b, []byte(s)) {
			a.Errorf("%s shows the secret %q (case 111): %s", what, s, b)
		}
	}
}

// watch is what the observer has of an attempt that was stored.
func watch(in intents.Intent, at intents.Attempt) intents.Watch {
	in.Stored = 1
	return intents.Watch{Intent: in, Slot: at.Slot, Attempts: []intents.Attempt{at}}
}

func happened(r intents.Result) bool {
	return r.Verdict == intents.Accepted || r.Verdict == intents.Done
}
