package relayer_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/relayer"
)

// provider takes so many calls in any second and refuses the others after the same 50 ms, for a second each.
type provider struct {
	mu      sync.Mutex
	limit   int         // 0: all it gets
	taken   []time.Time // in the last second
	calls   []time.Duration
	refused []time.Duration
	start   time.Time
}

func newProvider(limit int) *provider { return &provider{limit: limit, start: time.Now()} }

func (p *provider) call() (ok bool) {
	p.mu.Lock()
	now := time.Now()
	p.taken = slices.DeleteFunc(p.taken, func(at time.Time) bool { return now.Sub(at) >= time.Second })
	ok = p.limit == 0 || len(p.taken) < p.limit
	p.calls = append(p.calls, now.Sub(p.start))
	if ok {
		p.taken = append(p.taken, now)
	} else {
		p.refused = append(p.refused, now.Sub(p.start))
	}
	p.mu.Unlock()
	time.Sleep(50 * time.Millisecond)
	return ok
}

func (p *provider) become(limit int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = limit
}

// between counts moments.
func between(at []time.Duration, from, to time.Duration) (n int) {
	for _, d := range at {
		if from <= d && d < to {
			n++
		}
	}
	return n
}

// load has 16 workers send for d, as fast as they may.
func (p *provider) load(th *relayer.Throttle, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for {
				permit, err := th.Acquire(ctx, 1)
				if err != nil {
					return
				}
				ok := p.call()
				permit.Report(ok)
				if !ok {
					permit.Calm(time.Second)
				}
				permit.Done()
			}
		})
	}
	wg.Wait()
}

// A provider that takes a tenth of what is configured, or that nobody said anything about, is soon called about as often
// as it likes.
func TestThrottleLearnsWhatIsTaken(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  relayer.ThrottleConfig
		most int // calls refused
	}{
		"100/s":          {relayer.ThrottleConfig{PerSecond: 100, Burst: 1, InFlight: 16}, 80},
		"with a burst":   {relayer.ThrottleConfig{PerSecond: 100, Burst: 50, InFlight: 16}, 80},
		"1000/s":         {relayer.ThrottleConfig{PerSecond: 1000, Burst: 10, InFlight: 16}, 180},
		"and with reads": {relayer.ThrottleConfig{PerSecond: 100, Burst: 1, InFlight: 16, ReadShare: 0.2}, 80},
		"unlimited":      {relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 16}, 80},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, th := newProvider(10), newThrottle(tt.cfg)
				p.load(th, 10*time.Minute)
				if n := len(p.calls) - len(p.refused); n < 7*600 {
					t.Errorf("%d calls taken in ten minutes, want 0.7 of 6000", n)
				}
				t.Logf("%d calls, %d refused, %d in the first minute", len(p.calls), len(p.refused), between(p.refused, 0, time.Minute))
				if n := len(p.refused); n > tt.most {
					t.Errorf("%d calls refused in ten minutes, want %d at most", n, tt.most)
				}
				for m := time.Minute; m < 10*time.Minute; m += time.Minute {
					if n := between(p.calls, m, m+time.Minute); n < 60*7 || n > 60*10 {
						t.Errorf("%d calls in the minute after %v, want close to 600", n, m)
					}
					if n := between(p.refused, m, m+time.Minute); n > 6 {
						t.Errorf("%d refused in the minute after %v, want 6 at most", n, m)
					}
				}
			})
		})
	}
}

// When the limit goes away all of the rate is back within MaxSlow.
func TestThrottleComesBackWhenTheLimitGoes(t *testing.T) {
	for name, cfg := range map[string]relayer.ThrottleConfig{
		"limited":   {PerSecond: 100, Burst: 1, InFlight: 16},
		"unlimited": {PerSecond: relayer.Unlimited, InFlight: 16},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, th := newProvider(10), newThrottle(cfg)
				p.load(th, 5*time.Minute)
				p.become(0)
				p.load(th, relayer.MaxSlow+2*time.Second) // the last pause may have just begun
				if s := th.State(); s.PerSecond != cmp.Or(cfg.PerSecond, relayer.Unlimited) || !s.FullAt.IsZero() {
					t.Errorf("%v a second %v after the limit went, all of it at %v", s.PerSecond, relayer.MaxSlow, s.FullAt)
				}
				before := len(p.calls)
				p.load(th, 10*time.Second)
				if n := len(p.calls) - before; n < 990 {
					t.Errorf("%d calls in 10s, want 100 a second or more", n)
				}
			})
		})
	}
}

// Case 56: a minute of 429 to everything, sends and reads, is answered with few calls.
func TestThrottleCase56RefusedForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(-1)
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 25, Burst: 5, InFlight: 16, ReadShare: 0.2})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() { p.load(th, time.Minute) })
		reads := 0
		for {
			permit, err := th.AcquireRead(ctx, 1)
			if err != nil {
				break
			}
			reads++
			p.call()
			permit.Calm(time.Second)
			permit.Done()
		}
		wg.Wait()
		t.Logf("%d calls, %d of them reads", len(p.refused), reads)
		if n := len(p.refused); n > 30 || reads < 3 || n-reads < 5 {
			t.Errorf("%d calls, %d of them reads; want some of each and 30 at most", n, reads)
		}
	})
}
