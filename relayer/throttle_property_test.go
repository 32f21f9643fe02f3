package relayer_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	"github.com/nsqrelayer/relayer/relayer"
)

// visit is one visitor of a throttle: when it comes, how long it waits at
// most (0: for ever), how long it holds its permit, and how it ends it.
type visit struct {
	At, Patience, Hold time.Duration
	Weight             int
	End                string // good, bad or return
}

// passed is a permit that was got.
type passed struct {
	visit
	at time.Time
}

type schedule struct {
	cfg    relayer.ThrottleConfig
	visits []visit
	calms  map[time.Duration]time.Duration // when: how long
}

func drawSchedule(t *rapid.T) schedule {
	ms := func(name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Millisecond
	}
	s := schedule{calms: map[time.Duration]time.Duration{}}
	s.cfg.PerSecond = rate.Limit(rapid.IntRange(1, 30).Draw(t, "rate"))
	s.cfg.Burst = rapid.IntRange(1, 5).Draw(t, "burst")
	s.cfg.InFlight = rapid.IntRange(1, 6).Draw(t, "in-flight")
	ends := []string{"good", "good", "bad"}
	if rapid.Bool().Draw(t, "returns") {
		ends = append(ends, "return")
	}
	for range rapid.IntRange(1, 80).Draw(t, "visits") {
		s.visits = append(s.visits, visit{
			At: ms("at", 4000), Patience: ms("patience", 2000), Hold: ms("hold", 300),
			Weight: rapid.IntRange(1, s.cfg.Burst).Draw(t, "weight"),
			End:    rapid.SampledFrom(ends).Draw(t, "end"),
		})
	}
	for range rapid.IntRange(0, 3).Draw(t, "calms") {
		s.calms[ms("calm at", 4000)] = ms("calm", 1500)
	}
	return s
}

// run plays the schedule and returns who passed, in order, or what was wrong.
// A visitor who is stuck deadlocks the bubble.
func (s schedule) run(th *relayer.Throttle) (log []passed, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	wrong := func(format string, args ...any) { err = fmt.Errorf(format, args...) }
	for at, d := range s.calms {
		wg.Go(func() { time.Sleep(at); th.Calm(d) })
	}
	for _, v := range s.visits {
		wg.Go(func() {
			time.Sleep(v.At)
			p, gone := v.wait(th)
			mu.Lock()
			if p == nil {
				if v.Patience == 0 {
					wrong("a patient visitor got %v", gone)
				}
				mu.Unlock()
				return
			}
			log = append(log, passed{v, time.Now()})
			if n := th.State().InFlight; n > s.cfg.InFlight {
				wrong("%d in flight", n)
			}
			mu.Unlock()
			time.Sleep(v.Hold)
			v.end(p)
		})
	}
	wg.Wait()
	return log, err
}

func (v visit) wait(th *relayer.Throttle) (*relayer.Permit, error) {
	ctx, cancel := context.Background(), func() {}
	if v.Patience > 0 {
		ctx, cancel = context.WithTimeout(ctx, v.Patience)
	}
	defer cancel()
	return th.Acquire(ctx, v.Weight)
}

func (v visit) end(p *relayer.Permit) {
	if v.End == "return" {
		p.Return()
		return
	}
	p.Report(v.End == "good")
	p.Done()
}

// checkRate: the tokens used in any second are at most rate and burst, and
// what was out when it began and came back unused.
func (s schedule) checkRate(log []passed) error {
	for _, first := range log {
		most := float64(s.cfg.PerSecond) + float64(s.cfg.Burst)
		used := 0
		for _, p := range log {
			since := p.at.Sub(first.at)
			switch {
			case p.End != "return" && since >= 0 && since <= time.Second:
				used += p.Weight
			case p.End == "return" && since < 0 && since+p.Hold >= 0:
				most += float64(p.Weight)
			}
		}
		if float64(used) > most+1e-6 {
			return fmt.Errorf("%d tokens in a second, want at most %v", used, most)
		}
	}
	return nil
}

// checkOrder: who came earlier passed no later.
func checkOrder(log []passed) error {
	for i, p := range log {
		for _, q := range log[i+1:] {
			if q.At < p.At && q.at.After(p.at) {
				return fmt.Errorf("came at %v, passed after one who came at %v", q.At, p.At)
			}
		}
	}
	return nil
}

// checkRest: all is given back, and the throttle works as a new one.
func (s schedule) checkRest(th *relayer.Throttle) error {
	time.Sleep(relayer.MaxCalm + relayer.MaxSlow)
	start, state := time.Now(), th.State()
	if state.Waiting != 0 || state.InFlight != 0 || math.Abs(state.Tokens-float64(s.cfg.Burst)) > 1e-6 {
		return fmt.Errorf("at rest: %+v", state)
	}
	p, err := th.Acquire(context.Background(), s.cfg.Burst)
	if err != nil || time.Since(start) != 0 {
		return fmt.Errorf("a last permit after %v: %v", time.Since(start), err)
	}
	p.Report(true)
	p.Done()
	if got := th.State().Breaker.Gate; got != relayer.GateOpen {
		return fmt.Errorf("gate %v after a good result", got)
	}
	return nil
}

func TestThrottleHoldsItsLimitsOnAnySchedule(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSchedule(rt)
		var errs [4]error
		synctest.Test(t, func(*testing.T) { // draws and fails outside: rapid.T belongs to this goroutine
			th := newThrottle(s.cfg)
			var log []passed
			log, errs[0] = s.run(th)
			errs[1], errs[2], errs[3] = s.checkRate(log), checkOrder(log), s.checkRest(th)
		})
		for _, err := range errs {
			if err != nil {
				rt.Fatal(err)
			}
		}
	})
}
