package simtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// drifting are bytes on their way to a recipient whom nobody waits for any more.
type drifting struct {
	by      *actor
	called  time.Time
	a       intents.Attempt
	decided bool // whether they arrive, and when
}

// arrive has bytes come to the recipient.
func (s *sim) arrive(a intents.Attempt, luck uint64) intents.Result {
	b := parse(a.Bytes)
	r := s.recipient.arrive(b, luck)
	if b.pays() {
		s.monitor.paid(b.id)
	}
	return r
}

// onWire lists what is on its way.
func (s *sim) onWire() []payload {
	var out []payload
	for _, d := range s.wire {
		out = append(out, parse(d.a.Bytes))
	}
	return out
}

// drift has bytes arrive when their caller has given up.
func (s *sim) drift(a intents.Attempt, luck uint64) {
	d := &drifting{a: a, decided: true}
	s.wire = append(s.wire, d)
	s.after(time.Second+time.Duration(luck%uint64(3*time.Minute)), "", func() {
		s.wire = slices.DeleteFunc(s.wire, func(o *drifting) bool { return o == d })
		s.note("late bytes arrive: %s: %s", a.Bytes, s.arrive(a, luck).Verdict)
	})
}

// adrift notes bytes whose caller left before the seed could decide. Several may do so in one moment.
func (s *sim) adrift(d *drifting) {
	s.hall.mu.Lock()
	defer s.hall.mu.Unlock()
	s.wire = append(s.wire, d)
}

// strand decides about the bytes whose callers have left: lost, or late.
func (s *sim) strand() {
	var fresh []*drifting
	s.wire = slices.DeleteFunc(s.wire, func(d *drifting) bool {
		if !d.decided {
			fresh = append(fresh, d)
		}
		return !d.decided
	})
	slices.SortFunc(fresh, func(a, b *drifting) int { return cmp.Compare(a.by.name, b.by.name) })
	for _, d := range fresh {
		if s.rand.IntN(2) == 0 {
			s.note("%s left its bytes on the way: %s", d.by.name, d.a.Bytes)
			s.monitor.leaves(d.by, d.called, d.a)
			s.drift(d.a, s.rand.Uint64())
		}
	}
}
