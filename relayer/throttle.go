package relayer

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Throttle stands before the first write: whoever waits for a [Permit] has
// written nothing and may leave at any moment. One Throttle is shared by all
// workers of a route. It is safe for concurrent use.
//
// Waiters stand in one line, first come, first served. The first of them
// passes once the throttle is not shut, a place in flight is free and the
// bucket holds its tokens, looked at in this order. Everybody else in the
// line holds nothing: x/time/rate cannot give back a reservation in the
// middle of its line, and 98 of 100 waiters leaving made a newcomer wait 98 s
// for tokens that nobody used.
//
// Refusals for too many calls shut it and slow it down, quiet brings it back:
// see [Throttle.Calm].
//
// The bucket is exact at the moment a permit is granted. With a burst of 1
// each late timer costs its lateness; above some 100 permits a second a burst
// of a hundredth of the rate makes up for it.
type Throttle struct {
	cfg ThrottleConfig

	mu       sync.Mutex // guards everything below and the state of every Permit
	sends    line
	reads    line
	inFlight int
	hold     time.Duration // how long places are held lately, smoothed
	calm     time.Time     // shut for sends and reads until then
	granted  time.Time     // when a permit last passed
	pace     pace          // slows sends and reads
	slow     bool          // … and does so now
	breaker  breaker       // shuts sends only
}

// NewThrottle returns an open throttle with a full bucket. The configuration
// must have passed [ThrottleConfig.Validate]; NewThrottle panics if not, since
// a throttle without a rate would hang its route in silence.
func NewThrottle(cfg ThrottleConfig) *Throttle {
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	t := &Throttle{cfg: cfg}
	t.breaker = newBreaker(time.Now(), cfg.Jitter)
	t.sends = newLine(cfg.share(1-cfg.ReadShare), cfg.Burst)
	t.reads = newLine(cfg.share(cfg.ReadShare), cfg.readBurst())
	t.sends.gate, t.sends.wake = t.sendGate, t.waker(&t.sends)
	t.reads.gate, t.reads.wake = t.readGate, t.waker(&t.reads)
	return t
}

// Acquire waits in line for the right to make one send of the given weight
// (tokens; 0 counts as 1). The caller must end the permit with [Permit.Done]
// or [Permit.Return].
//
// It waits until ctx ends, never giving up early because the wait looks too
// long ([Throttle.Predict] tells that). Then the error is a *[ThrottledError]
// that wraps context.Cause(ctx), and the waiter has left no trace: its place
// in line, its place in flight and its tokens are free again. A weight that
// can never pass is a *[WeightError], at once.
func (t *Throttle) Acquire(ctx context.Context, weight int) (*Permit, error) {
	weight = cmp.Or(weight, 1)
	if err := t.cfg.Fits(weight); err != nil {
		return nil, err
	}
	return t.acquire(ctx, &t.sends, weight)
}

// AcquireRead is [Throttle.Acquire] for observers. Reads have a line and a
// bucket of their own, so neither reads nor sends can starve the other. They
// take no place in flight and are neither counted nor stopped by the breaker:
// while sends are shut, proof may still come in. Calm stops them too. A limited
// throttle without a ReadShare has nothing to give, it answers with a
// *[ThrottleConfigError].
func (t *Throttle) AcquireRead(ctx context.Context, weight int) (*Permit, error) {
	weight = cmp.Or(weight, 1)
	if err := t.cfg.fits(weight, t.cfg.readBurst()); err != nil {
		return nil, err
	}
	return t.read(ctx, weight)
}

// Spend pays units out of the bucket of reads, and waits until all of them are
// there: for what has no permit of its own and costs more than one. A cost
// above the burst is paid in parts that fit, and keeps its place in line until
// it is paid. Nothing or less costs nothing. Errors as [Throttle.AcquireRead],
// but no weight is too large; who leaves has paid nothing.
func (t *Throttle) Spend(ctx context.Context, units int) error {
	if units < 1 {
		return nil
	}
	p, err := t.read(ctx, units)
	if err == nil {
		p.Done()
	}
	return err
}

func (t *Throttle) read(ctx context.Context, weight int) (*Permit, error) {
	if t.reads.base == 0 {
		return nil, &ThrottleConfigError{"read-share", t.cfg.ReadShare, "above 0 where reads are made"}
	}
	return t.acquire(ctx, &t.reads, weight)
}

func (t *Throttle) acquire(ctx context.Context, l *line, weight int) (*Permit, error) {
	start := time.Now()
	if ctx.Err() != nil {
		return nil, &ThrottledError{Err: context.Cause(ctx)}
	}
	p := &Permit{t: t, line: l, weight: weight, owed: weight}
	if t.join(p) {
		return p, nil
	}
	select {
	case <-p.ready:
		return p, nil
	case <-ctx.Done():
		t.leave(p)
		return nil, &ThrottledError{Waited: time.Since(start), Err: context.Cause(ctx)}
	}
}

// Predict returns how long a newcomer with weight 1 would wait in the line of
// sends, at now: what is left of a pause, then the queue over the rate or over
// the places in flight, whichever is slower. It is a guess (places come free
// as lately, leavers are not foreseen), good enough to REQ at once what would
// outlast its lease. It changes nothing.
func (t *Throttle) Predict(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	gate := t.shut(now)
	if gate == forever { // a probe is out, it takes about as long as others did
		gate = t.hold
	}
	at := now.Add(gate)
	speed := t.sends.base
	if t.slow {
		speed = t.sends.speed(t.pace.share(at))
	}
	return gate + max(t.sends.predict(at, t.calm, speed), t.predictPlace())
}

// predictPlace is how long a newcomer waits for a place in flight.
// It requires that t.mu is held.
func (t *Throttle) predictPlace() time.Duration {
	ahead := len(t.sends.queue) + 1 - (t.cfg.InFlight - t.inFlight)
	if ahead <= 0 {
		return 0
	}
	return seconds(t.hold.Seconds() * float64(ahead) / float64(t.cfg.InFlight))
}

// ThrottleState is a look at a throttle, for metrics and logs.
type ThrottleState struct {
	Waiting      int           // sends in line
	WaitingReads int           // reads in line
	InFlight     int           // places taken
	Tokens       float64       // in the bucket of sends; unlimited: its burst
	Hold         time.Duration // how long places are held lately
	CalmUntil    time.Time     // end of the last pause asked for; zero if there was none

	PerSecond      rate.Limit // of sends, once no pause is on: configured, or lower after refusals
	ReadsPerSecond rate.Limit // of reads, likewise
	Cuts           int        // how often refusals have lowered them
	FullAt         time.Time  // when all of the rate is back if nothing more is refused; zero: it is

	Breaker BreakerState
}

// State returns what the throttle looks like now.
func (t *Throttle) State() ThrottleState {
	now := t.lock()
	defer t.mu.Unlock()
	t.tune(now)
	return ThrottleState{
		Waiting:      len(t.sends.queue),
		WaitingReads: len(t.reads.queue),
		InFlight:     t.inFlight,
		Tokens:       t.sends.lim.TokensAt(now),
		Hold:         t.hold,
		CalmUntil:    t.calm,

		PerSecond:      t.sends.rate,
		ReadsPerSecond: t.reads.rate,
		Cuts:           t.pace.cuts,
		FullAt:         t.pace.full(now),

		Breaker: t.breaker.look(),
	}
}

// shut is how long sends are stopped by a pause or the breaker: 0 if they are
// not, forever if only a permit's end can tell. It requires that t.mu is held.
func (t *Throttle) shut(now time.Time) time.Duration {
	return max(t.calm.Sub(now), t.breaker.wait(now), 0)
}

func (t *Throttle) sendGate(now time.Time) time.Duration {
	if t.inFlight >= t.cfg.InFlight {
		return forever
	}
	return t.shut(now)
}

func (t *Throttle) readGate(now time.Time) time.Duration {
	return max(t.calm.Sub(now), 0)
}

// lock locks t.mu and reads the clock under it. A limiter that is asked about
// an earlier moment than the last one counts the time between them twice.
func (t *Throttle) lock() time.Time {
	t.mu.Lock()
	return time.Now()
}
