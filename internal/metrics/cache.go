package metrics

import (
	"context"
	"time"
)

// cache reads the store at most once in a while, however many scrapes come, and whether or not it can be read: a store
// that does not answer is not asked by each of them.
type cache[T any] struct {
	ask            func(ctx context.Context) (T, error)
	fresh, timeout time.Duration

	turn chan struct{} // has room for the one scrape that looks; it guards what follows
	at   time.Time     // when it was last read; zero: never
	last T
	err  error
}

func newCache[T any](fresh, timeout time.Duration, ask func(ctx context.Context) (T, error)) *cache[T] {
	return &cache[T]{ask: ask, fresh: fresh, timeout: timeout, turn: make(chan struct{}, 1)}
}

// read waits while another scrape reads, then shares what that one got.
func (c *cache[T]) read() (T, error) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if !c.at.IsZero() && time.Since(c.at) < c.fresh {
		return c.last, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	c.last, c.err = c.ask(ctx)
	c.at = time.Now()
	return c.last, c.err
}
