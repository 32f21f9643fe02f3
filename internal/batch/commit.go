package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

// work carries the sealed batch through to the last answer.
func (q *Queue[Op, Ans]) work() {
	rows, start := len(q.ops), time.Now()
	q.commit(q.sealed, q.ops)
	q.reset()
	q.cfg.Observe(rows, time.Since(start))
}

// commit answers every cell; ops are the operations of cells. A batch with a bad row is halved until that row stands
// alone, the first half first, so that the order stays.
func (q *Queue[Op, Ans]) commit(cells []*cell[Op, Ans], ops []Op) {
	answers, err := q.try(ops)
	switch m := markOf(err); {
	case err == nil:
		q.give(cells, answers)
	case m == unsure:
		q.resolve(cells, ops, err)
	case m == badRow && len(ops) > 1:
		q.cfg.Logger.WarnContext(context.Background(), "batch halved", "rows", len(ops), "error", err)
		half := len(ops) / 2
		q.commit(cells[:half], ops[:half])
		q.commit(cells[half:], ops[half:])
	default:
		giveAll(cells, unmarked(err))
	}
}

// try commits ops, and again while the committer asks for it and there is time.
func (q *Queue[Op, Ans]) try(ops []Op) (answers []Answer[Ans], err error) {
	ctx, cancel := context.WithTimeout(context.Background(), q.cfg.CommitTimeout)
	defer cancel()
	pause := q.pauses()
	for n := 0; ; n++ {
		answers, err = q.call(ctx, q.committer.Commit, ops)
		if markOf(err) != repeat || n >= q.cfg.Repeats || !sleep(ctx, pause()) {
			return answers, err
		}
	}
}

// resolve asks what became of ops until it is told or the time is over. cause is why that is not known.
func (q *Queue[Op, Ans]) resolve(cells []*cell[Op, Ans], ops []Op, cause error) {
	ctx, cancel := context.WithTimeout(context.Background(), q.cfg.ResolveTimeout)
	defer cancel()
	log := q.cfg.Logger.With("rows", len(ops))
	log.WarnContext(ctx, "commit unsure", "error", cause)
	pause := q.pauses()
	for {
		answers, err := q.call(ctx, q.committer.Resolve, ops)
		if err == nil {
			q.give(cells, answers)
			return
		}
		if !sleep(ctx, pause()) {
			log.ErrorContext(ctx, "commit stays unsure", "error", err)
			giveAll(cells, &UnsureError{Err: errors.Join(reason(cause), reason(err))})
			return
		}
	}
}

// call runs one method of the committer. A panic in it becomes an *UnsureError: it may have come after the commit.
func (q *Queue[Op, Ans]) call(ctx context.Context, method func(context.Context, []Op) ([]Answer[Ans], error), ops []Op) (answers []Answer[Ans], err error) {
	defer func() {
		if v := recover(); v != nil {
			q.cfg.Logger.ErrorContext(ctx, "committer panicked", "panic", v, "stack", string(debug.Stack()))
			answers, err = nil, &UnsureError{Err: fmt.Errorf("committer panicked: %v", v)}
		}
	}()
	return method(ctx, ops)
}

// give hands each cell its answer. After that the cell is its caller's. A committer that gives another number of
// answers is broken, and which of them would be whose is anybody's guess.
func (q *Queue[Op, Ans]) give(cells []*cell[Op, Ans], answers []Answer[Ans]) {
	if len(answers) != len(cells) {
		err := fmt.Errorf("committer gave %d answers to %d operations", len(answers), len(cells))
		q.cfg.Logger.ErrorContext(context.Background(), "committer broken", "error", err)
		giveAll(cells, &UnsureError{Err: err})
		return
	}
	for i, c := range cells {
		c.done <- answers[i]
	}
}

func giveAll[Op, Ans any](cells []*cell[Op, Ans], err error) {
	for _, c := range cells {
		c.done <- Answer[Ans]{Err: err}
	}
}

// pauses returns the pauses of one batch, one after the other.
func (q *Queue[Op, Ans]) pauses() func() time.Duration {
	next := min(q.cfg.Pause, longestPause)
	return func() time.Duration {
		d := next
		next = min(2*next, longestPause)
		return q.cfg.Jitter(d)
	}
}

func halfAtLeast(most time.Duration) time.Duration { return most/2 + rand.N(most/2+1) }

// sleep waits for d; false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
