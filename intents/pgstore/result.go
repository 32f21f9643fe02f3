package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/batch"
)

// resultOp is a decision about one intent: a result, an observation, an operator's order.
type resultOp struct {
	key  int64
	size int // bytes it carries
	// decide makes the change. It may be asked again, with the row as it stands then. The change is written also with an
	// error, and the intent goes back beside it.
	decide func(in intents.Intent, now time.Time) (intents.Change, error)
	// ended, if set, is the claim and the result that decide writes; asked again they are known by the event they left.
	ended *ending
}

// results commits decisions. What it works with is kept from batch to batch; the queue keeps none of the answers.
type results struct {
	*link
	held    held
	sheet   sheet
	answers []batch.Answer[intents.Intent]
}

// Commit locks, decides and writes, in one transaction.
func (c *results) Commit(ctx context.Context, ops []resultOp) ([]batch.Answer[intents.Intent], error) {
	err := c.tx(ctx, func(ctx context.Context) error {
		ks := make([]int64, len(ops))
		for i, op := range ops {
			ks[i] = op.key
		}
		if err := c.held.lock(ctx, c, ks); err != nil {
			return err
		}
		told, err := readEndings(ctx, c, ops, c.held)
		if err != nil {
			return err
		}
		c.decide(ops, told)
		_, err = c.sheet.write(ctx, c)
		return err
	})
	return c.answers, err
}

// Resolve decides again: a change that was written is told by the row or by its event.
func (c *results) Resolve(ctx context.Context, ops []resultOp) ([]batch.Answer[intents.Intent], error) {
	return c.Commit(ctx, ops)
}

// decide makes every change of a batch. No intent is in it twice.
func (c *results) decide(ops []resultOp, told map[int64]intents.Event) {
	h := &c.held
	c.sheet.clear(len(ops))
	c.answers = blank(c.answers, len(ops))
	for i, op := range ops {
		r := h.rows[op.key]
		if r == nil {
			c.answers[i].Err = intents.ErrNotFound
			continue
		}
		ch, err := op.decide(r.Intent, h.now)
		if e, found := told[op.key]; err != nil && found && op.ended.left(e) {
			c.answers[i].Value = show(r.Intent, h.now)
			continue
		}
		c.answers[i] = batch.Answer[intents.Intent]{Value: show(c.sheet.add(r, ch, r.looks), h.now), Err: err}
	}
}

// blank gives so many zero values, in the memory of those that are no longer needed.
func blank[T any](old []T, n int) []T {
	old = slices.Grow(old[:0], n)[:n]
	clear(old)
	return old
}

// decide hands one decision to the committer of results.
func (s *Store) decide(ctx context.Context, key int64, size int, decide func(intents.Intent, time.Time) (intents.Change, error)) (intents.Intent, error) {
	in, err := s.results.Do(ctx, resultOp{key: key, size: size, decide: decide})
	return in, answered(err)
}
