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
)

// pace says which share of its rate a throttle uses. Each refusal halves it. Quiet raises it again: fast at first, slowly
// around the share that was refused, then faster and faster, as TCP does (RFC 9438), so that it stays long just under
// what the other side takes, and still is back within MaxSlow from anywhere. See docs/decisions/0013-adaptive-throttle.md.
//
// It is a pure function of the moments it is given and is guarded by the throttle's mutex.
type pace struct {
	top   float64   // the share that was last refused; 0: none was
	floor float64   // no share is below it
	cut   time.Time // when it was last halved
	quiet time.Time // since when nothing was refused; pauses push it on
	cuts  int       // how often it was halved
}

// refuse halves the share if that is due: a call was refused whose permit is of since. All that had their permits before
// the last cut are one refusal. share is the one in use, floor the smallest that may come of it.
func (p *pace) refuse(now, since time.Time, share, floor float64) (cut bool) {
	if !since.After(p.cut) {
		return false
	}
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

// A gauge is how much passed lately. It forgets with a time constant of gaugeOver: short enough to show a burst, long
// enough to remember it when the refusals of it come in.
type gauge struct {
	sum float64
	at  time.Time
}

const gaugeOver = 2 * time.Second

func (g *gauge) add(now time.Time, n int) {
	g.sum, g.at = g.perSecond(now)*gaugeOver.Seconds()+float64(n), now
}

func (g *gauge) perSecond(now time.Time) float64 {
	age := max(now.Sub(g.at), 0)
	return g.sum * math.Exp(-age.Seconds()/gaugeOver.Seconds()) / gaugeOver.Seconds()
}
