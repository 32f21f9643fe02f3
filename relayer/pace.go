package relayer

import (
	"math"
	"time"
)

// MaxSlow is how long at most a throttle that was slowed down stays slow while nothing more is refused. Pauses that were
// asked for do not count.
const MaxSlow = 5 * time.Minute

// The fixed numbers of a pace.
const (
	paceCut   = 0.5              // what a refusal leaves
	paceBack  = time.Minute      // after a cut, until it is as fast again as when it was refused
	paceLeast = 1.0 / 1024       // the smallest share: from there it is back at all of it within MaxSlow
	paceEvery = 10 * time.Second // no send takes longer to come free, however often refused
	paceFew   = 3                // refusals within paceOften pauses are not few any more
	paceOften = 10
)

// pace says which share of its rate a throttle uses. Refusals halve it, unless they are few: a provider, or a gateway before
// it, refuses a call now and then for reasons of its own, and slower is no help against that. Few is what costs less than
// being slow: fewer than three within ten of the pauses that they ask for. Quiet raises the share again: fast at first, slowly
// around the share that was refused, then faster and faster, as TCP does (RFC 9438), so that it stays long just under
// what the other side takes, and still is back within MaxSlow from anywhere. See docs/decisions/0013-adaptive-throttle.md.
//
// It is a pure function of the moments it is given and is guarded by the throttle's mutex.
type pace struct {
	top   float64            // the share that was last refused; 0: none was
	floor float64            // no share is below it
	cut   time.Time          // when it was last halved
	heard [paceFew]time.Time // the last refusals, the latest first
	quiet time.Time          // since when nothing was refused; pauses push it on
	cuts  int                // how often it was halved
}

// refuse halves the share if that is due: a call was refused whose permit is of since, and who refused it asks for a pause.
// All that had their permits before the last refusal are one with it. share is the one in use, floor the smallest that may
// come of it.
func (p *pace) refuse(now, since time.Time, pause time.Duration, share, floor float64) (cut bool) {
	if !since.After(p.heard[0]) {
		return false
	}
	copy(p.heard[1:], p.heard[:])
	p.heard[0] = now
	window := paceOften * min(max(pause, time.Second), MaxCalm)
	if first := p.heard[paceFew-1]; first.IsZero() || now.Sub(first) > window {
		return false
	}
	p.heard = [paceFew]time.Time{now} // the next cut takes two more
	p.top, p.floor = max(share, floor/paceCut), floor
	p.cut, p.quiet = now, now
	p.cuts++
	return true
}

// pause leaves d out of the quiet: while nothing is asked nothing can be refused.
func (p *pace) pause(d time.Duration) { p.quiet = p.quiet.Add(d) }

// share is the part of the rate to use at now. It is infinite when the rate is not to be touched, and exceeds 1 when
// there is nothing to be kept under but what was refused.
func (p *pace) share(now time.Time) float64 {
	quiet := now.Sub(p.quiet)
	if p.top == 0 || quiet >= MaxSlow {
		return math.Inf(1)
	}
	left := 1 - max(quiet, 0).Seconds()/paceBack.Seconds()
	return max(p.floor, p.top*(1-(1-paceCut)*math.Pow(left, 5)))
}

// full is when all of the rate is back if nothing is refused until then; zero: it is.
func (p *pace) full(now time.Time) time.Time {
	end := p.quiet.Add(MaxSlow)
	if p.top == 0 || !now.Before(end) {
		return time.Time{}
	}
	return end
}

// A gauge is how much passes: now, with a time constant of gaugeOver, and at best lately, which is forgotten over
// gaugeBest. What a route asks for when it is busy is not what it did in the second before a refusal.
type gauge struct {
	sum  float64
	at   time.Time
	high float64 // a second, at at
}

const (
	gaugeOver = 2 * time.Second
	gaugeBest = time.Minute
)

func (g *gauge) add(now time.Time, n int) {
	best := g.best(now)
	g.sum, g.at = g.perSecond(now)*gaugeOver.Seconds()+float64(n), now
	g.high = max(best, g.perSecond(now))
}

func (g *gauge) perSecond(now time.Time) float64 {
	return g.sum * math.Exp(-g.age(now)/gaugeOver.Seconds()) / gaugeOver.Seconds()
}

// best is the most that passed in a second lately.
func (g *gauge) best(now time.Time) float64 {
	return g.high * math.Exp(-g.age(now)/gaugeBest.Seconds())
}

func (g *gauge) age(now time.Time) float64 { return max(now.Sub(g.at), 0).Seconds() }
