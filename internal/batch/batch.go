// Package batch carries many callers' operations to a store in few transactions.
//
// A [Queue] collects what waits, seals it, has its [Committer] commit it, and answers each caller. It never waits for
// company: a batch is what piled up during the last commit, and an operation that finds the queue idle goes at once,
// alone. Until its operation is sealed a caller may leave, and then nothing is written for it. After that it waits for
// the true answer, while the batch runs on a context of its own.
//
// A queue holds one kind of operation. It knows neither SQL nor what the operations mean.
package batch

import (
	"context"
	"log/slog"
	"time"
)

// Committer writes batches for one [Queue]. The queue calls it from one goroutine, one call at a time.
//
// Both methods get the operations in the order in which they arrived and return one answer for each, in the same
// order. They must return soon after ctx ends, and may neither change ops nor keep it.
type Committer[Op, Ans any] interface {
	// Commit writes ops as one unit: all of it or nothing. An operation that the store refuses by itself (it lost a
	// race, say) has its error in its answer; the others are written.
	//
	// Errors: one marked by [Repeat]: nothing was written, the same batch may run again. One marked by [BadRow]:
	// nothing was written, some row is at fault, the queue halves the batch. An [*UnsureError] (see [Unsure]):
	// perhaps it was written, the queue asks Resolve. Any other error: nothing was written and each caller gets the
	// error. A panic counts as unsure.
	Commit(ctx context.Context, ops []Op) ([]Answer[Ans], error)

	// Resolve tells what became of each operation of an unsure commit, and waits for that commit if it is still on
	// its way. An operation that was not written has an error in its answer. ops are those of that Commit: a half,
	// if it was a half.
	//
	// Errors: any error means nothing is known yet; the queue asks again until the resolve timeout.
	Resolve(ctx context.Context, ops []Op) ([]Answer[Ans], error)
}

// Answer is what became of one operation.
type Answer[Ans any] struct {
	Value Ans
	Err   error // nil: written. Else: nothing was written for this operation, unless it is an [*UnsureError].
}

// Config bounds a queue. The zero Config is ready for use.
type Config struct {
	// MaxRows is the most operations in a batch. Default 512.
	MaxRows int

	// MaxBytes is the most bytes in a batch, by the size given to [New]. One larger operation goes alone. Default 1 MiB.
	MaxBytes int

	// CommitTimeout bounds the commit of one batch, repeats included. Each half of a split batch has its own.
	// Default 5 s.
	CommitTimeout time.Duration

	// ResolveTimeout bounds the finding out after an unsure commit. Default 5 s.
	ResolveTimeout time.Duration

	// Repeats is how often a batch is run again after [Repeat]. Default 5; negative means never.
	Repeats int

	// Pause is the longest pause before the first repeat. It doubles with each further one, up to 1 s, and Jitter
	// draws from it. The same pauses stand between calls of Resolve. Default 10 ms.
	Pause time.Duration

	// Jitter draws each pause from the time it is at most. Default: half of it and up to the other half more.
	Jitter func(most time.Duration) time.Duration

	// Observe, if set, is told of every sealed batch once all of it is answered: its rows, and the time from seal to
	// last answer, halves and repeats included. The queue stands still while it runs.
	Observe func(rows int, took time.Duration)

	// Logger hears of lost answers, panics and split batches. Default: none.
	Logger *slog.Logger
}

// longestPause ends the doubling of [Config.Pause].
const longestPause = time.Second

func (c Config) withDefaults() Config {
	c.MaxRows = positiveOr(c.MaxRows, 512)
	c.MaxBytes = positiveOr(c.MaxBytes, 1<<20)
	c.CommitTimeout = positiveOr(c.CommitTimeout, 5*time.Second)
	c.ResolveTimeout = positiveOr(c.ResolveTimeout, 5*time.Second)
	c.Pause = positiveOr(c.Pause, 10*time.Millisecond)
	if c.Repeats == 0 {
		c.Repeats = 5
	}
	if c.Observe == nil {
		c.Observe = func(int, time.Duration) {}
	}
	if c.Jitter == nil {
		c.Jitter = halfAtLeast
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func positiveOr[N int | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}
