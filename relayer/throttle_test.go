package relayer_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/nsqrelayer/relayer/relayer"
)

// The tests below run in bubbles: time is exact there, and a goroutine that
// never ends fails the test.

// newThrottle fills the gaps: unlimited, 1,000 in flight, no jitter.
func newThrottle(cfg relayer.ThrottleConfig) *relayer.Throttle {
	cfg.PerSecond = cmp.Or(cfg.PerSecond, relayer.Unlimited)
	cfg.Burst = cmp.Or(cfg.Burst, 1)
	cfg.InFlight = cmp.Or(cfg.InFlight, 1000)
	cfg.Jitter = func(d time.Duration) time.Duration { return d }
	return relayer.NewThrottle(cfg)
}

// acquire gets a permit of weight 1 and checks how long that took.
func acquire(t *testing.T, th *relayer.Throttle, want time.Duration) *relayer.Permit {
	t.Helper()
	return acquireN(t, th, 1, want)
}

func acquireN(t *testing.T, th *relayer.Throttle, weight int, want time.Duration) *relayer.Permit {
	t.Helper()
	start := time.Now()
	p, err := th.Acquire(t.Context(), weight)
	if err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(start); waited != want {
		t.Errorf("waited %v, want %v", waited, want)
	}
	return p
}

// send is a whole send that ends at once.
func send(t *testing.T, th *relayer.Throttle, ok bool, want time.Duration) {
	t.Helper()
	p := acquire(t, th, want)
	p.Report(ok)
	p.Done()
}

// passes collects when waiters passed, since its start.
type passes struct {
	mu    sync.Mutex
	start time.Time
	names []int
	at    []time.Duration
}

func (l *passes) add(name int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names, l.at = append(l.names, name), append(l.at, time.Since(l.start))
}

// line has n sends stand in line, in order, until ctx ends.
func line(ctx context.Context, th *relayer.Throttle, n int, end func(*relayer.Permit)) (*passes, *sync.WaitGroup) {
	l, wg := &passes{start: time.Now()}, new(sync.WaitGroup)
	for i := range n {
		wg.Go(func() {
			if p, err := th.Acquire(ctx, 1); err == nil {
				l.add(i)
				end(p)
			}
		})
		synctest.Wait()
	}
	return l, wg
}

func done(p *relayer.Permit) { p.Report(true); p.Done() }

func TestThrottleFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 10, Burst: 3})
		l, wg := line(t.Context(), th, 30, done)
		wg.Wait()
		for i, name := range l.names {
			if want := time.Duration(max(0, i-2)) * 100 * time.Millisecond; name != i || l.at[i] != want {
				t.Fatalf("waiter %d passed as number %d at %v, want %v", name, i, l.at[i], want)
			}
		}
	})
}

func TestThrottlePlacesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{InFlight: 2})
		l, wg := line(t.Context(), th, 6, func(p *relayer.Permit) { time.Sleep(time.Second); done(p) })
		if s := th.State(); s.InFlight != 2 || s.Waiting != 4 {
			t.Errorf("in flight %d, waiting %d; want 2 and 4", s.InFlight, s.Waiting)
		}
		wg.Wait()
		want := []time.Duration{0, 0, time.Second, time.Second, 2 * time.Second, 2 * time.Second}
		if !slices.Equal(l.at, want) {
			t.Errorf("passed at %v, want %v", l.at, want)
		}
	})
}

// Who waits for a place takes no tokens meanwhile: they come after it.
func TestThrottlePlaceBeforeToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 1, Burst: 2, InFlight: 1})
		p := acquire(t, th, 0)
		_, wg := line(t.Context(), th, 1, done)
		if got := th.State().Tokens; got != 1 {
			t.Errorf("%v tokens left, want 1", got)
		}
		done(p)
		wg.Wait()
		if got := th.State().Tokens; got != 0 {
			t.Errorf("%v tokens left, want 0", got)
		}
	})
}

// Case 62: abandoned waiters still hold their place.
func TestThrottleCase62MassCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 1, Burst: 1})
		stay, cancel := context.WithCancel(t.Context())
		first, one := line(t.Context(), th, 1, done)
		second, others := line(stay, th, 99, done)
		time.Sleep(time.Second + time.Millisecond)
		cancel()
		others.Wait()
		one.Wait()
		if s := th.State(); s.Waiting != 0 || s.InFlight != 0 {
			t.Errorf("left behind: %+v", s)
		}
		if len(first.at) != 1 || len(second.at) != 1 {
			t.Errorf("%d and %d passed before the others left, want 1 and 1", len(first.at), len(second.at))
		}
		acquire(t, th, 999*time.Millisecond)
		acquire(t, th, time.Second) // no token was made up, none was lost
	})
}

// Case 54: rate.Limiter.Wait refuses at once when the deadline is too near.
func TestThrottleCase54ShortDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 1, Burst: 1})
		acquire(t, th, 0)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				_, err := th.Acquire(ctx, 1)
				e, ok := errors.AsType[*relayer.ThrottledError](err)
				if !ok || e.Waited != 300*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %#v, want throttled for 300ms by the deadline", err)
				}
			})
		}
		wg.Wait()
		acquire(t, th, 700*time.Millisecond)
	})
}

// Case 61: throttle wait outlives the lease.
func TestThrottleCase61LeaseShorterThanTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: rate.Every(30 * time.Second), Burst: 1})
		lost := errors.New("lease lost")
		lease, end := context.WithCancelCause(t.Context())
		l, wg := line(lease, th, 10, done)
		if wait := th.Predict(time.Now()); wait != 300*time.Second {
			t.Errorf("predicted %v for the eleventh, want 5m0s", wait)
		}
		time.Sleep(time.Minute + time.Second)
		end(lost)
		ended := time.Now()
		wg.Wait()
		if gone := time.Since(ended); gone != 0 || len(l.at) != 3 {
			t.Errorf("%d passed in 61s, the others left after %v; want 3 and 0s", len(l.at), gone)
		}
		_, err := th.Acquire(lease, 1)
		if !errors.Is(err, lost) {
			t.Errorf("error %v, want the lease's cause", err)
		}
		if wait := th.Predict(time.Now()); wait != 29*time.Second {
			t.Errorf("predicted %v for a newcomer, want 29s", wait)
		}
	})
}

func TestThrottleEndedContextTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 1, Burst: 1})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := th.Acquire(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want canceled", err)
		}
		acquire(t, th, 0)
	})
}

func TestThrottleReturnGoesToTheNextAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 1, Burst: 1, InFlight: 1})
		p := acquire(t, th, 0)
		l, wg := line(t.Context(), th, 2, done)
		time.Sleep(100 * time.Millisecond)
		p.Return()
		wg.Wait()
		// The token taken at 0 s serves the first, the one that came free since the second.
		if want := []time.Duration{100 * time.Millisecond, time.Second}; !slices.Equal(l.at, want) {
			t.Errorf("passed at %v, want %v", l.at, want)
		}
	})
}

// This also holds golang.org/x/time/rate to what giving back rests on.
func TestThrottleReturnKeepsTheBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 1, Burst: 3})
		p := acquireN(t, th, 3, 0)
		p.Return()
		q := acquireN(t, th, 2, 0)
		time.Sleep(time.Hour)
		q.Return() // into a full bucket
		acquireN(t, th, 3, 0)
		acquire(t, th, time.Second)
	})
}

func TestPermitEndsOnce(t *testing.T) {
	for name, end := range map[string]func(*relayer.Permit){
		"done, return": func(p *relayer.Permit) { done(p); p.Return() },
		"return, done": func(p *relayer.Permit) { p.Return(); p.Done() },
		"done twice":   func(p *relayer.Permit) { done(p); p.Done() },
		"return twice": func(p *relayer.Permit) { p.Return(); p.Return() },
		"at once": func(p *relayer.Permit) {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(p.Done)
				wg.Go(p.Return)
			}
			wg.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newThrottle(relayer.ThrottleConfig{InFlight: 2})
				p, q := acquire(t, th, 0), acquire(t, th, 0)
				end(p)
				if got := th.State().InFlight; got != 1 {
					t.Errorf("%d in flight, want 1", got)
				}
				done(q)
			})
		})
	}
}

func TestPermitReturnAfterReportUsesTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 1, Burst: 1})
		p := acquire(t, th, 0)
		p.Report(true)
		p.Return()
		acquire(t, th, time.Second)
	})
}

func TestThrottleWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 10, Burst: 5})
		acquireN(t, th, 5, 0)
		acquireN(t, th, 4, 400*time.Millisecond)
		acquireN(t, th, 0, 100*time.Millisecond) // counts as 1
	})
}

// The heavy one at the head is not overtaken; when it leaves, the light one
// behind it goes as soon as it may.
func TestThrottleHeavyWaiterLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 1, Burst: 9})
		acquireN(t, th, 9, 0)
		heavy, cancel := context.WithCancel(t.Context())
		go th.Acquire(heavy, 9)
		synctest.Wait()
		l, wg := line(t.Context(), th, 1, done)
		time.Sleep(3 * time.Second)
		if len(l.at) != 0 {
			t.Errorf("overtaken at %v", l.at)
		}
		cancel()
		wg.Wait()
		if want := []time.Duration{3 * time.Second}; !slices.Equal(l.at, want) {
			t.Errorf("passed at %v, want %v", l.at, want)
		}
	})
}

// Case 60: weighted cost above the burst.
func TestThrottleCase60WeightAboveBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 100, Burst: 20})
		for _, weight := range []int{250, 21, -1} {
			_, err := th.Acquire(t.Context(), weight)
			if e, ok := errors.AsType[*relayer.WeightError](err); !ok || e.Weight != weight || e.Burst != 20 {
				t.Errorf("weight %d: error %v, want a weight error", weight, err)
			}
		}
		acquireN(t, newThrottle(relayer.ThrottleConfig{}), 250, 0) // unlimited: nothing to exceed
	})
}

func TestThrottleReadsAndSendsDoNotStarveEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 10, Burst: 1, InFlight: 1, ReadShare: 0.2})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		sends, wg := line(ctx, th, 200, done)
		reads := 0
		for {
			p, err := th.AcquireRead(ctx, 1)
			if err != nil {
				break
			}
			p.Done()
			reads++
		}
		wg.Wait()
		if s := len(sends.at); s < 80 || s > 81 || reads < 20 || reads > 21 {
			t.Errorf("%d sends and %d reads in 10s, want 80 and 20 and the bursts", s, reads)
		}
	})
}

func TestThrottleReadsPassWhileSendsAreShut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 100, Burst: 10, InFlight: 5, ReadShare: 0.2})
		for range 5 {
			send(t, th, false, 0)
		}
		p, err := th.AcquireRead(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if s := th.State(); s.Breaker.Gate != relayer.GateShut || s.InFlight != 0 {
			t.Errorf("state %+v, want shut and nothing in flight", s)
		}
		p.Return()
		if p, err = th.AcquireRead(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		for range 5 { // says nothing about sends
			p.Report(true)
		}
		p.Done()
		if g := th.State().Breaker.Gate; g != relayer.GateShut {
			t.Errorf("gate %v after a read, want shut", g)
		}
	})
}

func TestThrottleReadsNeedAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := newThrottle(relayer.ThrottleConfig{PerSecond: 10}).AcquireRead(t.Context(), 1)
		if e, ok := errors.AsType[*relayer.ThrottleConfigError](err); !ok || e.Field != "read-share" {
			t.Errorf("error %v, want read-share", err)
		}
		if _, err := newThrottle(relayer.ThrottleConfig{}).AcquireRead(t.Context(), 1); err != nil {
			t.Errorf("unlimited: %v", err)
		}
	})
}

func TestThrottleCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{})
		th.Calm(10 * time.Second)
		th.Calm(5 * time.Second) // does not shorten
		if wait := th.Predict(time.Now()); wait != 10*time.Second {
			t.Errorf("predicted %v, want 10s", wait)
		}
		l, wg := line(t.Context(), th, 2, done)
		time.Sleep(9 * time.Second)
		th.Calm(3 * time.Second) // extends
		if _, err := th.AcquireRead(t.Context(), 1); err != nil {
			t.Error(err)
		}
		read := time.Since(l.start)
		wg.Wait()
		if want := []time.Duration{12 * time.Second, 12 * time.Second}; !slices.Equal(l.at, want) || read != want[0] {
			t.Errorf("sends passed at %v, a read at %v; want 12s", l.at, read)
		}
	})
}

// Case 58: Retry-After of hours, in the past, or too large for a duration.
func TestThrottleCase58CalmIsCapped(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		time.Hour:       relayer.MaxCalm,
		math.MaxInt64:   relayer.MaxCalm,
		1:               1,
		0:               0,
		-5 * time.Hour:  0,
		math.MinInt64:   0,
		relayer.MaxCalm: relayer.MaxCalm,
	} {
		synctest.Test(t, func(t *testing.T) {
			th := newThrottle(relayer.ThrottleConfig{})
			th.Calm(d)
			acquire(t, th, want)
		})
	}
}

// Case 56: a minute of 429 without Retry-After, 16 handlers.
func TestThrottleCase56StormOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 25, Burst: 5, InFlight: 16})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		calls := make(chan struct{}, 10_000)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for {
					p, err := th.Acquire(ctx, 1)
					if err != nil {
						return
					}
					calls <- struct{}{}
					time.Sleep(50 * time.Millisecond)
					p.Report(false)
					p.Done()
				}
			})
		}
		wg.Wait()
		if n := len(calls); n < 10 || n >= 30 {
			t.Errorf("%d calls in a minute, want some and fewer than 30", n)
		}
	})
}

func TestThrottleShutLetsOneProbeThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{})
		for range 5 {
			send(t, th, false, 0)
		}
		// Each probe takes 100 ms; the third finds the other side well.
		ends := make(chan func(*relayer.Permit), 5)
		ends <- (*relayer.Permit).Done // without a report: unknown
		ends <- (*relayer.Permit).Return
		ends <- done
		ends <- done
		ends <- done
		l, wg := line(t.Context(), th, cap(ends), func(p *relayer.Permit) {
			end := <-ends
			time.Sleep(100 * time.Millisecond)
			end(p)
		})
		wg.Wait()
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		if want := []time.Duration{ms(1000), ms(3100), ms(3200), ms(3300), ms(3300)}; !slices.Equal(l.at, want) {
			t.Errorf("passed at %v, want %v", l.at, want)
		}
	})
}

// A waiter who leaves in the moment it passes has passed for nobody: its place
// is free again, and if it was the probe, another one goes.
func TestThrottleLeaverPassesAtThatMoment(t *testing.T) {
	for range 50 { // which of the two comes first is up to the scheduler
		synctest.Test(t, func(t *testing.T) {
			th := newThrottle(relayer.ThrottleConfig{InFlight: 1})
			for range 5 {
				send(t, th, false, 0)
			}
			lease, cancel := context.WithTimeout(t.Context(), time.Second) // the moment of the probe
			defer cancel()
			_, gone := line(lease, th, 20, (*relayer.Permit).Return)
			l, wg := line(t.Context(), th, 1, done)
			gone.Wait()
			wg.Wait()
			if want := []time.Duration{time.Second}; !slices.Equal(l.at, want) {
				t.Errorf("passed at %v, want %v", l.at, want)
			}
		})
	}
}

// The result opens the throttle, not the end of the permit after it.
func TestPermitReportOpensAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{})
		for range 5 {
			send(t, th, false, 0)
		}
		probe := acquire(t, th, time.Second)
		l, wg := line(t.Context(), th, 1, done)
		time.Sleep(time.Second)
		probe.Report(true)
		time.Sleep(time.Second)
		probe.Done()
		wg.Wait()
		if want := []time.Duration{time.Second}; !slices.Equal(l.at, want) {
			t.Errorf("passed at %v, want %v", l.at, want)
		}
	})
}

func TestPermitReportSaysWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{})
		for i := range 5 {
			p := acquire(t, th, 0)
			if changed := p.Report(false); changed != (i == 4) {
				t.Errorf("failure %d: changed = %v", i+1, changed)
			}
			if p.Report(false) {
				t.Error("a second report counted")
			}
			p.Done()
		}
		p := acquire(t, th, time.Second)
		if !p.Report(true) {
			t.Error("a good probe changed nothing")
		}
		p.Done()
		if p.Report(false) {
			t.Error("a report after Done counted")
		}
	})
}

func TestThrottlePredict(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  relayer.ThrottleConfig
		out  int // permits out, of 2 s each in the past
		line int // waiters
		want time.Duration
	}{
		"free":               {relayer.ThrottleConfig{PerSecond: 1, Burst: 2}, 0, 0, 0},
		"unlimited":          {relayer.ThrottleConfig{InFlight: 8}, 4, 0, 0},
		"the next token":     {relayer.ThrottleConfig{PerSecond: 2, Burst: 2}, 2, 0, 500 * time.Millisecond},
		"line over rate":     {relayer.ThrottleConfig{PerSecond: 2, Burst: 2}, 2, 4, 2500 * time.Millisecond},
		"line over places":   {relayer.ThrottleConfig{InFlight: 4}, 4, 7, 4 * time.Second},
		"slower one decides": {relayer.ThrottleConfig{PerSecond: 1, Burst: 4, InFlight: 4}, 4, 7, 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newThrottle(tt.cfg)
				p := acquire(t, th, 0)
				time.Sleep(2 * time.Second)
				done(p)
				time.Sleep(10 * time.Second) // a full bucket again
				var out []*relayer.Permit
				for range tt.out {
					out = append(out, acquire(t, th, 0))
				}
				ctx, cancel := context.WithCancel(t.Context())
				_, wg := line(ctx, th, tt.line, done)
				if wait := th.Predict(time.Now()); wait != tt.want {
					t.Errorf("predicted %v, want %v", wait, tt.want)
				}
				cancel()
				wg.Wait()
				for _, p := range out {
					done(p)
				}
			})
		})
	}
}

func TestThrottlePredictWhileShut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle(relayer.ThrottleConfig{PerSecond: 10, Burst: 5})
		for range 5 {
			send(t, th, false, 0)
		}
		for at, want := range []time.Duration{time.Second, 0} { // tokens come back meanwhile
			if wait := th.Predict(time.Now()); wait != want {
				t.Errorf("predicted %v at %ds, want %v", wait, at, want)
			}
			time.Sleep(time.Second)
		}
		p := acquire(t, th, 0) // the probe
		time.Sleep(time.Hour)
		if wait := th.Predict(time.Now()); wait != 0 { // as long as holds lately
			t.Errorf("predicted %v while a probe is out, want 0s", wait)
		}
		done(p)
	})
}

func TestThrottleConfigRefusesNonsense(t *testing.T) {
	good := relayer.ThrottleConfig{PerSecond: 25, Burst: 5, InFlight: 16, ReadShare: 0.2}
	for field, cfgs := range map[string][]func(*relayer.ThrottleConfig){
		"": {
			func(c *relayer.ThrottleConfig) {},
			func(c *relayer.ThrottleConfig) { c.PerSecond, c.Burst = relayer.Unlimited, 0 },
			func(c *relayer.ThrottleConfig) { c.PerSecond, c.ReadShare = 0.001, 0 },
		},
		"per-second": {
			func(c *relayer.ThrottleConfig) { c.PerSecond = 0 },
			func(c *relayer.ThrottleConfig) { c.PerSecond = -1 },
			func(c *relayer.ThrottleConfig) { c.PerSecond = rate.Limit(math.NaN()) },
			func(c *relayer.ThrottleConfig) { c.PerSecond = rate.Limit(math.Inf(1)) },
			func(c *relayer.ThrottleConfig) { c.PerSecond = rate.Limit(math.Inf(-1)) },
		},
		"burst": {
			func(c *relayer.ThrottleConfig) { c.Burst = 0 },
			func(c *relayer.ThrottleConfig) { c.Burst = -5 },
		},
		"in-flight": {
			func(c *relayer.ThrottleConfig) { c.InFlight = 0 },
			func(c *relayer.ThrottleConfig) { c.PerSecond, c.InFlight = relayer.Unlimited, -1 },
		},
		"read-share": {
			func(c *relayer.ThrottleConfig) { c.ReadShare = 1 },
			func(c *relayer.ThrottleConfig) { c.ReadShare = -0.1 },
			func(c *relayer.ThrottleConfig) { c.ReadShare = math.NaN() },
		},
	} {
		for i, change := range cfgs {
			cfg := good
			change(&cfg)
			err := cfg.Validate()
			e, ok := errors.AsType[*relayer.ThrottleConfigError](err)
			if ok != (field != "") || (ok && (e.Field != field || !strings.Contains(err.Error(), field))) {
				t.Errorf("%q %d: %v", field, i, err)
			}
		}
	}
}

func TestThrottleErrorsSayWhatIsRight(t *testing.T) {
	for want, err := range map[string]error{
		`throttle: per-second = 0, want a number above 0, or "unlimited"`:      relayer.ThrottleConfig{}.Validate(),
		"throttle: weight 250 can never pass, want 1 to the burst of 20":       relayer.ThrottleConfig{PerSecond: 1, Burst: 20}.Fits(250),
		"throttle: no permit after 300ms: " + context.DeadlineExceeded.Error(): &relayer.ThrottledError{Waited: 300 * time.Millisecond, Err: context.DeadlineExceeded},
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestNewThrottlePanicsOnNonsense(t *testing.T) {
	defer func() {
		if _, ok := recover().(*relayer.ThrottleConfigError); !ok {
			t.Error("no panic with a config error")
		}
	}()
	relayer.NewThrottle(relayer.ThrottleConfig{})
}

func BenchmarkThrottle(b *testing.B) {
	for name, limit := range map[string]rate.Limit{"unlimited": relayer.Unlimited, "limited": 1e12} {
		th := relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: limit, Burst: 1 << 30, InFlight: 1 << 20})
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := th.Acquire(b.Context(), 1)
				if err != nil {
					b.Fatal(err)
				}
				p.Report(true)
				p.Done()
			}
		})
	}
}
