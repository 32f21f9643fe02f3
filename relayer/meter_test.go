package relayer_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// ears writes down what a Meter is told.
type ears struct {
	mu   sync.Mutex
	took map[relayer.Stage][]time.Duration
	said map[string]int
}

func (e *ears) Took(_ context.Context, s relayer.Stage, d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.took == nil {
		e.took = map[relayer.Stage][]time.Duration{}
	}
	e.took[s] = append(e.took[s], d)
}

func (e *ears) Attempted(v intents.Verdict) { e.say("attempt " + v.String()) }
func (e *ears) Moved(to intents.State)      { e.say("to " + to.String()) }
func (e *ears) Buried(reason string)        { e.say("buried " + reason) }

func (e *ears) say(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.said == nil {
		e.said = map[string]int{}
	}
	e.said[what]++
}

// heard gives the rig somebody who counts.
func heard(e *ears) option { return config(func(c *relayer.Config) { c.Meter = e }) }

// Each stage is measured once, from its begin to its end, and each move of a state counts once.
func TestMeterHearsStagesAndMoves(t *testing.T) {
	e := &ears{}
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		d := r.delivery(ref("pi_1"))
		d.Published = d.Published.Add(-3 * time.Second)
		r.sender.says(after(2*time.Second, accepted))
		r.handle(d)
		r.stands("pi_1", intents.Confirming, 4, "")
		pass(time.Minute - 5*time.Second)
		r.observes(r.observer(), 1)
		r.stands("pi_1", intents.Settled, 5, "")
		if got := e.took[relayer.StageQueue]; !slices.Equal(got, []time.Duration{3 * time.Second}) {
			t.Errorf("queue: %v", got)
		}
		if got := e.took[relayer.StageThrottle]; !slices.Equal(got, []time.Duration{0}) {
			t.Errorf("throttle: %v", got)
		}
		if got := e.took[relayer.StageSend]; !slices.Equal(got, []time.Duration{2 * time.Second}) {
			t.Errorf("send: %v", got)
		}
		if got := e.took[relayer.StageConfirm]; len(got) != 1 || got[0].Round(time.Millisecond) != time.Minute {
			t.Errorf("confirm: %v", got)
		}
		want := map[string]int{"to settling": 1, "attempt accepted": 1, "to confirming": 1, "to settled": 1}
		if !maps.Equal(e.said, want) {
			t.Errorf("heard %v, want %v", e.said, want)
		}
	}, heard(e))
}

// A wait for a permit counts, and a dead letter; a call of which nobody knows what it came to moves nothing.
func TestMeterHearsWaitsAndDeadLetters(t *testing.T) {
	e := &ears{}
	bubble(t, keyed(), func(r *rig) {
		r.deliver([]byte("{"))
		r.create("pi_1")
		r.sender.says(silence)
		held, err := r.throttle.Acquire(r.Context(), 1)
		r.must(err)
		out := r.start(ref("pi_1"))
		pass(5 * time.Second)
		held.Return()
		<-out
		if got := e.took[relayer.StageThrottle]; !slices.Equal(got, []time.Duration{5 * time.Second}) {
			t.Errorf("throttle: %v", got)
		}
		want := map[string]int{"buried " + intents.DeadInvalid: 1, "to settling": 1, "attempt unknown": 1}
		if !maps.Equal(e.said, want) {
			t.Errorf("heard %v, want %v", e.said, want)
		}
	}, heard(e), throttled(relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 1}))
}

// Loops tell whether they lead, what they did, and when a round last went well.
func TestLoopStats(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		pass(time.Minute)
		s, box := r.sweeper(&outbox{}), time.Now()
		r.sweeps(s, 1)
		if got := s.Stats(); !got.Leads || got.Done != 1 || !got.At.Equal(box) {
			t.Errorf("the leader: %+v", got)
		}
		other := r.twin("w2").sweeper(&outbox{})
		r.sweeps(other, 0)
		if got := other.Stats(); got.Leads || got.Done != 0 || !got.At.Equal(box) {
			t.Errorf("the other: %+v", got)
		}
		r.faults.on("lead", down)
		pass(time.Second)
		_, _ = s.Sweep(r.Context())
		if got := s.Stats(); got.Leads || !got.At.Equal(box) {
			t.Errorf("without a store: %+v", got)
		}
	})
}
