package relayer

import (
	"context"
	"sync"
	"time"
)

// bounded is a context with a deadline whose timer is made when somebody first waits for it. Most steps of a delivery are
// over before anybody does, and then a deadline costs nothing but the looks at the clock.
type bounded struct {
	parent   context.Context
	deadline time.Time

	mu    sync.Mutex
	timed context.Context // once somebody waits
	end   context.CancelFunc
	over  bool
}

// within bounds parent by a duration. cancel must be called when the step is over.
func within(parent context.Context, d time.Duration) (ctx context.Context, cancel func()) {
	return by(parent, time.Now().Add(d))
}

// by bounds parent by a time.
func by(parent context.Context, deadline time.Time) (ctx context.Context, cancel func()) {
	if before, ok := parent.Deadline(); ok && before.Before(deadline) {
		deadline = before
	}
	b := &bounded{parent: parent, deadline: deadline}
	return b, b.cancel
}

func (b *bounded) Deadline() (time.Time, bool) { return b.deadline, true }

// Done makes the timer.
func (b *bounded) Done() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timed == nil {
		b.timed, b.end = context.WithDeadline(b.parent, b.deadline)
		if b.over {
			b.end()
		}
	}
	return b.timed.Done()
}

func (b *bounded) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.timed != nil:
		return b.timed.Err()
	case b.parent.Err() != nil:
		return b.parent.Err()
	case b.over:
		return context.Canceled
	case !time.Now().Before(b.deadline):
		return context.DeadlineExceeded
	}
	return nil
}

// Value asks the context with the timer once there is one: contexts made from this one find their cancellation there.
func (b *bounded) Value(key any) any {
	b.mu.Lock()
	ctx := b.timed
	b.mu.Unlock()
	if ctx == nil {
		ctx = b.parent
	}
	return ctx.Value(key)
}

func (b *bounded) cancel() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.end != nil {
		b.end()
	}
}
