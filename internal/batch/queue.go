package batch

import (
	"context"
	"runtime"
	"sync"
)

// Queue gathers operations of one kind into batches. Make it with [New], start [Queue.Run] in a goroutine of its own,
// end it with [Queue.Close]. Do and Close may be called from any goroutine.
type Queue[Op, Ans any] struct {
	committer Committer[Op, Ans]
	key       func(Op) string
	size      func(Op) int
	cfg       Config
	cells     sync.Pool     // of *cell[Op, Ans]
	ended     chan struct{} // closed when Run returns

	mu      sync.Mutex
	some    sync.Cond        // waiting is not empty, or closed is set
	waiting []*cell[Op, Ans] // in order of arrival; those that left among them
	started bool             // Run has begun
	closed  bool             // Close has begun

	// Only Run's goroutine touches these. They are kept from batch to batch.
	sealed []*cell[Op, Ans]
	ops    []Op // the operations of sealed, index by index
	seen   map[string]struct{}
}

// New returns a queue that has not started yet.
//
// Operations with the same key never ride in one batch: the later one goes with the next, so that the store's own
// check of the row decides. size tells how many bytes of a batch an operation takes; nil means none. Both are called
// once an operation, in the caller's goroutine.
func New[Op, Ans any](c Committer[Op, Ans], key func(Op) string, size func(Op) int, cfg Config) *Queue[Op, Ans] {
	q := &Queue[Op, Ans]{
		committer: c,
		key:       key,
		size:      size,
		cfg:       cfg.withDefaults(),
		ended:     make(chan struct{}),
		seen:      make(map[string]struct{}),
	}
	q.cells.New = func() any { return newCell[Op, Ans]() }
	q.some.L = &q.mu
	return q
}

// Do hands op to the next batch that has room and returns its answer.
//
// If ctx ends before op is sealed, Do returns ctx.Err() and nothing was or will be written for op. After that Do waits
// for the true answer, however long ctx has ended. That takes no longer than the batch under way and its own, each
// within the commit timeout and the resolve timeout, or a multiple of them if a batch must be split.
//
// Errors: ErrClosed and ctx.Err(): nothing was written. *UnsureError: not known. Else what the Committer answered.
func (q *Queue[Op, Ans]) Do(ctx context.Context, op Op) (ans Ans, err error) {
	c := q.newCell(op)
	if err := q.enter(ctx, c); err != nil {
		q.recycle(c)
		return ans, err
	}
	var a Answer[Ans]
	select {
	case a = <-c.done:
	case <-ctx.Done():
		if c.leave() {
			return ans, ctx.Err() // the queue still has the cell, and recycles it
		}
		a = <-c.done
	}
	q.recycle(c)
	return a.Value, a.Err
}

// enter puts c at the end of the line.
func (q *Queue[Op, Ans]) enter(ctx context.Context, c *cell[Op, Ans]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.waiting = append(q.waiting, c)
	q.some.Signal()
	return nil
}

// Run commits batch after batch and returns after Close, when the last sealed batch is answered. It may be called once.
func (q *Queue[Op, Ans]) Run() {
	if !q.start() {
		return
	}
	defer close(q.ended)
	for q.seal() {
		q.work()
		runtime.Gosched() // lets those just answered step up with their next: fuller batches, and no wait if nobody runs
	}
}

func (q *Queue[Op, Ans]) start() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.started {
		panic("batch: Run called twice")
	}
	q.started = !q.closed
	return q.started
}

// Close answers what is not sealed with ErrClosed, and returns when the sealed batch is committed and answered and Run
// makes no more calls. It may be called again, but not from a Committer.
func (q *Queue[Op, Ans]) Close() {
	q.mu.Lock()
	q.closed = true
	for _, c := range q.waiting {
		if c.seal() {
			c.done <- Answer[Ans]{Err: ErrClosed}
		} else {
			q.recycle(c)
		}
	}
	q.waiting = nil
	started := q.started
	q.some.Signal()
	q.mu.Unlock()
	if started {
		<-q.ended
	}
}
