package relayer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// outbox is a queue that is only published to.
type outbox struct {
	mu     sync.Mutex
	bodies []string
	at     []time.Time
	fail   func(n int) error // of the n-th message, from 0
	taken  func(body []byte) // is given each message at once
	calls  int
}

func (o *outbox) Publish(_ context.Context, topic string, body []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	if o.fail != nil {
		if err := o.fail(o.calls - 1); err != nil {
			return err
		}
	}
	o.bodies, o.at = append(o.bodies, topic+" "+string(body)), append(o.at, time.Now())
	if o.taken != nil {
		o.taken(body)
	}
	return nil
}

func (o *outbox) sent() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.bodies)
}

func (r *rig) sweeper(p relayer.Publisher) *relayer.Sweeper {
	return relayer.NewSweeper(r.cfg, r.faults, p)
}

// sweeps wants one sweep to publish so many.
func (r *rig) sweeps(s *relayer.Sweeper, want int) {
	r.Helper()
	n, err := s.Sweep(r.Context())
	r.must(err)
	if n != want {
		r.Errorf("published %d, want %d", n, want)
	}
}

// A great many are due at once. At most twice the concurrency of them stand in the queue, refilled under half.
func TestSweepKeepsItsMessagesFew(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		for i := range 10_000 {
			r.create(fmt.Sprintf("pi_%05d", i))
		}
		pass(intents.Grace + time.Second)
		var box outbox
		s := r.sweeper(&box)
		r.sweeps(s, 8)
		r.sweeps(s, 0)
		for i := range 3 {
			r.finished(r.deliver(ref(fmt.Sprintf("pi_%05d", i)))) // the oldest come first
		}
		r.sweeps(s, 0) // five wait still
		r.finished(r.deliver(ref("pi_00003")))
		r.sweeps(s, 4)
		if box.bodies[0] != `intents.payouts {"v":1,"intent_id":"pi_00000"}` || box.bodies[11] != `intents.payouts {"v":1,"intent_id":"pi_00011"}` {
			r.Errorf("published %q", box.bodies)
		}
	})
}

// While more is due than may stand in the queue, and it is taken, it is looked again soon: few workers are not left without
// work between two sweeps. Then all is quiet again.
func TestSweepHurriesWhileMoreIsDue(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		const count = 80
		for i := range count {
			r.create(fmt.Sprintf("pi_%05d", i))
		}
		pass(intents.Grace + time.Second)
		box := outbox{taken: func(body []byte) { r.finished(r.deliver(body)) }}
		ctx, stop := context.WithTimeout(r.Context(), 10*time.Second)
		defer stop()
		start, counts := time.Now(), r.faults.count("lead")
		r.sweeper(&box).Run(ctx)
		if n := len(box.at); n != count || box.at[n-1].Sub(start) > count/8*relayer.DefaultSweepEvery/2 {
			r.Errorf("published %d, the last after %s", n, box.at[n-1].Sub(start))
		}
		if n := r.faults.count("lead") - counts; n > 60 { // 40 quiet ones in ten seconds, and those of the hurry
			r.Errorf("looked %d times", n)
		}
	})
}

// What nobody takes from the queue is published again, after a minute, then two, four …
func TestSweepPublishesAgainWhatNobodyLookedAt(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		start := time.Now()
		r.create("pi_1")
		var box outbox
		ctx, stop := context.WithTimeout(r.Context(), 40*time.Minute)
		defer stop()
		r.sweeper(&box).Run(ctx)
		want := []time.Duration{1, 2, 4, 8, 16, 26, 36} // minutes
		if len(box.at) != len(want) {
			r.Fatalf("published %d times, want %d", len(box.at), len(want))
		}
		for i, at := range box.at {
			if got := at.Sub(start) - want[i]*time.Minute; got < 0 || got > 10*time.Second {
				r.Errorf("publication %d came %s late", i, got)
			}
		}
	})
}

func TestSweepScheduledToTheSecond(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		in := r.content("pi_1", notBefore(90*time.Minute))
		r.finished(r.deliver(r.full(in)))
		var box outbox
		ctx, stop := context.WithTimeout(r.Context(), 90*time.Minute+30*time.Second)
		defer stop()
		r.sweeper(&box).Run(ctx)
		if len(box.at) != 1 {
			r.Fatalf("published %d times, want once", len(box.at))
		}
		if late := box.at[0].Sub(in.NotBefore); late < 0 || late >= time.Second {
			r.Errorf("published %s after its time", late)
		}
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1, "pi_1")
	})
}

// Its message was lost, or never sent: it is published when it may run all the same, not a grace later.
func TestSweepScheduledWithoutItsMessage(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		in := r.create("pi_1", notBefore(90*time.Minute))
		var box outbox
		ctx, stop := context.WithTimeout(r.Context(), 90*time.Minute+intents.Grace/2)
		defer stop()
		r.sweeper(&box).Run(ctx)
		if len(box.at) != 1 {
			r.Fatalf("published %d times, want once", len(box.at))
		}
		if late := box.at[0].Sub(in.NotBefore); late < 0 || late >= time.Second {
			r.Errorf("published %s after its time", late)
		}
	})
}

func TestSweepScheduledThenCanceled(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.finished(r.deliver(r.full(r.content("pi_1", notBefore(time.Hour)))))
		_, err := r.store.Cancel(r.Context(), "pi_1", "tester")
		r.must(err)
		var box outbox
		pass(2 * time.Hour)
		r.sweeps(r.sweeper(&box), 0)
		r.stands("pi_1", intents.Canceled, 3, intents.ReasonOperator)
	})
}

func TestSweepExpires(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		_, err := r.store.Create(r.Context(), r.content("waits", expires(time.Hour)), false, "tester")
		r.must(err)
		r.create("late", expires(30*time.Second))
		r.create("fresh", expires(time.Hour))
		pass(intents.Grace + time.Second)
		var box outbox
		s := r.sweeper(&box)
		r.sweeps(s, 1) // fresh
		r.stands("late", intents.Failed, 3, intents.ReasonExpired)
		r.stands("waits", intents.Created, 1, "")
		pass(time.Hour)
		r.sweeps(s, 0)
		r.stands("waits", intents.Failed, 2, intents.ReasonExpired)
		r.stands("fresh", intents.Failed, 3, intents.ReasonExpired)
	})
}

func TestSweepOnlyTheLeaderWorks(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		pass(intents.Grace + time.Second)
		var box outbox
		a, b := r.sweeper(&box), r.twin("w2").sweeper(&box)
		r.sweeps(a, 1)
		r.create("pi_2")
		pass(intents.Grace - time.Second)
		r.sweeps(a, 0) // keeps its lease
		pass(2 * time.Second)
		r.sweeps(b, 0)
		if box.sent() != 1 {
			r.Errorf("two sweepers published %d", box.sent())
		}
		pass(20 * time.Second) // a is dead
		r.sweeps(b, 2)
		r.sweeps(a, 0)
	})
}

// Who stops lets the next one lead at once; one that did not lead changes nothing by stopping.
func TestSweeperHandsOverWhenItStops(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		var box outbox
		run := func(s *relayer.Sweeper) {
			ctx, stop := context.WithTimeout(r.Context(), 100*time.Millisecond)
			defer stop()
			s.Run(ctx)
		}
		a, b := r.sweeper(&box), r.twin("w2").sweeper(&box)
		r.create("pi_1")
		pass(1500 * time.Millisecond)
		r.create("pi_2")
		pass(intents.Grace - 2500*time.Millisecond)
		run(a)
		pass(1500 * time.Millisecond) // less than a lease
		r.sweeps(b, 1)
		run(a) // while b leads
		pass(1500 * time.Millisecond)
		r.sweeps(a, 0)
		r.sweeps(b, 1)
	})
}

func TestSweepPublishFailureLeavesItDue(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		for i := range 3 {
			r.create(fmt.Sprintf("pi_%d", i))
		}
		pass(intents.Grace + time.Second)
		box := outbox{fail: func(n int) error {
			if n == 1 {
				return errors.New("no nsqd takes it")
			}
			return nil
		}}
		s := r.sweeper(&box)
		if n, err := s.Sweep(r.Context()); n != 1 || err == nil {
			r.Errorf("published %d, error %v", n, err)
		}
		r.finished(r.deliver(ref("pi_0")))
		pass(2 * intents.Grace)
		sum := 0
		for range 3 { // one at a time, to see; the one that is confirming needs a look too
			n, err := s.Sweep(r.Context())
			r.must(err)
			sum += n
		}
		if sum != 2 {
			r.Errorf("published %d, want 2", sum)
		}
	})
}

// While no nsqd takes anything, one of many that are due is tried at a time: the others stay due now.
func TestSweepTriesOneWhilePublishingFails(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		for i := range 50 {
			r.create(fmt.Sprintf("pi_%02d", i))
		}
		pass(intents.Grace + time.Second)
		const failures = 5
		box := outbox{fail: func(n int) error {
			if n < failures {
				return errors.New("no nsqd takes it")
			}
			return nil
		}}
		s := r.sweeper(&box)
		for range failures {
			if n, err := s.Sweep(r.Context()); n != 0 || err == nil {
				r.Errorf("published %d, error %v", n, err)
			}
		}
		due, err := r.store.Sweep(r.Context(), "payouts", 100)
		r.must(err)
		if want := 50 - 8 - (failures - 1); len(due) != want { // the first sweep took all that may stand in the queue
			r.Errorf("%d are due still, want %d", len(due), want)
		}
	})
}

// Its messages died with nsqd: the sweeper fills the queue at once, not when the last due_at of those has passed.
func TestSweepForgetsWhatWasLost(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		for i := range 50 {
			r.create(fmt.Sprintf("pi_%02d", i))
		}
		pass(intents.Grace + time.Second)
		var box outbox
		s := r.sweeper(&box)
		r.sweeps(s, 8)
		r.sweeps(s, 0)
		s.Forget()
		r.sweeps(s, 8)
		r.sweeps(s, 0)
	})
}

// A store that is away for a moment is no reason to forget what stands in the queue.
func TestSweepRemembersThroughAnOutage(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		for i := range 50 {
			r.create(fmt.Sprintf("pi_%d", i))
		}
		pass(intents.Grace + time.Second)
		var box outbox
		s := r.sweeper(&box)
		r.sweeps(s, 8)
		r.faults.on("lead", down)
		if _, err := s.Sweep(r.Context()); !errors.Is(err, intents.ErrUnavailable) {
			r.Errorf("error %v", err)
		}
		r.sweeps(s, 0)
	})
}

func TestSweepPublishesNothingOfAPausedRoute(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.must(r.store.SetPaused(r.Context(), "payouts", true, "tester"))
		r.finished(r.deliver(ref("pi_1"))) // parked
		var box outbox
		s := r.sweeper(&box)
		pass(time.Hour)
		r.sweeps(s, 0)
		r.must(r.store.SetPaused(r.Context(), "payouts", false, "tester"))
		r.sweeps(s, 1)
	})
}

func TestSweepSurvivesAPanic(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("sweep", blown)
		var box outbox
		ctx, stop := context.WithTimeout(r.Context(), 2*time.Minute-time.Second)
		defer stop()
		r.sweeper(&box).Run(ctx)
		if box.sent() != 1 {
			r.Errorf("published %d, want 1", box.sent())
		}
	})
}
