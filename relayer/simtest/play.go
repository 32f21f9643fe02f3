package simtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// How long a run may take: faults end at the first, everything must have ended by the second.
const (
	calmAfter = 5 * time.Minute
	endAfter  = 3 * time.Hour
	mostSteps = 60_000
)

// play runs the scene to its end and ends every goroutine.
func (s *sim) play() Outcome {
	s.setUp()
	s.broken.start(s)
	for s.step() {
	}
	if s.monitor.failed == "" {
		s.finish()
	}
	s.tearDown()
	return Outcome{Violation: s.monitor.failed, Trace: s.trace, Faults: s.faults, Decided: s.decided, Steps: s.steps, Ended: s.ended(), Lasted: time.Since(epoch)}
}

func (s *sim) setUp() {
	ctx := context.Background()
	if s.scene.kind == chained {
		_, _ = s.db.OpenSigner(ctx, intents.Signer{Scope: signer, Next: 0, Window: s.scene.window}) // the model store cannot fail
	}
	if s.scene.enforced {
		funds := s.scene.funds
		s.scene.funds = 0
		s.credit(funds)
	}
	for _, p := range s.scene.payments {
		s.after(p.at, "", func() { s.produce(p) })
		for _, d := range p.copies {
			s.after(p.at+d, "", func() { s.publishAgain(p) })
		}
	}
	for i := range s.scene.machines {
		m := &machine{name: fmt.Sprintf("p%d", i+1)}
		s.machines = append(s.machines, m)
		s.boot(m)
	}
	s.after(s.between(4*time.Second, 9*time.Second), "", s.block)
	s.after(calmAfter+s.between(0, time.Minute), "", s.quiet)
}

// block lets the recipient move on, over and over.
func (s *sim) block() {
	s.recipient.tick(s.rand.Uint64())
	s.after(s.between(4*time.Second, 9*time.Second), "", s.block)
	for _, id := range s.ids() {
		s.monitor.paid(id)
	}
}

// step waits until nothing runs, then has one thing happen. It returns false at the end.
func (s *sim) step() bool {
	synctest.Wait()
	s.strand()
	s.happen()
	if s.monitor.failed != "" || s.over() {
		return false
	}
	s.steps++
	gates := s.open()
	switch {
	case len(gates) > 0 && !s.calm && s.chance(s.scene.hasty):
		s.pause(gates)
	case !s.calm && s.chance(s.malice()) && s.mischief():
	case !s.calm && s.chance(0.02) && s.review():
	case s.deliver(len(gates)):
	case len(gates) > 0:
		s.choose(gates)
	default:
		s.idle()
	}
	return true
}

// pause lets time pass while somebody stands at a gate.
func (s *sim) pause([]*gate) {
	d := s.between(time.Millisecond, []time.Duration{200 * time.Millisecond, 3 * time.Second, 25 * time.Second}[s.rand.IntN(3)])
	if len(s.events) > 0 {
		d = min(d, max(time.Until(s.events[0].at), 1))
	}
	s.note("%s pass", d)
	time.Sleep(d)
}

// idle lets time pass until somebody comes to a gate, an event is due, or a message is ready.
func (s *sim) idle() {
	now := time.Now()
	next := s.events[0].at
	if at, ok := s.queue.next(now); ok {
		next = earlier(next, at)
	}
	t := time.NewTimer(max(next.Sub(now), 1))
	defer t.Stop()
	select {
	case <-s.hall.arrived: // perhaps of somebody who was let on since
	case <-t.C:
	}
}

// happen carries out the events that are due.
func (s *sim) happen() {
	for len(s.events) > 0 && !s.events[0].at.After(time.Now()) {
		e := s.events[0]
		s.events = s.events[1:]
		if e.what != "" {
			s.note("%s", e.what)
		}
		e.do()
		synctest.Wait()
	}
}

// deliver gives a message to a process now and then, always when there is nothing else to do.
func (s *sim) deliver(gates int) bool {
	if gates > 0 && !s.chance(0.2) {
		return false
	}
	ready := s.queue.ready(time.Now())
	var free []*process
	for _, m := range s.machines {
		if p := m.p; p != nil && !p.frozen && !p.draining && !p.paused.Load() && len(p.busy) < s.cfg.Concurrency {
			free = append(free, p)
		}
	}
	if len(ready) == 0 || len(free) == 0 {
		return false
	}
	m, p := s.match(ready, free)
	s.note("%s to %s as d%d: %s", m.id, p.name, s.deliveries+1, m.body)
	s.queue.give(m, p, time.Now())
	return true
}

// match picks a message and a process; often one that has the same message in hand already.
func (s *sim) match(ready []*message, free []*process) (*message, *process) {
	m, p := ready[s.rand.IntN(len(ready))], free[s.rand.IntN(len(free))]
	if s.calm || s.chance(0.2) {
		return m, p
	}
	for _, m := range ready {
		for _, p := range free {
			if p.has(m.body) {
				return m, p
			}
		}
	}
	return m, p
}

// over says whether all has ended. What did not end in time is a violation.
func (s *sim) over() bool {
	if s.calm && s.rest() {
		return true
	}
	late := time.Since(epoch) > endAfter || s.steps > mostSteps
	if late {
		s.stuck()
	}
	return late
}

func (s *sim) stuck() {
	for _, id := range s.ids() {
		in := s.monitor.last[id]
		s.monitor.wants(in.Version == 0 || in.State.Final() || in.State == intents.NeedsReview,
			"liveness: %s is still %s after %s and %d steps", id, in.State, time.Since(epoch), s.steps)
	}
	s.monitor.wants(false, "liveness: %d messages and %d bytes on the wire are left after %s", len(s.queue.messages), len(s.wire), time.Since(epoch))
}

// rest says whether every intent is final or in review, and nothing is on its way.
func (s *sim) rest() bool {
	if s.visits.Load() > 0 || len(s.wire) > 0 || len(s.db.way) > 0 || slices.ContainsFunc(s.queue.messages, ours) {
		return false
	}
	for _, id := range s.ids() {
		in := s.monitor.last[id]
		if in.Version > 0 && !in.State.Final() && in.State != intents.NeedsReview && !s.behind(in) {
			return false
		}
	}
	return true
}

// behind says whether an intent waits for another of its lane about which a person must decide.
func (s *sim) behind(in intents.Intent) bool {
	return in.State == intents.Authorized && in.Lane != "" && slices.ContainsFunc(s.ids(), func(id string) bool {
		o := s.monitor.last[id]
		return o.Lane == in.Lane && o.State == intents.NeedsReview
	})
}

// ours says whether a message is of this version: those of a newer one wait for an hour.
func ours(m *message) bool {
	_, err := intents.Decode(m.body)
	_, newer := errors.AsType[*intents.NewerError](err)
	return !newer
}

// finish lets what is on chains become final, and looks at how everything stands.
func (s *sim) finish() {
	for range 2 * finality {
		s.recipient.tick(3) // an empty block
	}
	s.monitor.end()
}

// tearDown ends all processes, and waits for all that is left of any.
func (s *sim) tearDown() {
	s.calm = true
	for _, p := range s.processes {
		if !p.dead.Load() {
			p.die(func() fault { return "" })
		}
	}
	for _, p := range s.processes {
		p.running.Wait()
	}
}

// ended counts intents by state and reason.
func (s *sim) ended() map[string]int {
	out := map[string]int{}
	for _, in := range s.monitor.last {
		out[in.State.String()+" "+string(in.Reason)]++
	}
	return out
}
