package relayer

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// MaxCalm bounds one [Throttle.Calm]: no reply from outside, however large
// its Retry-After, keeps the throttle shut longer than this.
const MaxCalm = 5 * time.Minute

// Calm shuts the throttle for d from now, for sends and reads, and slows it
// down: the other side refused a call because there are too many (a 429, a
// Retry-After). It is for calls without a permit; see [Permit.Calm]. At most
// [MaxCalm] counts; d of zero or less does nothing. A later Calm may extend a
// pause, it never shortens one. What is in flight goes on.
//
// After the pause permits come at half the rate, one by one: what had piled
// up in the buckets is gone. The rate then rises again to what is configured,
// within [MaxSlow] of quiet, and is halved again with further refusals, down
// to 1/1024, but never below one send in 10 s. Where the rate is Unlimited it
// is half of what was granted at best in the minutes before, but not below
// one permit in 2 s.
//
// Few refusals only shut: fewer than three within ten times d. Those of calls
// that were let pass before the last one are one with it; where no permit has
// passed since, none counts.
//
// It returns the rate of sends from now on, and whether this Calm lowered it,
// which is worth a line in the log.
func (t *Throttle) Calm(d time.Duration) (perSecond rate.Limit, slowed bool) {
	now := t.lock()
	defer t.mu.Unlock()
	return t.refused(now, t.granted, d)
}

// Shut shuts the throttle as Calm does, and does not slow it: that somebody
// was refused is known already.
func (t *Throttle) Shut(d time.Duration) {
	now := t.lock()
	defer t.mu.Unlock()
	t.tune(now)
	t.pause(now, d)
	t.tune(now)
}

// Calm is [Throttle.Calm] where the call of this permit was refused.
func (p *Permit) Calm(d time.Duration) (perSecond rate.Limit, slowed bool) {
	now := p.t.lock()
	defer p.t.mu.Unlock()
	return p.t.refused(now, p.since, d)
}

// Shut is [Throttle.Shut].
func (p *Permit) Shut(d time.Duration) { p.t.Shut(d) }

// refused notes a refusal of a call that was let pass at since. It requires
// that t.mu is held.
func (t *Throttle) refused(now, since time.Time, d time.Duration) (rate.Limit, bool) {
	t.tune(now)
	before := t.sends.rate
	if d <= 0 {
		return before, false
	}
	if !t.slow {
		t.sends.learn(now)
		t.reads.learn(now)
	}
	cut := t.pace.refuse(now, since, d, t.share(now), t.sends.floor())
	if cut {
		t.slow = true
		t.pace.pause(max(t.calm.Sub(now), 0))
	}
	t.pause(now, d)
	t.tune(now)
	if cut {
		t.sends.trim(now, 1)
		t.reads.trim(now, 1)
	}
	return t.sends.rate, t.sends.rate < before
}

// share is the part of the rate in use, as the next cut takes it. Above all of
// what was learned there may be more. It requires that t.mu is held.
func (t *Throttle) share(now time.Time) float64 {
	share := t.pace.share(later(now, t.calm))
	if t.cfg.PerSecond == Unlimited && t.slow {
		return share
	}
	return min(share, 1)
}

// pause shuts the throttle for d, or longer if it is. It requires that t.mu
// is held.
func (t *Throttle) pause(now time.Time, d time.Duration) {
	until, from := now.Add(min(d, MaxCalm)), later(now, t.calm)
	if d > 0 && until.After(t.calm) {
		t.calm = until // a timer that is set finds it when it rings
		t.pace.pause(until.Sub(from))
	}
}

// tune gives the buckets the rates of now. It requires that t.mu is held.
func (t *Throttle) tune(now time.Time) {
	if !t.slow {
		return
	}
	share := t.pace.share(later(now, t.calm))
	t.slow = !math.IsInf(share, 1)
	t.sends.tune(now, t.calm, share)
	t.reads.tune(now, t.calm, share)
}

// tune sets the rate, and lets nothing come into a bucket during a pause.
func (l *line) tune(now, calm time.Time, share float64) {
	l.rate, l.most = l.speed(share), l.pile(share)
	switch {
	case now.Before(calm):
		l.lim.SetLimitAt(now, 0)
	case l.lim.Limit() == 0: // until now
		l.lim.SetLimitAt(calm, l.rate)
	default:
		l.lim.SetLimitAt(now, l.rate)
	}
}

// speed is the rate at a share.
func (l *line) speed(share float64) rate.Limit {
	if math.IsInf(share, 1) || share >= 1 && l.base != Unlimited {
		return l.base
	}
	return l.full * rate.Limit(share)
}

// pile is how many tokens may lie in the bucket at a share.
func (l *line) pile(share float64) int {
	if l.base == Unlimited {
		return 1
	}
	return int(float64(l.burst) * min(share, 1))
}

// trim takes out of the bucket what lies in it above most.
func (l *line) trim(now time.Time, most int) {
	if n := int(l.lim.TokensAt(now)) - most; n > 0 {
		l.lim.ReserveN(now, n)
	}
}

// learn finds out what all of the rate is, where it is not configured: what
// was granted at best lately, at least a permit a second.
func (l *line) learn(now time.Time) {
	if l.base == Unlimited {
		l.full = rate.Limit(max(l.lately.best(now), float64(max(l.heavy, 1))))
	}
}

// floor is the smallest share: no permit of those seen takes longer than
// paceEvery to come free.
func (l *line) floor() float64 {
	return min(max(paceLeast, float64(l.heavy)/paceEvery.Seconds()/float64(l.full)), 1)
}

// later is the later of two moments.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
