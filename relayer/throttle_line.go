package relayer

import (
	"math"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// forever is the wait of somebody whom no timer can help: a permit that ends,
// or a probe that reports, serves the line again.
const forever = rate.InfDuration

// A line is a queue of waiters before one bucket. All of it is guarded by the
// throttle's mutex.
type line struct {
	lim   *rate.Limiter
	base  rate.Limit                        // configured
	burst int                               // the most tokens that one take gets
	gate  func(now time.Time) time.Duration // 0: the first may ask the bucket
	wake  func()                            // serves this line, from the timer
	queue []*Permit                         // whoever waits, in order
	back  int                               // tokens that came back, until served
	timer *time.Timer                       // set for the first of the queue, or nil

	rate   rate.Limit // in use, once no pause is on
	full   rate.Limit // what shares are parts of: base, or where that is Unlimited what was learned
	most   int        // tokens that may lie in the bucket while it is slow
	heavy  int        // the largest weight that passed
	lately gauge      // what passed lately, where base is Unlimited
}

// newLine has a full bucket. Unlimited ones ignore the burst.
func newLine(base rate.Limit, burst int) line {
	l := line{lim: rate.NewLimiter(base, max(burst, 1)), base: base, burst: burst, rate: base, full: base}
	if base == Unlimited {
		l.burst = math.MaxInt
	}
	return l
}

// pay takes what p still owes, in parts where that is more than the bucket
// holds, and returns 0, or how long the next part takes to come free.
func (l *line) pay(now time.Time, p *Permit, slow bool) time.Duration {
	for p.owed > 0 {
		n := min(p.owed, l.burst)
		if slow {
			l.trim(now, max(l.most, n))
		}
		if wait := l.take(now, n); wait > 0 {
			return wait
		}
		p.owed -= n
	}
	return 0
}

// take takes n tokens and returns 0, or takes none and tells how long to wait.
// What came back pays first.
func (l *line) take(now time.Time, n int) time.Duration {
	if n > l.lim.Burst() { // only where no rate is configured
		l.lim.SetBurstAt(now, n)
	}
	r := l.lim.ReserveN(now, n-l.back)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now) // whole: nobody has reserved since
		return wait
	}
	l.back = 0
	return 0
}

// passed notes a permit's weight, for what is learned from it.
func (l *line) passed(now time.Time, weight int) {
	l.heavy = max(l.heavy, weight)
	if l.base == Unlimited {
		l.lately.add(now, weight)
	}
}

// refill puts into the bucket what came back and nobody could use at once. The
// limiter has no word for it, but does it for a negative n, and cuts what
// exceeds the burst when it is next looked at.
func (l *line) refill(now time.Time) {
	if l.back > 0 {
		l.lim.ReserveN(now, -l.back)
		l.back = 0
	}
}

// predict is how long a newcomer waits for a token, after all in line, at a
// speed. A bucket that was shut until calm fills from then on.
func (l *line) predict(now, calm time.Time, speed rate.Limit) time.Duration {
	missing := 1 - l.lim.TokensAt(now)
	if l.lim.Limit() == 0 {
		missing -= float64(speed) * max(now.Sub(calm), 0).Seconds()
	}
	for _, p := range l.queue {
		missing += float64(p.owed)
	}
	return seconds(missing / float64(speed))
}

// arm has the line served again after wait. A timer that rings for nothing does
// no harm, so none is ever stopped.
func (l *line) arm(wait time.Duration) {
	switch {
	case wait == forever:
	case l.timer == nil:
		l.timer = time.AfterFunc(wait, l.wake)
	default:
		l.timer.Reset(wait)
	}
}

// seconds turns s into a duration, nothing below zero, a century at most, so
// that sums of some do not overflow.
func seconds(s float64) time.Duration {
	const century = 100 * 365 * 24 * 3600
	return time.Duration(math.Min(math.Max(s, 0), century) * float64(time.Second))
}

// waker returns what serves l when its timer rings.
func (t *Throttle) waker(l *line) func() {
	return func() {
		now := t.lock()
		defer t.mu.Unlock()
		t.serve(l, now)
	}
}

// join puts p at the end of its line and tells whether it passed at once.
func (t *Throttle) join(p *Permit) bool {
	now := t.lock()
	defer t.mu.Unlock()
	p.line.queue = append(p.line.queue, p)
	if len(p.line.queue) == 1 { // else somebody before us waits for something
		t.serve(p.line, now)
	}
	if p.state == permitHeld {
		return true
	}
	p.ready = make(chan struct{})
	return false
}

// leave takes p out of its line. If it has just passed, all of it goes to the
// next waiter.
func (t *Throttle) leave(p *Permit) {
	now := t.lock()
	defer t.mu.Unlock()
	if p.state == permitHeld {
		t.putBack(p, now)
		return
	}
	p.line.back += p.weight - p.owed
	i := slices.Index(p.line.queue, p)
	p.line.queue = slices.Delete(p.line.queue, i, i+1)
	p.state = permitSpent
	if i == 0 { // the next one may need less
		t.serve(p.line, now)
	}
}

// serve lets pass whoever may, in order, and sets the timer for the first who
// may not. It requires that t.mu is held.
func (t *Throttle) serve(l *line, now time.Time) {
	t.tune(now)
	defer l.refill(now)
	for len(l.queue) > 0 {
		p := l.queue[0]
		wait := l.gate(now)
		if wait == 0 {
			wait = t.pay(l, now, p)
		}
		if wait > 0 {
			l.arm(wait)
			return
		}
		l.queue = slices.Delete(l.queue, 0, 1)
		t.grant(p, now)
	}
}

// slowLook is how often the first in line looks anew while the rate rises.
const slowLook = time.Second

// pay has p pay, and says when to look again. It requires that t.mu is held.
func (t *Throttle) pay(l *line, now time.Time, p *Permit) time.Duration {
	wait := l.pay(now, p, t.slow)
	if t.slow {
		wait = min(wait, slowLook)
	}
	return wait
}

// grant hands p to its waiter. It requires that t.mu is held.
func (t *Throttle) grant(p *Permit, now time.Time) {
	p.state, p.since, t.granted = permitHeld, now, now
	p.line.passed(now, p.weight)
	if p.line == &t.sends {
		t.inFlight++
		p.epoch = t.breaker.pass()
	}
	if p.ready != nil {
		close(p.ready)
	}
}
