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
// together when that has ended, or when one of them has waited for long enough. It is safe for concurrent use.
type gather struct {
	ask  func(ctx context.Context, qs []*question) // answers each
	most time.Duration                             // for one call

	mu      sync.Mutex
	waiting []*asked
	calls   int // under way
}

const (
	gatherMost = 32                    // questions in a call
	gatherWait = 50 * time.Millisecond // for a call under way; a slow one holds up nobody
)

// asked is a question on its way. Once it is in a call it belongs to that until done is closed.
type asked struct {
	*question
	until time.Time // its caller's deadline; zero: none
	in    *shared   // nil: it waits
	done  chan struct{}
}

// shared is a call for several callers. It has a context of its own: who leaves does not end it for the others, but the
// last one does.
type shared struct {
	asked    []*asked
	callers  int // that have not left
	cancel   context.CancelFunc
	panicked any
}

// all has questions answered, those of one caller in one call if they fit. Errors, one of each: ctx's when that ends
// first, else none, and the question has its own. A panic of the call is its callers'.
func (g *gather) all(ctx context.Context, qs []*question) []error {
	errs := make([]error, len(qs))
	if err := ctx.Err(); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	for i, a := range g.enter(ctx, qs) {
		errs[i] = g.wait(ctx, a)
	}
	return errs
}

func (g *gather) enter(ctx context.Context, qs []*question) []*asked {
	all := make([]*asked, len(qs))
	until, _ := ctx.Deadline()
	for i, q := range qs {
		all[i] = &asked{question: q, until: until, done: make(chan struct{})}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, all...)
	if g.calls == 0 {
		g.send()
	}
	return all
}

// wait returns when a question is answered, or nobody waits for that any more.
func (g *gather) wait(ctx context.Context, a *asked) error {
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
			g.leave(a)
			return ctx.Err()
		}
	}
}

// release has a question go that waits still, and with it all others.
func (g *gather) release(a *asked) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.in == nil {
		g.send()
	}
}

func (g *gather) leave(a *asked) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.in == nil {
		g.waiting = slices.DeleteFunc(g.waiting, func(b *asked) bool { return a == b })
		return
	}
	if a.in.callers--; a.in.callers == 0 {
		a.in.cancel()
	}
}

// send has all go that wait. It requires that g.mu is held.
func (g *gather) send() {
	for part := range slices.Chunk(g.waiting, gatherMost) {
		c := &shared{asked: part, callers: len(part)}
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
func (c *shared) until(most time.Time) (last time.Time) {
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

func (g *gather) run(ctx context.Context, c *shared) {
	defer g.end(c)
	defer func() {
		if v := recover(); v != nil {
			c.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
		}
	}()
	qs := make([]*question, len(c.asked))
	for i, a := range c.asked {
		qs[i] = a.question
	}
	g.ask(ctx, qs)
}

func (g *gather) end(c *shared) {
	c.cancel()
	for _, a := range c.asked {
		close(a.done)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.calls == 0 {
		g.send()
	}
}
