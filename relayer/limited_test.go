package relayer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
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
