package relayer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

func expires(d time.Duration) func(*intents.Intent) {
	return func(in *intents.Intent) { in.ExpiresAt = time.Now().Add(d) }
}

func notBefore(d time.Duration) func(*intents.Intent) {
	return func(in *intents.Intent) { in.NotBefore = time.Now().Add(d) }
}

func lane(name string) func(*intents.Intent) { return func(in *intents.Intent) { in.Lane = name } }

func TestRowAuthorizedExpired(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1", expires(time.Minute))
		pass(time.Minute)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Failed, 3, intents.ReasonExpired)
		r.tells("pi_1", "created authorized failed")
		r.wire(0)
		r.counts(relayer.Stats{})
	})
}

// The claim itself looks at the expiry: between read and claim it may pass.
func TestRowAuthorizedExpiresBeforeTheClaim(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1", expires(time.Second))
		r.faults.on("claim", first(func() { pass(time.Second) }))
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Failed, 3, intents.ReasonExpired)
		r.wire(0)
		r.holds(0)
	})
}

// Case 15: a backlog replayed after an outage executes stale orders; no expiry is not "expired". Case 14: the store's
// clock decides.
func TestRowAuthorizedExpiredCase15(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		var fresh []string
		bodies := [][]byte{}
		for i := range 100 {
			bodies = append(bodies, r.full(r.content(fmt.Sprintf("old_%d", i), expires(time.Minute))))
		}
		for i := range 5 {
			fresh = append(fresh, fmt.Sprintf("pi_%d", i))
			bodies = append(bodies, r.full(r.content(fresh[i])))
		}
		pass(2 * time.Minute)
		for _, b := range bodies {
			r.finished(r.deliver(b))
		}
		for i := range 100 {
			r.stands(fmt.Sprintf("old_%d", i), intents.Failed, 3, intents.ReasonExpired)
		}
		r.wire(5, fresh...)
	})
}

// Case 15: expiry once bytes have left changes nothing.
func TestRowExpiryAfterTheBytesLeftCase15(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1", expires(time.Minute))
		r.sender.says(unheard, accepted)
		r.finished(r.deliver(ref("pi_1")))
		pass(2 * time.Minute)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Confirming, 6, "")
		r.wire(2, "pi_1")
	})
}

func TestRowPlanRefusesForGood(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPlan = func(context.Context, intents.Intent) (intents.Plan, error) {
			return intents.Plan{}, fmt.Errorf("plan: %w", &intents.RefusedError{Why: "a contract without a door"})
		}
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Failed, 3, intents.ReasonRefused)
		if got := r.lastDetail("pi_1"); got != `{"error":"refused: a contract without a door","step":"plan"}` {
			r.Errorf("detail: %s", got)
		}
		r.wire(0)
	})
}

// refused by Prepare before the claim of a key slot: nothing was written yet.
func TestRowPrepareRefusesBeforeTheClaim(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPrepare = func(context.Context, intents.Kind) error { return &intents.RefusedError{Why: "too long"} }
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Failed, 3, intents.ReasonRefused)
		r.wire(0)
	})
}

func TestRowAuthorizedNotDue(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		in := r.create("pi_1", notBefore(time.Hour))
		if !in.TryAt.Equal(in.NotBefore) || !in.DueAt.Equal(in.NotBefore) {
			r.Errorf("try %s, due %s, want both at %s", in.TryAt, in.DueAt, in.NotBefore)
		}
		r.finished(r.deliver(ref("pi_1")))
		if n := r.faults.count("park"); n != 0 { // the row says it already
			r.Errorf("%d writes of what the row says already", n)
		}
		if got := r.get("pi_1"); !got.DueAt.Equal(in.NotBefore) {
			r.Errorf("due %s, want %s", got.DueAt, in.NotBefore)
		}
		r.wire(0)
		pass(time.Hour + time.Millisecond)
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1, "pi_1")
	})
}

// Case 28: a restart of nsqd releases every deferred message at once. Case 37: a REQ delay is cut short. The row decides.
func TestRowAuthorizedNotDueComesEarlyCases28And37(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		for i := range 50 {
			r.create(fmt.Sprintf("pi_%d", i), notBefore(10*time.Minute))
		}
		for range 3 {
			for i := range 50 {
				r.finished(r.deliver(ref(fmt.Sprintf("pi_%d", i))))
			}
			pass(time.Minute)
		}
		r.wire(0)
		if claims, parks := r.faults.count("claim"), r.faults.count("park"); claims != 0 || parks != 0 {
			r.Errorf("%d claims asked, %d times parked", claims, parks)
		}
	})
}

func TestRowAuthorizedNotDueOnlyWhenClaimed(t *testing.T) { // read a moment too early, or by a clock that is ahead
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1", notBefore(time.Minute))
		r.faults.show = func(in *intents.Intent) { in.TryAt = time.Time{} }
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Authorized, 2, "")
		r.near("due", in.DueAt, time.Minute)
		r.wire(0)
		r.holds(0)
	})
}

// Case 31: a pause is not shared with restarted or new nsqds. Ours is a switch in the store.
func TestRowAuthorizedPausedCase31(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.must(r.store.SetPaused(r.Context(), "payouts", true, "tester"))
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Authorized, 2, "")
		r.wire(0)
		if in := r.get("pi_1"); in.DueAt.After(time.Now().Add(time.Second)) {
			r.Errorf("not due once the pause is over: %s", in.DueAt)
		}
		r.must(r.store.SetPaused(r.Context(), "payouts", false, "tester"))
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1, "pi_1")
	})
}

// Case 31: the switch is turned between read and claim.
func TestRowPausedBeforeTheClaimCase31(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("claim", first(func() { r.must(r.store.SetPaused(r.Context(), "payouts", true, "tester")) }))
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Authorized, 2, "")
		r.wire(0)
		r.holds(0)
	})
}

func TestRowNotFirstInItsLane(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1", lane("l"))
		r.create("pi_2", lane("l"))
		r.finished(r.deliver(ref("pi_2")))
		in := r.stands("pi_2", intents.Authorized, 2, "")
		r.near("due", in.DueAt, 5*time.Second)
		r.wire(0)
		r.sender.says(happened)
		r.finished(r.deliver(ref("pi_1")))
		r.finished(r.deliver(ref("pi_2")))
		r.wire(2, "pi_1", "pi_2")
	})
}

func TestRowPlanSaysNotNow(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPlan = func(context.Context, intents.Intent) (intents.Plan, error) {
			return intents.Plan{}, errors.New("the node syncs")
		}
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Authorized, 2, "")
		r.near("due", in.DueAt, 10*time.Second)
		r.wire(0)
		r.counts(relayer.Stats{})
	})
}

func TestRowPlanTakesTooLong(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPlan = func(ctx context.Context, _ intents.Intent) (intents.Plan, error) {
			<-ctx.Done()
			return intents.Plan{}, ctx.Err()
		}
		start := time.Now()
		r.finished(r.deliver(ref("pi_1")))
		if took := time.Since(start); took != relayer.DefaultStepTimeout {
			r.Errorf("took %s", took)
		}
		in := r.stands("pi_1", intents.Authorized, 2, "")
		r.near("due", in.DueAt, 10*time.Second)
	})
}

func TestRowPrepareSaysNotNowBeforeTheClaim(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPrepare = func(context.Context, intents.Kind) error { return errors.New("signer away") }
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Authorized, 2, "")
		r.near("due", in.DueAt, 10*time.Second)
		r.wire(0)
	})
}

func TestRowParkMeetsAMovedRow(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.must(r.store.SetPaused(r.Context(), "payouts", true, "tester"))
		r.faults.on("park", first(func() { _, err := r.store.Cancel(r.Context(), "pi_1", "tester"); r.must(err) }))
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Canceled, 3, intents.ReasonOperator)
		if takes, parks := r.faults.count("take"), r.faults.count("park"); takes != 2 || parks != 1 {
			r.Errorf("read %d times and parked %d times, want 2 and 1", takes, parks)
		}
	})
}

// slow is one send in so long, the first at once.
func slow(every time.Duration) option {
	return throttled(relayer.ThrottleConfig{PerSecond: rate.Every(every), Burst: 1, InFlight: 8})
}

// Cases 54 and 61: a throttle's wait outlives the deadline, or the lease. It is told before anybody waits.
func TestRowNoPermitWithinTheLeaseCases54And61(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.create("pi_2")
		r.finished(r.deliver(ref("pi_1"))) // the one token of two minutes
		start := time.Now()
		d := r.deliver(ref("pi_2"))
		if time.Since(start) != 0 {
			r.Errorf("waited %s for what cannot come", time.Since(start))
		}
		r.requeued(d, 2*time.Minute)
		r.stands("pi_2", intents.Authorized, 2, "")
		r.tells("pi_2", "created authorized")
		r.holds(100) // of pi_1
		delay, _ := d.Requeued()
		pass(delay)
		r.finished(r.deliver(ref("pi_2")))
		r.wire(2, "pi_1", "pi_2")
	}, slow(2*time.Minute))
}

// Case 61: what looked short enough was not: the wait ends with the lease, nothing is written, the REQ has a floor (23).
func TestRowNoPermitWhenTheLeaseEndsCase23(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.create("pi_2")
		r.sender.says(after(9*time.Second, accepted))
		begun := r.start(ref("pi_1")) // takes the only place
		pass(time.Millisecond)
		d := r.delivery(ref("pi_2"))
		d.Until = time.Now().Add(4 * time.Second)
		start := time.Now()
		out := r.handle(d)
		if waited := time.Since(start); waited != 3*time.Second {
			r.Errorf("waited %s, want a second less than the lease", waited)
		}
		r.requeued(out, time.Second)
		r.stands("pi_2", intents.Authorized, 2, "")
		r.finished(<-begun)
		r.wire(1, "pi_1")
	}, throttled(relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 1}))
}

// Case 23: attempts climb while merely waiting. Whatever the reason, no REQ comes back within a second.
func TestRowRequeueFloorsCase23(t *testing.T) {
	for name, tt := range map[string]struct {
		plan intents.Plan
		opt  option
		make func(r *rig)
	}{
		"no token":      {keyed(), slow(100 * time.Millisecond), func(r *rig) { r.throttle.Calm(time.Minute + time.Millisecond) }},
		"no slot":       {counted(), func(*rig) {}, func(r *rig) { r.openSigner(7, 0) }}, // the window is full
		"always moving": {keyed(), func(*rig) {}, func(r *rig) { r.faults.on("claim", times(9, moved)...) }},
		"outage":        {keyed(), func(*rig) {}, func(r *rig) { r.faults.on("take", down) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.plan, func(r *rig) {
				r.create("pi_1")
				tt.make(r)
				d := r.deliver(ref("pi_1"))
				if delay, ok := d.Requeued(); !ok || delay < time.Second {
					r.Errorf("got %s, want a REQ of a second or more", d)
				}
				r.stands("pi_1", intents.Authorized, 2, "")
				r.wire(0)
			}, tt.opt)
		})
	}
}

// Case 62: abandoned waiters still hold their place.
func TestRowNoPermitAbandonedWaitersCase62(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		for i := range 40 {
			r.create(fmt.Sprintf("pi_%d", i))
		}
		var outs []<-chan relayer.Disposition
		for i := range 40 {
			outs = append(outs, r.start(ref(fmt.Sprintf("pi_%d", i))))
		}
		pass(time.Second + time.Millisecond) // two have passed: one at once, one after a second
		r.drain()
		gone := 0
		for _, out := range outs {
			if d := <-out; d == relayer.Requeue(0) {
				gone++
			}
		}
		if gone != 38 || r.sender.submits() != 2 {
			r.Errorf("%d gave up and %d were sent, want 38 and 2", gone, r.sender.submits())
		}
		start := time.Now()
		p, err := r.throttle.Acquire(r.Context(), 1)
		r.must(err)
		p.Return()
		if waited := time.Since(start); waited > 2*time.Second {
			r.Errorf("the next one waited %s", waited)
		}
	}, slow(time.Second))
}

func TestRowNoFreeSlotWithinTheLease(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.openSigner(7, 1)
		r.create("pi_1")
		r.create("pi_2")
		r.finished(r.deliver(ref("pi_1")))
		r.requeued(r.deliver(ref("pi_2")), time.Second)
		r.stands("pi_2", intents.Authorized, 2, "")
		r.wire(1, "pi_1")
		r.counts(relayer.Stats{Sent: 1})
	})
}

func TestRowSignerIsNotOpen(t *testing.T) {
	plan := counted()
	plan.Scope = "nobody"
	bubble(t, plan, func(r *rig) {
		r.create("pi_1")
		r.requeued(r.deliver(ref("pi_1")), 5*time.Second)
		r.stands("pi_1", intents.Authorized, 2, "")
		r.wire(0)
	})
}

// A weight that can never pass is no wait. Case 60's rest: it must not come back every second.
func TestRowPlanHeavierThanTheBurst(t *testing.T) {
	plan := keyed()
	plan.Weight = 5
	bubble(t, plan, func(r *rig) {
		r.create("pi_1")
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Authorized, 2, "")
		r.near("due", in.DueAt, 10*time.Second)
		r.wire(0)
	}, throttled(relayer.ThrottleConfig{PerSecond: 10, Burst: 2, InFlight: 8}))
}

func TestRowLeaseEndedBeforeTheClaim(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"at take": func(r *rig) { r.drain() },
		"after take": func(r *rig) {
			r.faults.show = func(*intents.Intent) { r.drain() }
		},
		"in plan": func(r *rig) {
			r.sender.onPlan = func(context.Context, intents.Intent) (intents.Plan, error) { r.drain(); return keyed(), nil }
		},
		"in plan, which notices": func(r *rig) {
			r.sender.onPlan = func(context.Context, intents.Intent) (intents.Plan, error) {
				r.drain()
				return intents.Plan{}, context.Canceled
			}
		},
		"in prepare, which notices": func(r *rig) {
			r.sender.onPrepare = func(ctx context.Context, _ intents.Kind) error {
				r.drain()
				<-ctx.Done()
				return ctx.Err()
			}
		},
		"in prepare": func(r *rig) {
			r.sender.onPrepare = func(context.Context, intents.Kind) error { r.drain(); return nil }
		},
		"at the throttle": func(r *rig) {
			r.throttle.Calm(30 * time.Second)
			time.AfterFunc(time.Second, r.drain)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, keyed(), func(r *rig) {
				before := r.create("pi_1")
				end(r)
				start := time.Now()
				d := r.deliver(ref("pi_1"))
				if took := time.Since(start); d != relayer.Requeue(0) || took > time.Second {
					r.Errorf("got %s after %s, want REQ 0 at once", d, took)
				}
				in := r.stands("pi_1", intents.Authorized, 2, "")
				if !in.DueAt.Equal(before.DueAt) || r.faults.count("claim") != 0 {
					r.Errorf("something was written: due %s, %d claims", in.DueAt, r.faults.count("claim"))
				}
				r.wire(0)
				r.counts(relayer.Stats{})
			})
		})
	}
}

func TestRowLeaseEndedBeforeTheTakeOver(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		before := r.crash("pi_1")
		pass(lapse)
		r.throttle.Calm(30 * time.Second)
		time.AfterFunc(time.Second, r.drain)
		if d := r.deliver(ref("pi_1")); d != relayer.Requeue(0) {
			r.Errorf("got %s, want REQ 0", d)
		}
		if in := r.stands("pi_1", intents.Settling, 3, ""); in.ClaimID != before.ClaimID {
			r.Error("it was taken over")
		}
		r.wire(0)
	})
}

// Case 61: one send in half a minute, and leases of a minute: nobody waits beyond its lease, everything is sent once.
func TestRowNoPermitManyWaitersCase61(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		q := newQueue()
		var ids []string
		for i := range 40 {
			ids = append(ids, fmt.Sprintf("pi_%d", i))
			q.bodies <- r.full(r.content(ids[i]))
		}
		start := time.Now()
		defer r.run(q)()
		for _, id := range ids {
			r.until(id, time.Hour)
			r.stands(id, intents.Settled, 5, "")
		}
		if took := time.Since(start); took < 39*30*time.Second {
			r.Errorf("40 at one in 30 s took %s", took)
		}
		r.wire(40, ids...)
	}, throttled(relayer.ThrottleConfig{PerSecond: rate.Every(27 * time.Second), Burst: 1, InFlight: 8, ReadShare: 0.1}))
}

// Many at once, over one throttle: each is sent once, in time, and the limit holds.
func TestRowPermitsAreShared(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		var ids []string
		var all sync.WaitGroup
		for i := range 20 {
			ids = append(ids, fmt.Sprintf("pi_%d", i))
			r.create(ids[i])
		}
		start := time.Now()
		for _, id := range ids {
			all.Go(func() { r.finished(r.deliver(ref(id))) })
		}
		all.Wait()
		if took := time.Since(start); took < 19*time.Second || took > 20*time.Second {
			r.Errorf("20 at one a second took %s", took)
		}
		r.wire(20, ids...)
	}, slow(time.Second))
}
