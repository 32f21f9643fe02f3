package relayer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// Case 33: stopping signals completion while handlers still run. The lease ends first; what has begun goes on.
func TestRowDrainLetsBegunSendsFinishCase33(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.create("pi_2")
		r.sender.says(after(8*time.Second, accepted))
		begun := r.start(ref("pi_1"))
		pass(time.Second)
		r.drain()
		if d := r.deliver(ref("pi_2")); d != relayer.Requeue(0) {
			r.Errorf("in a drain: got %s, want REQ 0", d)
		}
		select {
		case d := <-begun:
			r.Fatalf("it did not wait for its send: %s", d)
		default:
		}
		r.finished(<-begun)
		r.stands("pi_1", intents.Confirming, 4, "")
		r.wire(1, "pi_1")
		r.counts(relayer.Stats{Sent: 1})
	})
}

// The lease may end between claim and send. The claim is ours, so the send goes on.
func TestRowLeaseEndedAfterTheClaim(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPrepare = func(context.Context, intents.Kind) error { r.drain(); return nil }
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Confirming, 4, "")
		r.wire(1, "pi_1")
	})
}

func TestRowUnknownByTheDrainDeadline(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(hangs)
		begun := r.start(ref("pi_1"))
		pass(time.Second)
		r.drain()
		pass(time.Second)
		r.cut()
		start := time.Now()
		r.finished(<-begun)
		if took := time.Since(start); took != 0 {
			r.Errorf("cut after %s", took)
		}
		r.stands("pi_1", intents.Settling, 4, "")
		if d := r.lastDetail("pi_1"); d != `{"error":"canceled"}` {
			r.Errorf("evidence: %s", d)
		}
		r.wire(1, "pi_1")
		r.counts(relayer.Stats{Abandoned: 1})
	})
}

// What the drain cuts is unknown, to the breaker too: those that wait are told that the other side does not answer.
func TestRowUnknownByTheDrainDeadlineCountsForTheBreaker(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		var begun []<-chan relayer.Disposition
		r.sender.says(hangs)
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			r.create(id)
			begun = append(begun, r.start(ref(id)))
		}
		pass(time.Second)
		r.cut()
		for _, out := range begun {
			r.finished(<-out)
		}
		if s := r.throttle.State(); s.Breaker.Gate != relayer.GateShut {
			r.Errorf("breaker is %s after %d failures", s.Breaker.Gate, s.Breaker.Failures)
		}
		if n := strings.Count(r.logs.String(), "breaker turned"); n != 1 {
			r.Errorf("logged %d times, want 1", n)
		}
		r.counts(relayer.Stats{Abandoned: 5})
	})
}

// An answer after the cut is an answer, to the breaker too.
func TestRowAcceptedAfterTheDrainDeadlineCountsForTheBreaker(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sender.says(silence, silence, silence, silence, after(8*time.Second, accepted))
		for _, id := range []string{"a", "b", "c", "d"} {
			r.create(id)
			r.finished(r.deliver(ref(id)))
		}
		if n := r.throttle.State().Breaker.Failures; n != 4 {
			r.Errorf("%d failures, want 4", n)
		}
		r.create("e")
		begun := r.start(ref("e"))
		pass(time.Second)
		r.cut()
		r.finished(<-begun)
		if s := r.throttle.State(); s.Breaker.Failures != 0 || s.Breaker.Gate != relayer.GateOpen {
			r.Errorf("breaker: %+v", s.Breaker)
		}
	})
}

// The answer comes although the send is cut: it is kept.
func TestRowAcceptedAfterTheDrainDeadline(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(after(8*time.Second, accepted))
		begun := r.start(ref("pi_1"))
		pass(time.Second)
		r.cut()
		r.finished(<-begun)
		r.stands("pi_1", intents.Confirming, 4, "")
		r.counts(relayer.Stats{Sent: 1})
	})
}

// Claimed but not begun at the deadline: it is let go in order, not sent.
func TestRowDrainDeadlineBeforeTheSend(t *testing.T) {
	for name, tt := range map[string]struct {
		plan  intents.Plan
		cut   func(r *rig)
		state intents.State
	}{
		"key slot": {keyed(), func(r *rig) {
			r.faults.on("claim", func(_ context.Context, do func() error) error { err := do(); r.cut(); return err })
		}, intents.Authorized},
		"counter slot": {counted(), func(r *rig) {
			r.sender.onPrepare = func(ctx context.Context, _ intents.Kind) error { r.cut(); return ctx.Err() }
		}, intents.Settling},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.plan, func(r *rig) {
				r.create("pi_1")
				tt.cut(r)
				r.finished(r.deliver(ref("pi_1")))
				r.stands("pi_1", tt.state, 4, "")
				r.wire(0)
				r.counts(relayer.Stats{Abandoned: 1})
			})
		})
	}
}

func TestRowAttachCutByTheDrainDeadline(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("attach", stalls)
		begun := r.start(ref("pi_1"))
		pass(time.Second)
		r.cut()
		start := time.Now()
		r.finished(<-begun)
		if took := time.Since(start); took != 0 {
			r.Errorf("cut after %s", took)
		}
		r.notAttached("pi_1", 4)
		r.counts(relayer.Stats{Abandoned: 1})
	})
}

func TestRowResultCannotBeWrittenWhileTheProcessLives(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("complete", times(500, down)...) // at a pause of 5 s: most of an hour
		start := time.Now()
		r.finished(r.deliver(ref("pi_1")))
		if took := time.Since(start); took < 30*time.Minute {
			r.Errorf("took %s", took)
		}
		r.stands("pi_1", intents.Confirming, 4, "")
		r.wire(1, "pi_1")
		r.counts(relayer.Stats{Sent: 1})
	})
}

func TestRowResultCannotBeWrittenInADrain(t *testing.T) {
	for name, f := range map[string]fault{"unavailable": down, "unsure": unsure, "stalled": stalls} {
		t.Run(name, func(t *testing.T) {
			bubble(t, keyed(), func(r *rig) {
				r.create("pi_1")
				r.faults.on("complete", times(500, f)...)
				begun := r.start(ref("pi_1"))
				pass(time.Minute)
				r.drain()
				pass(time.Minute)
				r.cut()
				start := time.Now()
				r.left(<-begun)
				if took := time.Since(start); took < 4*time.Second || took > relayer.DefaultWriteGrace {
					r.Errorf("ended %s after the deadline, want 5s", took)
				}
				in := r.stands("pi_1", intents.Settling, 3, "")
				for _, want := range []string{"result cannot be written", `"intent":"pi_1"`, `"claim":"` + in.ClaimID, `"slot":"endpoint/pi_1"`,
					`"verdict":"accepted"`, `"ref":"ref-1"`, `"evidence":"{\"status\":202}"`} {
					if !strings.Contains(r.logs.String(), want) {
						r.Errorf("the log does not tell %s", want)
					}
				}
				r.counts(relayer.Stats{Abandoned: 1})
				r.wire(1, "pi_1")
			})
		})
	}
}

func TestRowResultWrittenWithinTheGrace(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("complete", times(4, down)...) // gone for a second and a half
		r.sender.says(during(r.cut, accepted))
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Confirming, 4, "")
		r.counts(relayer.Stats{Sent: 1})
	})
}
