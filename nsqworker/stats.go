package nsqworker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

type counters struct {
	received, finished, requeued, refused, touched, left, lapsed, redelivered, panics, recycled atomic.Uint64
}

// Stats is a snapshot. Counts are of what we did; nsqd confirms none of it.
type Stats struct {
	Received    uint64 // deliveries
	Finished    uint64 // FIN written
	Requeued    uint64 // REQ written because a handler said so
	Refused     uint64 // REQ written before a handler began: above twice the concurrency, or draining
	Touched     uint64 // TOUCH written
	Left        uint64 // not answered: a handler left it, panicked, or its lease was lost
	Lapsed      uint64 // leases lost while the message waited or its handler ran
	Redelivered uint64 // deliveries of a message we still held
	Panics      uint64
	Recycled    uint64 // consumers replaced by the watchdog

	Waiting, Running int           // messages without and with a handler
	Oldest           time.Duration // how long the handler that has run longest has run, of messages that are still ours
	InFlight         int           // what nsqd has in flight with us by our account: these two, and left ones until their lease ends
	MaxInFlight      int           // what nsqd may have in flight with us
	Paused           string        // the reason, while paused
	Draining         bool
	NSQDs            []NSQDStatus // by address
}

// NSQDStatus is one nsqd we know.
type NSQDStatus struct {
	Addr      string
	Connected bool // by our account, unless nsqd says otherwise for two looks of the watchdog
	InFlight  int
	Err       error // why not connected
}

// Connections counts the nsqds we are connected to.
func (s Stats) Connections() int {
	up := 0
	for _, n := range s.NSQDs {
		if n.Connected {
			up++
		}
	}
	return up
}

// Stats reads the numbers now.
func (w *Worker) Stats() Stats {
	c := w.count
	s := Stats{
		Received: c.received.Load(), Finished: c.finished.Load(), Requeued: c.requeued.Load(), Refused: c.refused.Load(),
		Touched: c.touched.Load(), Left: c.left.Load(), Lapsed: c.lapsed.Load(), Redelivered: c.redelivered.Load(), Panics: c.panics.Load(),
		Recycled: c.recycled.Load(), Draining: w.draining.Load(),
	}
	inside, running := w.pool.counts()
	s.Waiting, s.Running = inside-running, running
	gen := w.flowStats(&s)
	for _, n := range w.nodes.all() {
		st := n.status(gen)
		s.NSQDs = append(s.NSQDs, st)
		s.InFlight += st.InFlight
		s.Oldest = max(s.Oldest, n.oldest(time.Now()))
	}
	slices.SortFunc(s.NSQDs, func(a, b NSQDStatus) int { return strings.Compare(a.Addr, b.Addr) })
	return s
}

func (w *Worker) flowStats(s *Stats) (gen int) {
	w.flow.mu.Lock()
	defer w.flow.mu.Unlock()
	s.MaxInFlight = w.flow.size
	if w.flow.paused {
		s.Paused = w.flow.reason
	}
	if w.flow.now != nil {
		gen = w.flow.now.gen
	}
	return gen
}

func (n *node) status(gen int) NSQDStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := NSQDStatus{Addr: n.addr, Err: n.err}
	for _, k := range n.links {
		s.InFlight += k.holding()
	}
	switch k := n.links[gen]; {
	case k == nil || !k.up:
	case n.watch.dropped:
		s.Err = errUnknown
	default:
		s.Connected, s.Err = true, nil
	}
	return s
}

// oldest is how long the handler of a message of ours has run longest.
func (n *node) oldest(now time.Time) (age time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, k := range n.links {
		for _, l := range k.leases {
			if l.phase == running {
				age = max(age, now.Sub(l.began))
			}
		}
	}
	return age
}

// ErrNotConnected is in Health's error while no nsqd is connected.
var ErrNotConnected = errors.New("not connected to any nsqd")

var errUnknown = errors.New(unknownToNSQD)

// Health is nil while messages can reach us. It errs before Run, while draining, with ErrNotConnected and each address's
// reason, and with a *MsgTimeoutError while any nsqd refuses our msg-timeout, which no waiting mends. An nsqd of several
// that is down shows in Stats only. A pause is not an error.
func (w *Worker) Health() error {
	if w.draining.Load() {
		return ErrDraining
	}
	s := w.Stats()
	var errs, fatal []error
	for _, n := range s.NSQDs {
		if n.Err != nil {
			errs = append(errs, fmt.Errorf("nsqd %s: %w", n.Addr, n.Err))
		}
		if refused, ok := errors.AsType[*MsgTimeoutError](n.Err); ok {
			fatal = append(fatal, refused)
		}
	}
	if s.Connections() > 0 {
		return errors.Join(fatal...)
	}
	return fmt.Errorf("%w: %w", ErrNotConnected, errors.Join(append(errs, w.lookErrors()...)...))
}

func (w *Worker) lookErrors() []error {
	w.look.mu.Lock()
	defer w.look.mu.Unlock()
	var errs []error
	for addr, err := range w.look.errs {
		if err != nil {
			errs = append(errs, fmt.Errorf("nsqlookupd %s: %w", addr, err))
		}
	}
	if len(w.nodes.all()) == 0 {
		errs = append(errs, fmt.Errorf("no nsqd known for topic %s", w.cfg.Topic))
	}
	return errs
}
