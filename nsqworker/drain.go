package nsqworker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	drainTick     = 10 * time.Millisecond
	drainProgress = 5 * time.Second
	stopTimeout   = 2 * time.Second // go-nsq's StopChan may take 30 s and then tells nothing
)

// ErrDrainTimeout is the cause with which work contexts end.
var ErrDrainTimeout = errors.New("drain timeout")

// DrainError says how many handlers the drain deadline cut. It wraps ErrDrainTimeout.
type DrainError struct {
	Timeout   time.Duration
	Abandoned int // handlers that were running at the deadline
	Running   int // of them, those that had not returned when their time to write was over
}

// Error names the numbers.
func (e *DrainError) Error() string {
	return fmt.Sprintf("drain timeout after %v: %d handlers abandoned, %d of them never returned", e.Timeout, e.Abandoned, e.Running)
}

// Unwrap returns ErrDrainTimeout.
func (e *DrainError) Unwrap() error { return ErrDrainTimeout }

// drain ends the worker. go-nsq's Stop comes last: it stops the reading of errors and heartbeats, calls itself done after
// 30 s whatever happens, and panics when it races a reconnect unless RDY is 0.
func (w *Worker) drain(loops *sync.WaitGroup) error {
	w.draining.Store(true)
	w.stopFlow()
	for _, n := range w.nodes.all() {
		n.drain()
	}
	w.log.InfoContext(w.base, "draining", "in_flight", w.running(), "left", w.cfg.DrainTimeout)
	err := w.waitHandlers()
	w.close(loops)
	return err
}

func (w *Worker) waitHandlers() error {
	abandoned := w.await(w.cfg.DrainTimeout)
	if abandoned == 0 {
		return nil
	}
	w.cut(ErrDrainTimeout)
	w.log.WarnContext(w.base, "drain timeout, handlers cut", "abandoned", abandoned, "write_timeout", w.cfg.WriteTimeout)
	still := w.await(w.cfg.WriteTimeout)
	return &DrainError{Timeout: w.cfg.DrainTimeout, Abandoned: abandoned, Running: still}
}

func (w *Worker) stopFlow() {
	w.flow.mu.Lock()
	w.flow.stopped = true
	w.flow.mu.Unlock()
	w.steer(false)
}

// drain sends back what no handler has begun and tells the running handlers.
func (n *node) drain() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, k := range n.links {
		for i := len(k.leases) - 1; i >= 0; i-- {
			switch l := k.leases[i]; {
			case l.phase == running:
				l.stop(ErrDraining)
			case l.phase == waiting && l.lost == nil:
				n.giveBack(l)
			}
		}
	}
}

func (w *Worker) running() int {
	_, running := w.pool.counts()
	return running
}

// await waits until no handler runs, at most for limit, and returns how many do.
func (w *Worker) await(limit time.Duration) int {
	end := time.Now().Add(limit)
	tick, progress := time.NewTicker(drainTick), time.NewTicker(drainProgress)
	defer tick.Stop()
	defer progress.Stop()
	for {
		running := w.running()
		if running == 0 || !time.Now().Before(end) {
			return running
		}
		select {
		case <-tick.C:
		case <-progress.C:
			w.log.InfoContext(w.base, "draining", "in_flight", running, "oldest", w.Stats().Oldest.Round(time.Second), "left", time.Until(end).Round(time.Second))
		}
	}
}

// close answers what is still unanswered, so that go-nsq can end, and ends it.
func (w *Worker) close(loops *sync.WaitGroup) {
	bounded(loops.Wait)
	consumers := w.consumers()
	for _, c := range consumers {
		w.buryAll(c.gen)
	}
	w.drained.Store(true)
	var stops sync.WaitGroup
	for _, c := range consumers {
		stops.Go(c.stop)
	}
	stops.Wait()
	close(w.pool.done)
	w.http.CloseIdleConnections()
}

func (w *Worker) consumers() []*consumer {
	w.flow.mu.Lock()
	defer w.flow.mu.Unlock()
	return append([]*consumer{w.flow.now}, w.flow.old...)
}

func (c *consumer) stop() {
	c.ChangeMaxInFlight(0)
	c.Stop()
	select {
	case <-c.StopChan:
	case <-time.After(stopTimeout):
	}
}

// buryAll answers all messages of a consumer that have no answer, and waits until that is written.
func (w *Worker) buryAll(gen int) {
	for _, n := range w.nodes.all() {
		n.buryAll(gen, time.Now())
	}
	ctx, cancel := context.WithTimeout(w.base, stopTimeout)
	defer cancel()
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for w.writing(gen) && ctx.Err() == nil {
		<-tick.C
	}
}

func (n *node) buryAll(gen int, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := n.links[gen]; k != nil {
		for i := len(k.leases) - 1; i >= 0; i-- {
			n.bury(k.leases[i], now)
		}
	}
}

func (w *Worker) writing(gen int) bool {
	for _, n := range w.nodes.all() {
		if n.writing(gen) {
			return true
		}
	}
	return false
}

func (n *node) writing(gen int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.links[gen]
	return k != nil && k.busy
}

// bounded waits for done, which may hang in a connect, for stopTimeout.
func bounded(wait func()) {
	done := make(chan struct{})
	go func() { wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(stopTimeout):
	}
}
