package relayer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

func limited(after time.Duration) error {
	return fmt.Errorf("the node: %w", &intents.LimitedError{After: after, Err: fmt.Errorf("HTTP 429")})
}

// Whoever plans and is told that there are too many calls slows the route down for everyone, and looks again when told
// (cases 56 and 58).
func TestRowPlanIsLimited(t *testing.T) {
	for after, due := range map[time.Duration]time.Duration{30 * time.Second: 30 * time.Second, time.Millisecond: time.Second} {
		bubble(t, keyed(), func(r *rig) {
			r.create("pi_1")
			r.sender.onPlan = func(context.Context, intents.Intent) (intents.Plan, error) {
				return intents.Plan{}, limited(after)
			}
			r.finished(r.deliver(ref("pi_1")))
			in := r.stands("pi_1", intents.Authorized, 2, "")
			r.near("due", in.DueAt, due)
			r.near("end of the calm", r.throttle.State().CalmUntil, after)
			r.wire(0)
		})
	}
}

func TestRowPrepareIsLimited(t *testing.T) {
	for name, plan := range map[string]intents.Plan{"before the claim": keyed(), "after it": counted()} {
		bubble(t, plan, func(r *rig) {
			r.create("pi_1")
			r.sender.onPrepare = func(context.Context, intents.Kind) error { return limited(20 * time.Second) }
			r.finished(r.deliver(ref("pi_1")))
			if until := time.Until(r.throttle.State().CalmUntil); until != 20*time.Second {
				r.Errorf("%s: calm for %v, want 20s", name, until)
			}
			r.wire(0)
		})
	}
}

func TestObserveIsLimited(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		o := r.observer()
		pass(5 * time.Second)
		r.sender.onObserve = func([]intents.Watch) ([]intents.Observation, error) { return nil, limited(20 * time.Second) }
		if _, err := o.Observe(r.Context()); err == nil {
			r.Error("no error")
		}
		r.near("end of the calm", r.throttle.State().CalmUntil, 20*time.Second)
		r.stands("pi_1", intents.Confirming, 4, "")
	})
}

// A refusal slows the route for everyone, once for all calls of one time, and the log tells how far.
func TestRowSubmitIsLimited(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sender.says(func(context.Context, *world, intents.Attempt) intents.Result {
			return intents.Result{Verdict: intents.NotSent, After: time.Minute, Calm: 30 * time.Second}
		})
		few(r.T, r.throttle)
		r.create("pi_1")
		r.finished(r.deliver(ref("pi_1")))
		if s := r.throttle.State(); s.PerSecond != 5 || s.Cuts != 1 {
			r.Errorf("%v a second after %d cuts, want 5 of 10", s.PerSecond, s.Cuts)
		}
		r.sender.onPlan = func(context.Context, intents.Intent) (intents.Plan, error) {
			return intents.Plan{}, limited(time.Minute)
		}
		r.create("pi_2")
		r.finished(r.deliver(ref("pi_2"))) // no permit has passed since
		r.near("end of the calm", r.throttle.State().CalmUntil, time.Minute)
		if n := r.throttle.State().Cuts; n != 1 || r.logs.lines("throttle slowed, too many calls") != 1 {
			r.Errorf("%d cuts, told %d times, want 1", n, r.logs.lines("throttle slowed, too many calls"))
		}
	}, throttled(relayer.ThrottleConfig{PerSecond: 10, Burst: 5}))
}

// What is left of an earlier refusal shuts the throttle and slows nothing.
func TestRowKnownLimitDoesNotSlow(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		for i, known := range []bool{true, false} {
			r.sender.onPlan = func(context.Context, intents.Intent) (intents.Plan, error) {
				return intents.Plan{}, &intents.LimitedError{After: time.Second, Known: known, Err: errors.New("HTTP 429")}
			}
			pass(15 * time.Second)
			few(r.T, r.throttle)
			done(acquire(r.T, r.throttle, 0))
			r.create(fmt.Sprintf("plan_%d", i))
			r.finished(r.deliver(ref(fmt.Sprintf("plan_%d", i))))
			r.near("end of the calm", r.throttle.State().CalmUntil, time.Second)
			if n := r.throttle.State().Cuts; n != i {
				r.Errorf("known %v: %d cuts", known, n)
			}
		}
		r.sender.onPlan = nil
		for i, known := range []bool{true, false} {
			pass(15 * time.Second)
			few(r.T, r.throttle)
			r.sender.says(func(context.Context, *world, intents.Attempt) intents.Result {
				return intents.Result{Verdict: intents.NotSent, Calm: time.Second, Known: known}
			})
			r.create(fmt.Sprintf("send_%d", i))
			r.finished(r.deliver(ref(fmt.Sprintf("send_%d", i))))
			if n := r.throttle.State().Cuts; n != 1+i {
				r.Errorf("known %v: %d cuts", known, n)
			}
		}
	}, throttled(relayer.ThrottleConfig{PerSecond: 10, Burst: 5, ReadShare: 0.2}))
}
