package relayer_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/nsqrelayer/relayer/relayer"
)

// few has two calls refused, which slows nothing; one more does.
func few(t *testing.T, th *relayer.Throttle) {
	t.Helper()
	for range 2 {
		p, err := th.Acquire(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		p.Report(true)
		if perSecond, slowed := p.Calm(time.Millisecond); slowed {
			t.Errorf("slowed to %v by a few refusals", perSecond)
		}
		p.Done()
		time.Sleep(time.Millisecond)
	}
}

// A provider that refuses one call in a hundred whatever the rate is called nearly as often as without a word of it: of
// that, slower is no cure.
func TestThrottleRandomRefusals(t *testing.T) {
	for name, perSecond := range map[string]rate.Limit{"limited": 20, "unlimited": relayer.Unlimited} {
		synctest.Test(t, func(t *testing.T) {
			th := newThrottle(relayer.ThrottleConfig{PerSecond: perSecond, Burst: 1, InFlight: 1})
			start, calls := time.Now(), 0
			for ; time.Since(start) < 10*time.Minute; calls++ {
				p, err := th.Acquire(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(50 * time.Millisecond)
				p.Report(true)
				if calls%100 == 99 {
					p.Calm(time.Second)
				}
				p.Done()
			}
			if least := 600 * 20 * 3 / 4; calls < least { // pauses alone take a sixth
				t.Errorf("%s: %d calls in ten minutes, want %d or more", name, calls, least)
			}
			if n := th.State().Cuts; n != 0 {
				t.Errorf("%s: %d cuts", name, n)
			}
		})
	}
}

// Refusals halve the rate, and cost little after a minute, nothing after MaxSlow.
func TestThrottleRefusalsAreSoonForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 100, Burst: 10, ReadShare: 0.2})
		few(t, th)
		p := acquire(t, th, 0)
		if perSecond, slowed := p.Calm(30 * time.Second); perSecond != 40 || !slowed {
			t.Errorf("slowed to %v (%v), want 40", perSecond, slowed)
		}
		done(p)
		for at, want := range []rate.Limit{0, 40, 80, 80} { // by minutes and the pause
			if at == 0 {
				continue
			}
			time.Sleep([]time.Duration{0, 30 * time.Second, time.Minute, 4 * time.Minute}[at])
			s := th.State()
			if math.Abs(float64(s.PerSecond-want)) > 1e-6 || math.Abs(float64(s.ReadsPerSecond-want/4)) > 1e-6 {
				t.Errorf("look %d: %v sends and %v reads a second, want %v and %v", at, s.PerSecond, s.ReadsPerSecond, want, want/4)
			}
			if s.FullAt.IsZero() != (at == 3) || s.Cuts != 1 {
				t.Errorf("look %d: full at %v after %d cuts", at, s.FullAt, s.Cuts)
			}
		}
		for range 10 { // the whole burst
			acquire(t, th, 0)
		}
	})
}

// Sixteen calls on their way that are all refused are one refusal, however late they hear of it.
func TestThrottleCallsOnTheirWayAreOneRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 100, Burst: 18, ReadShare: 0.5})
		few(t, th)
		var out []*relayer.Permit
		for range 16 {
			out = append(out, acquire(t, th, 0))
		}
		read, err := th.AcquireRead(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		for i, p := range append(out, read) {
			if _, slowed := p.Calm(time.Second); slowed != (i == 0) {
				t.Errorf("refusal %d: slowed = %v", i, slowed)
			}
			if i == 8 { // the others take their time
				time.Sleep(3 * time.Second)
				done(acquire(t, th, 0))
			}
		}
		for n := range 2 {
			p, err := th.Acquire(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			done(p)
			if _, slowed := th.Calm(time.Millisecond); slowed != (n == 1) { // of a call without a permit, after one more passed
				t.Errorf("refusal %d after the cut: slowed %t", n+1, slowed)
			}
		}
		if _, slowed := th.Calm(time.Second); slowed {
			t.Error("a refusal without a permit in between slowed again")
		}
		if n := th.State().Cuts; n != 2 {
			t.Errorf("%d cuts, want 2", n)
		}
	})
}

// What lay in the bucket, and what would have come in during the pause, is gone after it.
func TestThrottleNoBurstAfterThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 10, Burst: 100})
		few(t, th)
		p := acquire(t, th, 0)
		p.Calm(time.Minute)
		if wait := th.Predict(time.Now()); wait != time.Minute {
			t.Errorf("predicted %v for the first, want the pause", wait)
		}
		l, wg := line(t.Context(), th, 11, done)
		if wait, want := th.Predict(time.Now()), time.Minute+11*200*time.Millisecond; wait < want-time.Second || wait > want {
			t.Errorf("predicted %v for the twelfth, want %v", wait, want)
		}
		wg.Wait()
		if l.at[0] != time.Minute || l.at[10]-l.at[0] < 1500*time.Millisecond || l.at[10]-l.at[0] > 2*time.Second {
			t.Errorf("passed at %v; want one when the pause is over and the others at 5 a second and a little more", l.at)
		}
		time.Sleep(30 * time.Second)
		passed := 0 // a part of the burst lies there again
		for ; th.Predict(time.Now()) == 0; passed++ {
			done(acquire(t, th, 0))
		}
		if passed < 90 || passed >= 100 {
			t.Errorf("%d passed at once half a minute later, want what the share leaves of 100", passed)
		}
	})
}

// A pause that was on before the refusal is no quiet, and nobody need stand in line when it ends: the bucket fills from
// then on.
func TestThrottleRefusedDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 10, Burst: 10})
		few(t, th)
		p := acquire(t, th, 0)
		th.Shut(time.Minute)
		p.Calm(time.Second)
		done(p)
		time.Sleep(time.Minute)
		if s := th.State(); s.PerSecond != 5 {
			t.Errorf("%v a second after the pause, want 5", s.PerSecond)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 1, Burst: 1})
		few(t, th)
		time.Sleep(time.Second)
		p := acquire(t, th, 0)
		time.Sleep(500 * time.Millisecond)
		p.Calm(time.Minute)
		done(p)
		time.Sleep(time.Minute)
		if wait := th.Predict(time.Now()); wait != time.Second { // half a token lies there
			t.Errorf("predicted %v when the pause is over, want 1s", wait)
		}
		time.Sleep(800 * time.Millisecond)
		if wait := th.Predict(time.Now()); wait == 0 || wait > 200*time.Millisecond {
			t.Errorf("predicted %v 800ms later, want 200ms or a little less", wait)
		}
		acquire(t, th, th.Predict(time.Now()))
	})
}

// However often it is refused, a route sends every ten seconds, the heaviest too.
func TestThrottleIsNeverStarved(t *testing.T) {
	for _, weight := range []int{1, 40} {
		synctest.Test(t, func(t *testing.T) {
			th := newThrottle(relayer.ThrottleConfig{PerSecond: 100, Burst: 50, ReadShare: 0.2})
			for range 30 {
				p, err := th.Acquire(t.Context(), weight)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond)
				p.Report(true)
				p.Calm(time.Millisecond)
				p.Done()
			}
			start := time.Now()
			if wait := th.Predict(start); wait > 10*time.Second {
				t.Errorf("predicted %v", wait)
			}
			p, err := th.Acquire(t.Context(), weight)
			if waited := time.Since(start); err != nil || waited > 9*time.Second || waited < 5*time.Second { // the rate rises meanwhile
				t.Errorf("weight %d waited %v (%v), want less than 10s", weight, waited, err)
			}
			done(p)
			if r := th.State().ReadsPerSecond; r <= 0 {
				t.Errorf("%v reads a second", r)
			}
		})
	}
}

// A rate of one in 30 s is slower than any refusal makes it.
func TestThrottleSlowRateStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: rate.Every(30 * time.Second), Burst: 1})
		for n := range 3 {
			p := acquire(t, th, []time.Duration{0, time.Minute, time.Minute}[n]) // the pause
			if perSecond, slowed := p.Calm(time.Minute); slowed || perSecond != rate.Every(30*time.Second) {
				t.Errorf("slowed to %v (%v)", perSecond, slowed)
			}
			done(p)
		}
		time.Sleep(time.Minute)
		acquire(t, th, 30*time.Second) // the pause is no time to save up, once refusals are many
	})
}

// An unlimited throttle halves what it granted lately, and weights of any size still pass.
func TestThrottleUnlimitedLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{})
		for range 300 {
			time.Sleep(50 * time.Millisecond)
			send(t, th, true, 0)
		}
		p := acquireN(t, th, 500, 0)
		time.Sleep(10 * time.Second)
		for range 300 {
			time.Sleep(50 * time.Millisecond)
			send(t, th, true, 0)
		}
		few(t, th)
		done(acquire(t, th, 0))
		if perSecond, slowed := th.Calm(time.Second); !slowed || perSecond != 250 { // 500 a second is least, see below
			t.Errorf("slowed to %v (%v), want half of the heaviest in a second", perSecond, slowed)
		}
		done(p)
		time.Sleep(time.Second)
		start := time.Now()
		if _, err := th.Acquire(t.Context(), 500); err != nil || time.Since(start) < 1500*time.Millisecond || time.Since(start) > 2*time.Second {
			t.Errorf("the heaviest waited %v (%v), want 2s or a little less", time.Since(start), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{})
		for n := range 400 {
			if n == 250 { // long enough ago to be forgotten, but not by who counts refusals
				few(t, th)
			}
			time.Sleep(50 * time.Millisecond)
			send(t, th, true, 0)
		}
		if perSecond, slowed := th.Calm(time.Second); !slowed || perSecond < 10 || perSecond > 10.5 {
			t.Errorf("20 a second became %v (%v), want 10", perSecond, slowed)
		}
		if r := th.State().ReadsPerSecond; r != 0.5 {
			t.Errorf("%v reads a second where there were none, want half of one", r)
		}
	})
}

// What is known already shuts and does not slow, and quiet goes on being counted.
func TestThrottleShutDoesNotSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 100, Burst: 2})
		few(t, th)
		time.Sleep(20 * time.Millisecond)
		p := acquire(t, th, 0)
		p.Shut(time.Second)
		if s := th.State(); s.PerSecond != 100 || s.Cuts != 0 {
			t.Errorf("slowed: %+v", s)
		}
		p.Calm(2 * time.Second)
		time.Sleep(32 * time.Second)
		before := th.State()
		p.Shut(time.Second)
		p.Calm(2 * time.Second)
		time.Sleep(2 * time.Second)
		if s := th.State(); s.PerSecond != before.PerSecond || s.PerSecond < 90 || !s.FullAt.Equal(before.FullAt.Add(2*time.Second)) {
			t.Errorf("%v a second and full at %v, before the pause %v and %v", s.PerSecond, s.FullAt, before.PerSecond, before.FullAt)
		}
		done(p)
		time.Sleep(time.Hour)
		th.Shut(time.Second)
		if s := th.State(); s.PerSecond != 100 {
			t.Errorf("%v a second an hour later", s.PerSecond)
		}
	})
}
