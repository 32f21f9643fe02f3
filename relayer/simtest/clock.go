package simtest

import (
	"math/rand/v2"
	"time"
	"unsafe"
)

// How wrong the clocks of a process may be.
const (
	mostOff  = time.Hour        // its wall clock when it starts
	mostTurn = 10 * time.Minute // by how much that is set at once
	mostRate = 0.02             // by how much both run faster or slower than time
)

// clock is what a process takes for the time: a wall clock that is off, runs at a rate of its own and is set now and then,
// and a monotonic one of the same rate that stands still while its machine sleeps.
type clock struct {
	rate  float64
	off   time.Duration // of the wall clock
	slept time.Duration
	since time.Time // asleep since; zero: awake
}

func newClock(r *rand.Rand) *clock {
	return &clock{rate: 1 + mostRate*(2*r.Float64()-1), off: draw(r, 2*mostOff) - mostOff}
}

// now is a time with both readings, as time.Now gives one.
func (c *clock) now() time.Time {
	t := time.Now()
	ran := time.Duration(float64(t.Sub(epoch)) * c.rate)
	return apart(epoch.Add(ran+c.off), ran-c.sleep(t))
}

// sleep is how long its machine has slept.
func (c *clock) sleep(t time.Time) time.Duration {
	if c.since.IsZero() {
		return c.slept
	}
	return c.slept + t.Sub(c.since)
}

func (c *clock) fallAsleep() { c.since = time.Now() }

func (c *clock) wakeUp() {
	c.slept = c.sleep(time.Now())
	c.since = time.Time{}
}

// apart makes a time of what two clocks show. There is no other way to make one: the clock of a bubble cannot be set, and has
// no monotonic reading.
func apart(wall time.Time, monotonic time.Duration) time.Time {
	t := wall.Round(0)
	since1885 := t.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	p := (*reading)(unsafe.Pointer(&t)) // see time.Time
	p.wall, p.ext = 1<<63|uint64(since1885)<<30|uint64(t.Nanosecond()), int64(monotonic)
	if !t.Round(0).Equal(wall) {
		panic("time.Time is not as it was")
	}
	return t
}

// reading is how a time.Time begins that has both clocks.
type reading struct {
	wall uint64 // whether there is a monotonic clock, seconds since 1885, nanoseconds
	ext  int64  // the monotonic clock
}

// setClock sets the wall clock of a process, on or back. Not where machines sleep: asleep and set back at once, neither
// clock tells its owner that a claim is over.
func (s *sim) setClock() bool {
	m := s.living()
	if m == nil || s.scene.sleeps {
		return false
	}
	d := s.between(-mostTurn, mostTurn)
	m.p.clock.off += d
	s.note("%s sets its clock by %s", m.p.name, d)
	return true
}
