package evm

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// gather has questions share calls. One that finds no call under way goes at once, alone; what comes up meanwhile goes
// together when one has ended, or when one of them has waited for long enough. It is safe for concurrent use.
type gather[Q any] struct {
	ask   func(ctx context.Context, qs []Q) // answers each
	most  time.Duration                     // for one call
	size  int                               // questions in a call
	lanes int                               // calls under way before anybody waits

	mu      sync.Mutex
	waiting []*asked[Q]
	calls   int // under way
}

const (
	gatherMost = 32                    // plans in a call
	gatherWait = 50 * time.Millisecond // for a call under way; a slow one holds up nobody
)

// asked is a question on its way. Once it is in a call it belongs to that until done is closed.
type asked[Q any] struct {
	q     Q
	until time.Time  // its caller's deadline; zero: none
	in    *shared[Q] // nil: it waits
	done  chan struct{}
}

// shared is a call for several callers. It has a context of its own: who leaves does not end it for the others, but the
// last one does.
type shared[Q any] struct {
	asked    []*asked[Q]
	callers  int // that have not left
	cancel   context.CancelFunc
	panicked any
}

// all has questions answered, those of one caller in one call if they fit. Errors, one of each: a *leftError when ctx ends
// first, else none, and the question has its own. A panic of the call is its callers'.
func (g *gather[Q]) all(ctx context.Context, qs []Q) []error {
	errs := make([]error, len(qs))
	if err := ctx.Err(); err != nil {
		for i := range errs {
			errs[i] = &leftError{err: err}
		}
		return errs
	}
	for i, a := range g.enter(ctx, qs) {
		errs[i] = g.wait(ctx, a)
	}
	return errs
}

// leftError says that who asked left before there was an answer.
type leftError struct {
	begun bool // a call with the question is, or was, under way
	err   error
}

func (e *leftError) Error() string { return e.err.Error() }
func (e *leftError) Unwrap() error { return e.err }

func (g *gather[Q]) enter(ctx context.Context, qs []Q) []*asked[Q] {
	all := make([]*asked[Q], len(qs))
	until, _ := ctx.Deadline()
	for i, q := range qs {
		all[i] = &asked[Q]{q: q, until: until, done: make(chan struct{})}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, all...)
	if g.calls < g.lanes {
		g.send()
	}
	return all
}

// wait returns when a question is answered, or nobody waits for that any more.
func (g *gather[Q]) wait(ctx context.Context, a *asked[Q]) error {
	wait := time.NewTimer(gatherWait)
	defer wait.Stop()
	for {
		select {
		case <-a.done:
			if a.in.panicked != nil {
				panic(a.in.panicked)
			}
			return nil
		case <-wait.C:
			g.release(a)
		case <-ctx.Done():
			return &leftError{begun: g.leave(a), err: ctx.Err()}
		}
	}
}

// release has a question go that waits still, and with it all others.
func (g *gather[Q]) release(a *asked[Q]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.in == nil {
		g.send()
	}
}

func (g *gather[Q]) leave(a *asked[Q]) (begun bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.in == nil {
		g.waiting = slices.DeleteFunc(g.waiting, func(b *asked[Q]) bool { return a == b })
		return false
	}
	if a.in.callers--; a.in.callers == 0 {
		a.in.cancel()
	}
	return true
}

// send has all go that wait. It requires that g.mu is held.
func (g *gather[Q]) send() {
	for part := range slices.Chunk(g.waiting, g.size) {
		c := &shared[Q]{asked: part, callers: len(part)}
		ctx, cancel := context.WithDeadline(context.Background(), c.until(time.Now().Add(g.most)))
		c.cancel = cancel
		for _, a := range part {
			a.in = c
		}
		g.calls++
		go g.run(ctx, c)
	}
	g.waiting = nil
}

// until is the last deadline of its callers, but not after most.
func (c *shared[Q]) until(most time.Time) (last time.Time) {
	for _, a := range c.asked {
		if a.until.IsZero() || a.until.After(most) {
			return most
		}
		if a.until.After(last) {
			last = a.until
		}
	}
	return last
}

func (g *gather[Q]) run(ctx context.Context, c *shared[Q]) {
	defer g.end(c)
	defer func() {
		if v := recover(); v != nil {
			c.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
		}
	}()
	qs := make([]Q, len(c.asked))
	for i, a := range c.asked {
		qs[i] = a.q
	}
	g.ask(ctx, qs)
}

func (g *gather[Q]) end(c *shared[Q]) {
	c.cancel()
	for _, a := range c.asked {
		close(a.done)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.calls < g.lanes {
		g.send()
	}
}
