package relayer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// queue is NSQ as far as the engine can tell: at least once, and again after a minute if nobody answers.
type queue struct{ bodies chan []byte }

func newQueue() *queue { return &queue{make(chan []byte, 10_000)} }

func (q *queue) Publish(_ context.Context, _ string, body []byte) error {
	q.bodies <- body
	return nil
}

func (q *queue) later(d time.Duration, body []byte) {
	time.AfterFunc(d, func() { q.bodies <- body })
}

// run is one whole process: consumer, sweeper and observer, until stop.
func (r *rig) run(q *queue) (stop func()) {
	ctx, cancel := context.WithCancel(r.work)
	var loops sync.WaitGroup
	for range r.cfg.Concurrency {
		loops.Go(func() { r.consume(ctx, q) })
	}
	loops.Go(func() { r.sweeper(q).Run(ctx) })
	loops.Go(func() { r.observer().Run(ctx) })
	return func() { r.drain(); cancel(); loops.Wait() }
}

func (r *rig) consume(ctx context.Context, q *queue) {
	for {
		select {
		case <-ctx.Done():
			return
		case body := <-q.bodies:
			d := <-r.start(body) // zero when the worker was killed: nobody answers
			if delay, ok := d.Requeued(); ok {
				q.later(delay, body)
			} else if !d.Finished() {
				q.later(time.Minute, body)
			}
		}
	}
}

// until runs time on until an intent needs nobody any more.
func (r *rig) until(id string, most time.Duration) intents.Intent {
	r.Helper()
	for start := time.Now(); time.Since(start) < most; pass(5 * time.Second) {
		in, err := r.store.Get(r.Context(), id)
		if err == nil && (in.State.Final() || in.State == intents.NeedsReview) {
			return in
		}
	}
	r.Fatalf("after %s: %s", most, r.story(id))
	return intents.Intent{}
}

// killPoint is where a process dies; before says how far the intent's effect had come.
type killPoint struct {
	name   string
	kill   func(r *rig, body []byte)
	row    bool // stored
	bytes  bool // stored: they may have left
	effect bool
	heard  bool // and the answer is written
}

func (p killPoint) String() string { return p.name }

// in kills the process in a call of the store.
func in(method string, f fault, answers ...answer) func(r *rig, body []byte) {
	return func(r *rig, body []byte) {
		r.Helper()
		r.sender.says(append(answers, happened)...)
		r.faults.on(method, f)
		r.killed(body)
	}
}

func killPoints() []killPoint {
	sending := func(a answer) func(r *rig, body []byte) {
		return func(r *rig, body []byte) { r.Helper(); r.sender.says(a); r.killed(body) }
	}
	return []killPoint{
		{"K1 delivered, before the insert", in("take", dies), false, false, false, false},
		{"K2 inserted, before the claim", in("take", diesAfter), true, false, false, false},
		{"K3 permit held, before the claim", in("claim", dies), true, false, false, false},
		{"K4 claimed", in("claim", diesAfter), true, true, false, false},
		{"K4 claimed, about to send", sending(killedBefore), true, true, false, false},
		{"K5 bytes left, no reply yet", sending(killedAfter), true, true, true, false},
		{"K6 reply read, not recorded", in("complete", dies, accepted), true, true, true, false},
		{"K7 accepted and recorded", in("complete", diesAfter, accepted), true, true, true, true},
		{"K8 seen, not recorded", killObserver, true, true, true, true},
		{"K9 done and recorded, before FIN", in("complete", diesAfter, happened), true, true, true, true},
		{"K10 after FIN", func(r *rig, body []byte) { r.sender.says(happened); r.finished(r.deliver(body)) }, true, true, true, true},
	}
}

// killObserver has the payment accepted, and the process die when it would record what it saw.
func killObserver(r *rig, body []byte) {
	r.Helper()
	r.finished(r.deliver(body))
	pass(2 * time.Second)
	r.faults.on("record", dies)
	r.begun.Go(func() {
		_, _ = r.observer().Observe(r.Context())
		r.Error("the observer lives")
	})
	r.begun.Wait()
}

// Case 83: SIGKILL at every point, for every kind of slot, with the message delivered again and without.
func TestKillAtEveryPointCase83(t *testing.T) {
	for name, plan := range map[string]intents.Plan{"idempotent key": keyed(), "counter": counted(), "key with lookup": lookedUp(), "key without": blind()} {
		for _, point := range killPoints() {
			for _, again := range []bool{true, false} {
				if !point.row && !again {
					continue // the producer's loss: nobody ever knew of it
				}
				t.Run(fmt.Sprintf("%s/%s/delivered again=%t", name, point, again), func(t *testing.T) {
					t.Parallel()
					bubble(t, plan, func(r *rig) { r.survives(point, again) }, config(func(c *relayer.Config) { c.SweepEvery, c.ObserveEvery = time.Second, 2*time.Second }))
				})
			}
		}
	}
}

// survives kills one process, and has two others go on.
func (r *rig) survives(point killPoint, again bool) {
	r.world.naive = r.sender.plan.Again == intents.Never
	body := r.full(r.content("pi_1"))
	point.kill(r, body)
	q := newQueue()
	if again {
		q.later(time.Minute, body)
	}
	for _, owner := range []string{"w2", "w3"} {
		other := r.twin(owner)
		other.sender.says(happened)
		defer other.run(q)()
	}
	got := r.until("pi_1", 2*time.Hour)
	want, happened := r.outcome(point)
	if got.State != want {
		r.Errorf("it is %s (%s), want %s: %s", got.State, got.Reason, want, r.story("pi_1"))
	}
	if happened {
		r.effects("pi_1")
	} else {
		r.effects()
	}
	pass(5 * time.Minute) // whatever is still on its way changes nothing
	if later := r.get("pi_1"); later.Version != got.Version {
		r.Errorf("it moved on: %s", r.story("pi_1"))
	}
}

// outcome is what must become of an intent whose worker died: done once, or left to a person where nobody can know.
func (r *rig) outcome(p killPoint) (state intents.State, happened bool) {
	plan := r.sender.plan
	switch {
	case plan.Again == intents.Always || !p.bytes:
		return intents.Settled, true
	case p.effect && plan.Seen:
		return intents.Settled, true
	case p.heard && r.get("pi_1").State == intents.Settled:
		return intents.Settled, true
	}
	return intents.NeedsReview, p.effect
}

// A number claimed without bytes, and bytes stored but not sent: only counter slots have these.
func TestKillCounterSlotBetweenClaimAndSendCase83(t *testing.T) {
	for name, kill := range map[string]func(r *rig, body []byte){
		"in prepare": func(r *rig, body []byte) {
			r.sender.onPrepare = func(ctx context.Context, _ intents.Kind) error { return dies(ctx, nil) }
			r.killed(body)
		},
		"before attach": in("attach", dies),
		"after attach":  in("attach", diesAfter),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, counted(), func(r *rig) {
				r.survives(killPoint{kill: kill, row: true}, false)
				if in := r.get("pi_1"); in.Slot.Number != 7 {
					r.Errorf("it used number %d, want the one claimed first", in.Slot.Number)
				}
			}, config(func(c *relayer.Config) { c.SweepEvery, c.ObserveEvery = time.Second, 2*time.Second }))
		})
	}
}

// Case 27: nsqd crashes and loses every message. The row alone is enough.
func TestKillQueueTheRowAloneIsEnoughCase27(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		var ids []string
		for i := range 20 {
			ids = append(ids, fmt.Sprintf("pi_%d", i))
			r.faults.on("take", diesAfter)
			r.killed(r.full(r.content(ids[i])))
		}
		defer r.run(newQueue())()
		for _, id := range ids {
			r.until(id, 10*time.Minute)
			r.stands(id, intents.Settled, 5, "")
		}
		r.effects(ids...)
	})
}

// An outside that loses every second answer, a store that stumbles, two processes: every payment happens once.
func TestKillNothingManyFaults(t *testing.T) {
	for name, plan := range map[string]intents.Plan{"key": keyed(), "counter": counted()} {
		t.Run(name, func(t *testing.T) {
			bubble(t, plan, func(r *rig) {
				q := newQueue()
				var ids []string
				for i := range 12 {
					ids = append(ids, fmt.Sprintf("pi_%d", i))
					q.bodies <- r.full(r.content(ids[i]))
					q.bodies <- r.full(r.content(ids[i]))
				}
				other := r.twin("w2")
				// Four claims end without a word, one too few for a review even if one intent has them all.
				r.sender.says(unheard, accepted, panics, silence, notSent, declined, unheard, hangs, accepted)
				other.sender.says(silence, unheard, hangs, notSent, declined, accepted)
				r.faults.on("attach", plainly, lost)
				for _, p := range []*rig{r, other} {
					p.faults.on("claim", plainly, lost, down, plainly, down)
					for range 5 {
						p.faults.on("complete", lost, down, spoilt, plainly)
						p.faults.on("take", plainly, down, plainly, plainly, plainly)
					}
					defer p.run(q)()
				}
				for _, id := range ids {
					in := r.until(id, 2*time.Hour)
					if in.State == intents.Failed && in.Reason == intents.ReasonDeclined && len(r.world.bytes(id)) == 0 {
						continue // the first call ever made was declined
					}
					if in.State != intents.Settled {
						r.Errorf("%s is %s (%s): %s", id, in.State, in.Reason, r.story(id))
					}
				}
			}, config(func(c *relayer.Config) { c.SweepEvery, c.ObserveEvery = time.Second, 2*time.Second }))
		})
	}
}
