package main

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// Exit codes of relayer run that are right at times: see relayer --help.
const (
	codeOK     = 0
	codeCut    = 1  // a drain cut sends
	codeDown   = 5  // Postgres was down when it started
	codeSignal = -1 // a signal ended it: before it could drain, or SIGKILL
)

const (
	drainWithin = 2 * time.Minute // far above drain-timeout, on a slow machine
	startPause  = time.Second     // before one that ended by itself is started again
)

// worker is a process of the relayer that is started again whenever it ends, as a service manager does.
type worker struct {
	name     string
	program  program
	orders   chan order
	gone     chan struct{} // closed when run has returned
	complain func(string)  // hears what a relayer must not do

	mu   sync.Mutex
	ends map[string]int // how its processes ended
}

// order is a fault to suffer until ctx ends.
type order struct {
	ctx  context.Context
	kind kind
	done chan struct{}
}

func newWorker(name string, p program, complain func(string)) *worker {
	return &worker{name: name, program: p, orders: make(chan order), gone: make(chan struct{}), complain: complain, ends: map[string]int{}}
}

// hurt breaks it. It is up again, as far as we can tell, when that returns.
func (w *worker) hurt(ctx context.Context, k kind) error {
	o := order{ctx, k, make(chan struct{})}
	select {
	case w.orders <- o:
		<-o.done
	case <-w.gone:
	}
	return nil
}

// run keeps a process up until ctx ends, then drains it.
// Errors: the program cannot be started.
func (w *worker) run(ctx context.Context) error {
	defer close(w.gone)
	for {
		c, err := w.program.start()
		if err != nil {
			return err
		}
		if over := w.tend(ctx, c); over {
			return nil
		}
	}
}

// tend returns when the process has ended, and says whether it was the last one.
func (w *worker) tend(ctx context.Context, c *child) (over bool) {
	for {
		select {
		case <-c.done:
			w.endedByItself(c)
			pause(ctx, startPause)
			return ctx.Err() != nil
		case o := <-w.orders:
			w.obey(o, c)
			if o.kind != freeze {
				close(o.done)
				return false
			}
			close(o.done)
		case <-ctx.Done():
			w.drain(c, true)
			return true
		}
	}
}

func (w *worker) obey(o order, c *child) {
	switch o.kind {
	case kill:
		c.kill()
		w.count("killed")
		<-o.ctx.Done()
	case restart:
		w.drain(c, false)
	case freeze:
		c.signal(syscall.SIGSTOP)
		<-o.ctx.Done()
		c.signal(syscall.SIGCONT)
	}
}

// drain ends it in order. In the end nothing is under way, so nothing may be cut.
func (w *worker) drain(c *child, end bool) {
	if !c.stop(drainWithin) {
		w.count("did not drain")
		w.complain(fmt.Sprintf("%s did not end within %s of SIGTERM; its log shows where it stood", w.name, drainWithin))
		return
	}
	switch code := c.code(); {
	case code == codeOK:
		w.count("drained")
	case code == codeCut && !end:
		w.count("drained, sends cut")
	case code == codeDown && !end, code == codeSignal && !end:
		w.count("ended before it was up")
	default:
		w.complain(fmt.Sprintf("%s ended with %v after SIGTERM", w.name, c.cmd.ProcessState))
	}
}

// endedByItself is right only while Postgres is down.
func (w *worker) endedByItself(c *child) {
	if c.code() == codeDown {
		w.count("ended before it was up")
		return
	}
	w.count("ended by itself")
	w.complain(fmt.Sprintf("%s ended by itself with %v", w.name, c.cmd.ProcessState))
}

func (w *worker) count(how string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends[how]++
}
