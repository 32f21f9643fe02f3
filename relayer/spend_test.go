package relayer_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/relayer"
)

// spend pays units and checks how long that took.
func spend(t *testing.T, th *relayer.Throttle, units int, want time.Duration) {
	t.Helper()
	start := time.Now()
	if err := th.Spend(t.Context(), units); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(start); waited != want {
		t.Errorf("%d units took %v, want %v", units, waited, want)
	}
}

func TestSpendPaysInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 100, Burst: 90, ReadBurst: 10, ReadShare: 0.2})
		spend(t, th, 0, 0)
		spend(t, th, -5, 0)
		spend(t, th, 10, 0)
		spend(t, th, 250, 12500*time.Millisecond)
		spend(t, th, 1, 50*time.Millisecond)
		if _, err := th.AcquireRead(t.Context(), 11); !isWeight(err, 10) {
			t.Errorf("a permit above the burst of reads: %v", err)
		}
		acquireN(t, th, 90, 0) // sends have a bucket of their own
	})
}

func isWeight(err error, burst int) bool {
	e, ok := errors.AsType[*relayer.WeightError](err)
	return ok && e.Burst == burst
}

func TestSpendUnlimitedIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spend(t, newThrottle(relayer.ThrottleConfig{}), 1<<40, 0)
	})
}

func TestSpendNeedsAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := newThrottle(relayer.ThrottleConfig{PerSecond: 10}).Spend(t.Context(), 1)
		if e, ok := errors.AsType[*relayer.ThrottleConfigError](err); !ok || e.Field != "read-share" {
			t.Errorf("error %v, want read-share", err)
		}
	})
}

// A cost in parts keeps its place until it is paid: two that come in between do not have it begin again.
func TestSpendKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 20, Burst: 10, ReadShare: 0.5})
		spend(t, th, 10, 0)
		start := time.Now()
		var at [3]time.Duration
		var wg sync.WaitGroup
		for i, units := range []int{45, 10, 10} {
			wg.Go(func() {
				if err := th.Spend(context.Background(), units); err != nil {
					t.Error(err)
				}
				at[i] = time.Since(start)
			})
			synctest.Wait()
		}
		wg.Wait()
		if want := [3]time.Duration{4500 * time.Millisecond, 5500 * time.Millisecond, 6500 * time.Millisecond}; at != want {
			t.Errorf("paid at %v, want %v", at, want)
		}
	})
}

// Who leaves has paid nothing: what was paid already is there for the next, as far as the bucket holds it.
func TestSpendLeaverPaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 20, Burst: 10, ReadShare: 0.5})
		spend(t, th, 10, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := th.Spend(ctx, 100); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want the deadline", err)
			}
		})
		synctest.Wait()
		start := time.Now()
		spend(t, th, 10, 2500*time.Millisecond) // with the 20 that the leaver had paid
		if time.Since(start) != 2500*time.Millisecond {
			t.Errorf("paid after %v", time.Since(start))
		}
		spend(t, th, 10, 0)
		spend(t, th, 10, time.Second) // the bucket holds no more
	})
}

// Case 60: a provider that counts 100 units a second, a burst of 300, sends of 250, receipts of 15. Sends and looks go on
// side by side, and in no second does the provider count more than the rate and one burst.
func TestSpendCase60(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 100, Burst: 250, ReadBurst: 50, ReadShare: 0.2})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var mu sync.Mutex
		var bill []charge
		note := func(units int) {
			mu.Lock()
			defer mu.Unlock()
			bill = append(bill, charge{time.Now(), units})
		}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for p, err := th.Acquire(ctx, 250); err == nil; p, err = th.Acquire(ctx, 250) {
					note(250)
					done(p)
				}
			})
		}
		for _, units := range []int{15, 60, 90} { // looks and plans, without end
			wg.Go(func() {
				for th.Spend(ctx, units) == nil {
					note(units)
				}
			})
		}
		wg.Wait()
		sends := slices.DeleteFunc(slices.Clone(bill), func(c charge) bool { return c.units != 250 })
		if n := len(sends); n < 190 || n > 193 {
			t.Errorf("%d sends in ten minutes, want 80 units a second", n)
		}
		if reads := sum(bill) - sum(sends); reads < 11800 || reads > 12050 {
			t.Errorf("%d units of reads in ten minutes, want 20 a second", reads)
		}
		if most := busiest(bill); most > 400 {
			t.Errorf("%d units in one second, want 400 at most", most)
		}
	})
}

// charge is what a provider counts at a moment.
type charge struct {
	at    time.Time
	units int
}

func sum(bill []charge) (units int) {
	for _, c := range bill {
		units += c.units
	}
	return units
}

// busiest is the most units of any second.
func busiest(bill []charge) (most int) {
	for i := range bill {
		units := 0
		for _, c := range bill[i:] {
			if c.at.Sub(bill[i].at) < time.Second {
				units += c.units
			}
		}
		most = max(most, units)
	}
	return most
}
