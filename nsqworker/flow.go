package nsqworker

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// flow decides how many messages nsqd may have in flight with us: go-nsq calls it MaxInFlight and divides it among its
// connections, giving each its RDY.
type flow struct {
	mu      sync.Mutex
	now     *consumer
	old     []*consumer // being drained
	paused  bool
	reason  string
	stopped bool
	size    int
}

// Pause stops nsqd from sending more, from within a round trip on; what is here goes on. Pausing again changes the reason.
func (w *Worker) Pause(reason string) {
	if w.setPaused(true, reason) {
		w.log.WarnContext(w.base, "consumer paused", "reason", reason)
		w.steer(false)
	}
}

// Resume ends Pause, whoever paused. A drain stays a drain.
func (w *Worker) Resume() {
	if w.setPaused(false, "") {
		w.log.InfoContext(w.base, "consumer resumed")
		w.steer(false)
	}
}

// setPaused says whether that is a change.
func (w *Worker) setPaused(paused bool, reason string) bool {
	w.flow.mu.Lock()
	defer w.flow.mu.Unlock()
	changed := w.flow.paused != paused
	w.flow.paused, w.flow.reason = paused, cmp.Or(reason, "no reason given")
	return changed
}

// nudge asks for steer(true) soon.
func (w *Worker) nudge() {
	select {
	case w.nudges <- struct{}{}:
	default:
	}
}

func (w *Worker) steerLoop(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.nudges:
		case <-tick.C:
		}
		w.steer(true)
	}
}

// steer tells go-nsq how much we take. Nudging says one less first: when a connection opens, go-nsq 1.1.0 shares RDY out
// in random order and may leave one short for good, and the same number again is no change to it (consumer.go).
func (w *Worker) steer(nudge bool) {
	connections := w.connections()
	w.flow.mu.Lock()
	defer w.flow.mu.Unlock()
	f := &w.flow
	if f.now == nil {
		return
	}
	f.size = w.cfg.Concurrency * min(max(connections, 1), 2)
	if f.paused || f.stopped {
		f.size = 0
	}
	if nudge && f.size > 0 {
		f.now.ChangeMaxInFlight(f.size - 1)
	}
	f.now.ChangeMaxInFlight(f.size)
}

// connections counts those of the consumer in use.
func (w *Worker) connections() int {
	c := w.consumer()
	if c == nil {
		return 0
	}
	up := 0
	for _, n := range w.nodes.all() {
		if n.isUp(c.gen) {
			up++
		}
	}
	return up
}

func (n *node) isUp(gen int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.links[gen]
	return k != nil && k.up
}

func (w *Worker) consumer() *consumer {
	w.flow.mu.Lock()
	defer w.flow.mu.Unlock()
	return w.flow.now
}

// open makes a consumer the one in use and retires the one before, which takes no more.
func (w *Worker) open(gen int) error {
	c, err := w.newConsumer(gen)
	if err != nil {
		return err
	}
	w.flow.mu.Lock()
	if old := w.flow.now; old != nil {
		w.flow.old = append(w.flow.old, old)
	}
	w.flow.now = c
	w.flow.mu.Unlock()
	w.steer(false)
	return nil
}
