package main

import (
	"context"
	"sync/atomic"
)

// tally counts what is done, and tells once of the end or of the first error.
type tally struct {
	done atomic.Int64
	want int64
	end  chan error
}

func newTally(want int) *tally { return &tally{want: int64(want), end: make(chan error, 1)} }

// add takes what became of one piece of work.
func (t *tally) add(err error) {
	if err == nil && t.done.Add(1) != t.want {
		return
	}
	select {
	case t.end <- err:
	default: // told already
	}
}

// wait returns when all is done.
func (t *tally) wait(ctx context.Context) error {
	select {
	case err := <-t.end:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
