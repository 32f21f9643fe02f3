package relayer

import (
	"cmp"
	"time"
)

// A Permit is the right to make one call. It ends exactly once: with Done
// after the call, or with Return if there will be none. Whatever comes after
// the first of them does nothing, so that this is safe:
//
//	permit, err := throttle.Acquire(ctx, plan.Weight)
//	…
//	defer permit.Return() // until Done
//
// Its methods are safe for concurrent use and never block.
type Permit struct {
	t      *Throttle
	line   *line
	weight int
	owed   int           // tokens it has not got yet
	ready  chan struct{} // closed when it passes; nil if it never waited

	state    permitState
	since    time.Time // when it passed
	epoch    int       // the breaker's, when it passed
	reported bool
}

type permitState int

const (
	permitWaits permitState = iota
	permitHeld
	permitSpent
)

// Report tells the breaker the result of the call, before Done: ok is false
// for a result that was unknown or not sent, true for every other answer, a
// decline too, and for any result that says the other side is well. Only the first report
// of a permit counts. It returns whether the breaker shut or opened by it,
// which is worth a line in the log.
func (p *Permit) Report(ok bool) (changed bool) {
	now := p.t.lock()
	defer p.t.mu.Unlock()
	if p.state != permitHeld {
		return false
	}
	return p.report(now, ok)
}

// Done gives the place in flight back; the tokens are used. It is due when the
// call has returned, not when its result is written. A permit without a report
// counts as an unknown result, as after a panic: say Report first.
func (p *Permit) Done() {
	now := p.t.lock()
	defer p.t.mu.Unlock()
	if p.state == permitHeld {
		p.report(now, false)
		p.t.done(p, now)
	}
}

// Return gives back place and tokens to the next waiter, at once: the claim
// lost its race, or there was nothing to send. It is for permits with which
// nothing was called. After a Report it is the same as Done.
func (p *Permit) Return() {
	now := p.t.lock()
	defer p.t.mu.Unlock()
	if p.state == permitHeld {
		p.t.putBack(p, now)
	}
}

// report requires that t.mu is held.
func (p *Permit) report(now time.Time, ok bool) (changed bool) {
	if p.reported || p.line != &p.t.sends {
		return false
	}
	p.reported = true
	changed = p.t.breaker.report(now, p.epoch, ok)
	p.t.serve(p.line, now)
	return changed
}

// done ends p after its call. It requires that t.mu is held.
func (t *Throttle) done(p *Permit, now time.Time) {
	p.state = permitSpent
	if p.line != &t.sends {
		return
	}
	t.inFlight--
	held := now.Sub(p.since)
	t.hold = cmp.Or(t.hold, held)
	t.hold += (held - t.hold) / 8
	t.serve(p.line, now)
}

// putBack ends p as if it had never passed. It requires that t.mu is held.
func (t *Throttle) putBack(p *Permit, now time.Time) {
	if p.reported {
		t.done(p, now)
		return
	}
	p.state = permitSpent
	p.line.back += p.weight
	if p.line == &t.sends {
		t.inFlight--
		t.breaker.unused(now, p.epoch)
	}
	t.serve(p.line, now)
}
