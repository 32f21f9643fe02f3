//go:build !lean

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/internal/benchdb"
	"github.com/nsqrelayer/relayer/internal/config"
)

// benchPatience is for what takes no time unless something is wrong.
const benchPatience = time.Minute

// bench is one run.
type bench struct {
	cmd   *benchCmd
	app   *app
	given config.Config // what runs already
	count int
	log   *slog.Logger
	tag   string // tells the topic and the intents of this run from others

	parts benchParts
	stops []func() error // in the order of starts
	crew  []*benchHand
	tally *benchTally

	start time.Time     // from which on intents were due
	usage benchdb.Usage // of the measured phase
}

// run brings everything up, measures, and has the relayers drain.
func (b *bench) run(ctx context.Context) error {
	b.tag = strings.ToLower(rand.Text()[:10])
	for _, step := range []func(context.Context) error{b.startParts, b.fill, b.store} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	before, err := b.parts.db.Usage(ctx)
	if err != nil {
		return err
	}
	b.tally = newBenchTally(b.count, b.cmd.Scheduled)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if err := b.hire(ctx, fail); err != nil {
		return err
	}
	wal, err := b.measure(ctx)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	if err := b.dismiss(); err != nil {
		return err
	}
	after, err := b.parts.db.Usage(ctx)
	b.usage = benchdb.Usage{Commits: after.Commits - before.Commits, WAL: wal}
	return err
}

// stop ends what was started, in reverse.
func (b *bench) stop() (err error) {
	_ = b.dismiss() // told already, if it matters
	for i := len(b.stops) - 1; i >= 0; i-- {
		err = errors.Join(err, b.stops[i]())
	}
	b.stops = nil
	return err
}

// measure has all intents carried out, and tells how much log that wrote.
func (b *bench) measure(ctx context.Context) (wal int64, err error) {
	if b.cmd.Rate == 0 {
		if err := b.publish(ctx, time.Now()); err != nil {
			return 0, err
		}
	}
	before, err := b.parts.db.WAL(ctx)
	if err != nil {
		return 0, err
	}
	if err := b.carryOut(ctx); err != nil {
		return 0, err
	}
	after, err := b.parts.db.WAL(ctx)
	return after - before, err
}

// carryOut lets the relayers go and returns when every intent is at its end.
func (b *bench) carryOut(ctx context.Context) error {
	p := newProgress(b.app.stderr, "settled", b.count+b.cmd.Scheduled)
	defer p.finish()
	b.tally.show(p.add)
	if err := b.release(ctx); err != nil {
		return err
	}
	var publishing sync.WaitGroup
	failed := make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	defer publishing.Wait()
	defer stop()
	if b.cmd.Rate > 0 {
		b.start = time.Now()
		publishing.Go(func() {
			if err := b.publish(ctx, b.start); err != nil {
				failed <- err
			}
		})
	}
	select {
	case <-b.tally.all:
		return nil
	case err := <-failed:
		return fmt.Errorf("publish: %w", err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// benchTally is what became of each intent.
type benchTally struct {
	all chan struct{} // closed when every intent is at its end

	mu      sync.Mutex
	add     func(int)
	submits []int64 // when the sender was called, in Unix nanoseconds; 0: never
	ends    []int64 // when the end was written
	left    int
	settled int
	first   int64 // delivery
	due     int   // scheduled intents that are not settled yet
	dueEnd  int64 // when the last one that is was
}

func newBenchTally(count, due int) *benchTally {
	return &benchTally{all: make(chan struct{}), add: func(int) {}, submits: make([]int64, count), ends: make([]int64, count), left: count, due: due}
}

// show has every further end told.
func (t *benchTally) show(add func(int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add = add
}

// take adds what a relayer reports. What was told before is not counted again.
func (t *benchTally) take(r benchReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.First != 0 && (t.first == 0 || r.First < t.first) {
		t.first = r.First
	}
	more := 0
	for _, d := range r.Done {
		if d.N < 0 || d.N >= len(t.ends) || t.ends[d.N] != 0 {
			continue
		}
		t.submits[d.N], t.ends[d.N] = d.Submit, d.End
		if d.Settled {
			t.settled++
		}
		more++
	}
	t.add(more + r.Due)
	t.left -= more
	t.due -= r.Due
	t.dueEnd = max(t.dueEnd, r.DueEnd)
	if t.left == 0 && t.due == 0 && more+r.Due > 0 {
		close(t.all)
	}
}
