package relayer

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"
)

// Unlimited is the rate of a throttle without one. Infinity by any other name
// is refused, since it is more often a slip than a wish.
const Unlimited = rate.Inf

// ThrottleConfig configures a [Throttle].
type ThrottleConfig struct {
	// PerSecond is how many tokens come free each second, or [Unlimited].
	PerSecond rate.Limit
	// Burst is how many tokens may be used at once after a quiet time, and the
	// largest weight that can pass. Unlimited rates ignore it.
	Burst int
	// ReadBurst is the Burst of reads, where that is another. Default: Burst.
	ReadBurst int
	// InFlight is how many permits may be out at a time.
	InFlight int
	// ReadShare is the part of PerSecond kept for observers, from 0 to below 1;
	// sends get the rest. Each of the two has a bucket of its own. Zero keeps
	// none, then [Throttle.AcquireRead] refuses unless PerSecond is Unlimited.
	ReadShare float64
	// Jitter spreads the breaker's waits, so that processes do not probe in
	// step. Nil adds up to a tenth.
	Jitter func(time.Duration) time.Duration
}

// Validate reports the first field that makes no sense, as a
// *[ThrottleConfigError].
func (c ThrottleConfig) Validate() error {
	unlimited := c.PerSecond == Unlimited
	switch r := float64(c.PerSecond); {
	case !unlimited && !(r > 0 && r < math.MaxFloat64): // NaN compares as false
		return &ThrottleConfigError{"per-second", c.PerSecond, `a number above 0, or "unlimited"`}
	case !unlimited && c.Burst < 1:
		return &ThrottleConfigError{"burst", c.Burst, "at least 1"}
	case c.ReadBurst < 0:
		return &ThrottleConfigError{"read-burst", c.ReadBurst, "at least 1, or 0 for the burst"}
	case c.InFlight < 1:
		return &ThrottleConfigError{"in-flight", c.InFlight, "at least 1"}
	case !(c.ReadShare >= 0 && c.ReadShare < 1):
		return &ThrottleConfigError{"read-share", c.ReadShare, "from 0 to below 1"}
	}
	return nil
}

// Fits returns a *[WeightError] if weight can never pass: below 1, or above
// the burst of a limited rate.
func (c ThrottleConfig) Fits(weight int) error { return c.fits(weight, c.Burst) }

func (c ThrottleConfig) fits(weight, burst int) error {
	if weight < 1 || (weight > burst && c.PerSecond != Unlimited) {
		return &WeightError{Weight: weight, Burst: burst}
	}
	return nil
}

func (c ThrottleConfig) readBurst() int { return cmp.Or(c.ReadBurst, c.Burst) }

// share is the given part of the rate.
func (c ThrottleConfig) share(part float64) rate.Limit {
	if c.PerSecond == Unlimited {
		return Unlimited
	}
	return c.PerSecond * rate.Limit(part)
}

// ThrottleConfigError is a field of a [ThrottleConfig] that makes no sense.
type ThrottleConfigError struct {
	Field string // as in relayer.toml
	Value any
	Want  string // what would be right
}

func (e *ThrottleConfigError) Error() string {
	return fmt.Sprintf("throttle: %s = %v, want %s", e.Field, e.Value, e.Want)
}

// WeightError is a weight that no bucket of this throttle ever holds.
type WeightError struct{ Weight, Burst int }

func (e *WeightError) Error() string {
	return fmt.Sprintf("throttle: weight %d can never pass, want 1 to the burst of %d", e.Weight, e.Burst)
}

// ThrottledError says that the wait for a permit ended without one. Nothing
// was written or sent; it is no attempt, and no failure of the other side.
type ThrottledError struct {
	Waited time.Duration
	Err    error // why the wait ended: the context's cause
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("throttle: no permit after %v: %v", e.Waited, e.Err)
}

// Unwrap returns the context's cause.
func (e *ThrottledError) Unwrap() error { return e.Err }
