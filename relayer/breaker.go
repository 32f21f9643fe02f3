package relayer

import (
	"math/rand/v2"
	"time"
)

// The breaker's fixed numbers.
const (
	breakerFailures = 5                // bad results in a row that shut it
	breakerFirst    = time.Second      // from shutting to the first probe
	breakerLast     = 30 * time.Second // longest wait between probes, before jitter
)

// Gate is where a breaker stands.
type Gate int

// The gates. GateOpen lets everybody pass, GateShut nobody until its wait is over;
// GateProbing has let one pass and waits for its result.
const (
	GateOpen Gate = iota
	GateShut
	GateProbing
)

// String returns open, shut or probing.
func (g Gate) String() string {
	switch g {
	case GateOpen:
		return "open"
	case GateShut:
		return "shut"
	case GateProbing:
		return "probing"
	}
	return "unknown"
}

// BreakerState is a look at a breaker, for metrics and logs.
type BreakerState struct {
	Gate     Gate
	Since    time.Time // when it last shut, or last opened
	Next     time.Time // shut: when a probe may go; else zero
	Failures int       // bad results in a row, of permits it listens to
}

// A breaker shuts after five results in a row that were unknown or not sent.
// Then one probe at a time may pass, the first after 1 s, each further one
// after twice the wait of the one before, up to 30 s. A good probe opens it.
// It is a pure function of the moments it is given and is guarded by the
// throttle's mutex.
//
// It is not sony/gobreaker, which waits a timeout fixed at its birth (no
// doubling), does not tell when that ends (a line of waiters must know when to
// look again, gobreaker refuses them instead), and reads the clock itself.
type breaker struct {
	BreakerState
	delay  time.Duration // the wait before the next probe, before jitter
	jitter func(time.Duration) time.Duration
	// epoch counts the changes of gate. A result of an earlier epoch says how
	// the other side was, not how it is, and is not listened to.
	epoch int
}

func newBreaker(now time.Time, jitter func(time.Duration) time.Duration) breaker {
	if jitter == nil {
		jitter = upToATenthMore
	}
	return breaker{BreakerState: BreakerState{Since: now}, jitter: jitter}
}

func upToATenthMore(d time.Duration) time.Duration {
	return d + rand.N(d/10+1)
}

// look returns the state.
func (b *breaker) look() BreakerState { return b.BreakerState }

// wait is how long nobody may pass: 0 if somebody may, forever while a probe
// is out.
func (b *breaker) wait(now time.Time) time.Duration {
	switch b.Gate {
	case GateShut:
		return max(b.Next.Sub(now), 0)
	case GateProbing:
		return forever
	}
	return 0
}

// pass notes that somebody passes, whom wait has let, and returns the epoch to
// report with.
func (b *breaker) pass() int {
	if b.Gate == GateShut {
		b.turn(GateProbing)
	}
	return b.epoch
}

// report notes a result and tells whether the breaker shut or opened by it.
func (b *breaker) report(now time.Time, epoch int, ok bool) (changed bool) {
	switch {
	case epoch != b.epoch:
		return false
	case ok:
		return b.open(now)
	}
	b.Failures++
	if b.Gate == GateOpen && b.Failures < breakerFailures {
		return false
	}
	return b.shut(now)
}

// unused notes that a permit came back without a call: if it was the probe,
// another may go at once.
func (b *breaker) unused(now time.Time, epoch int) {
	if b.Gate == GateProbing && epoch == b.epoch {
		b.turn(GateShut)
		b.Next = now
	}
}

func (b *breaker) open(now time.Time) (changed bool) {
	b.Failures = 0
	if b.Gate == GateOpen {
		return false
	}
	b.delay, b.Since = 0, now
	b.turn(GateOpen)
	return true
}

func (b *breaker) shut(now time.Time) (changed bool) {
	if changed = b.Gate == GateOpen; changed {
		b.Since = now
	}
	b.delay = min(max(2*b.delay, breakerFirst), breakerLast)
	b.turn(GateShut)
	b.Next = now.Add(b.jitter(b.delay))
	return changed
}

func (b *breaker) turn(g Gate) {
	b.Gate, b.Next = g, time.Time{}
	b.epoch++
}
