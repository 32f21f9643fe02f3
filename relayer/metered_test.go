package relayer_test

import (
	"context"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// metered is a route whose sender charges its reads itself; a send costs 40.
func metered(r *rig) {
	r.cfg.Metered, r.cfg.Weight = true, 40
	r.throttle = newThrottle(relayer.ThrottleConfig{PerSecond: 100, Burst: 40, ReadBurst: 10, ReadShare: 0.2})
}

// Looks take no permit where the sender charges its calls itself: nothing is charged twice.
func TestMeteredLookIsNotChargedTwice(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		o := r.observer()
		pass(5 * time.Second)
		looked := false
		r.sender.onObserve = func(ws []intents.Watch) ([]intents.Observation, error) {
			looked = true
			start := time.Now()
			if err := r.throttle.Spend(r.Context(), 10); err != nil || time.Since(start) != 0 {
				r.Errorf("the whole burst of reads took %v (%v)", time.Since(start), err)
			}
			return nil, nil
		}
		if _, err := o.Observe(r.Context()); err != nil || !looked {
			r.Errorf("looked %v: %v", looked, err)
		}
	}, metered)
}

// What the observer sends costs as much as any send, out of the share for reads and in parts that fit.
func TestMeteredResendCostsASend(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		o := r.observer()
		pass(5 * time.Second)
		r.sender.onObserve = func(ws []intents.Watch) ([]intents.Observation, error) {
			return []intents.Observation{{Slot: ws[0].Slot, No: 1, Resend: true}}, nil
		}
		start, at := time.Now(), time.Duration(-1)
		r.sender.says(func(context.Context, *world, intents.Attempt) intents.Result {
			at = time.Since(start)
			return intents.Result{}
		})
		if _, err := o.Observe(r.Context()); err != nil {
			r.Error(err)
		}
		if at != 1500*time.Millisecond { // 10 lay there, 30 at 20 a second
			r.Errorf("resent after %v, want 1.5s", at)
		}
	}, metered)
}

// A refusal of a look that had no permit slows the route.
func TestMeteredLookIsLimited(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		o := r.observer()
		pass(5 * time.Second)
		few(r.T, r.throttle)
		done(acquire(r.T, r.throttle, 0))
		r.sender.onObserve = func([]intents.Watch) ([]intents.Observation, error) { return nil, limited(20 * time.Second) }
		for range 2 {
			if _, err := o.Observe(r.Context()); err == nil {
				r.Error("no error")
			}
			pass(time.Second)
		}
		if s := r.throttle.State(); s.Cuts != 1 || s.PerSecond != 40 {
			r.Errorf("%d cuts to %v a second, want one to 40", s.Cuts, s.PerSecond)
		}
	}, metered)
}
