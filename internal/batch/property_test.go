package batch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/internal/batch"
	"pgregory.net/rapid"
)

// One row is bad, ten callers leave before they are sealed, the answer to the first commit is lost.
func TestFiveHundredCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, leavers, bad = 500, 10, 77
		m := newModel(time.Millisecond, []fault{lostAfter}, nil)
		q := batch.New(m, keyOf, nil, batch.Config{MaxRows: 64})
		gone, cancel := context.WithCancel(t.Context())
		count := map[string]int{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for id := range callers {
			ctx := t.Context()
			if id < leavers {
				ctx = gone
			}
			wg.Go(func() {
				o := order{ID: id, Key: fmt.Sprint(id), Bad: id == bad}
				got, err := q.Do(ctx, o)
				mu.Lock()
				defer mu.Unlock()
				count[fmt.Sprint(err)]++
				if err := m.check(o, got, err); err != nil {
					t.Errorf("%d: %v", id, err)
				}
			})
		}
		synctest.Wait() // all stand in line
		cancel()
		synctest.Wait() // ten have left
		go q.Run()
		wg.Wait()
		q.Close()
		equal(t, "answers", count, map[string]int{"<nil>": 489, "insert: bad row": 1, "context canceled": 10})
	})
}

// Callers leave in the very moment of the seal, and cells go from one to the next, under the race detector.
func TestLeavingRacesWithSealing(t *testing.T) {
	t.Parallel()
	const callers, calls = 32, 200
	m := newModel(0, nil, nil)
	q := batch.New(m, keyOf, nil, batch.Config{MaxRows: 8})
	var run, wg sync.WaitGroup
	run.Go(q.Run)
	results := make([]call, callers*calls)
	for n := range callers {
		wg.Go(func() {
			for i := n; i < len(results); i += callers {
				c := &results[i]
				c.op = order{ID: i, Key: fmt.Sprint(i)}
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					wg.Go(cancel)
				}
				c.got, c.err = q.Do(ctx, c.op)
				cancel()
			}
		})
	}
	wg.Wait()
	q.Close()
	run.Wait()
	for _, c := range results {
		if err := m.check(c.op, c.got, c.err); err != nil {
			t.Errorf("%d: %v", c.op.ID, err)
		}
	}
}

// call is one caller of the property test, with what it got.
type call struct {
	op     order
	enters time.Duration // since the start
	stays  time.Duration // at most, before it leaves; 0: for ever
	got    int
	err    error
	times  int // answered
}

func (c *call) run(t *testing.T, q *batch.Queue[order, int]) {
	sleepFor(c.enters)
	ctx, cancel := context.WithCancel(t.Context())
	if c.stays > 0 {
		ctx, cancel = context.WithTimeout(t.Context(), c.stays)
	}
	defer cancel()
	c.got, c.err = q.Do(ctx, c.op)
	c.times++
}

// drawCalls gives calls in the order in which they enter. No two enter in the same microsecond.
func drawCalls(rt *rapid.T) []*call {
	out := make([]*call, rapid.IntRange(1, 40).Draw(rt, "calls"))
	for i := range out {
		c := &call{enters: upToMillis(rt, "enters", 30) + time.Duration(i)*time.Microsecond}
		c.op.Key = rapid.SampledFrom([]string{"a", "b", "c", fmt.Sprint(i), fmt.Sprint(i)}).Draw(rt, "key")
		c.op.Bad = rapid.IntRange(0, 9).Draw(rt, "bad") == 0
		if rapid.IntRange(0, 3).Draw(rt, "leaves") == 0 {
			c.stays = upToMillis(rt, "stays", 30) + time.Microsecond
		}
		out[i] = c
	}
	slices.SortFunc(out, func(a, b *call) int { return cmp.Compare(a.enters, b.enters) })
	for i, c := range out {
		c.op.ID = i + 1
	}
	return out
}

func drawModel(rt *rapid.T) *model {
	fs := rapid.SampledFrom([]fault{none, none, deadlock, down, lostBefore, lostAfter, lostLater, panicBefore, panicAfter})
	return newModel(
		upToMillis(rt, "commit lasts", 10),
		rapid.SliceOfN(fs, 0, 12).Draw(rt, "faults"),
		rapid.SliceOfN(rapid.Bool(), 0, 12).Draw(rt, "resolves"),
	)
}

func upToMillis(rt *rapid.T, label string, most int) time.Duration {
	return time.Duration(rapid.IntRange(0, most).Draw(rt, label)) * time.Millisecond
}

// checkBatches says whether a batch was too large, had a key twice, or had an operation after a later one of its key.
func checkBatches(m *model, cfg batch.Config) error {
	last := map[string]int{}
	for _, b := range m.batches {
		keys := map[string]bool{}
		for _, o := range b {
			if o.ID < last[o.Key] {
				return fmt.Errorf("%d went after %d", o.ID, last[o.Key])
			}
			last[o.Key], keys[o.Key] = o.ID, true
		}
		if len(b) > cfg.MaxRows || len(b)*rowBytes > cfg.MaxBytes || len(keys) != len(b) {
			return fmt.Errorf("%d rows with %d keys in a batch of at most %d rows, %d bytes", len(b), len(keys), cfg.MaxRows, cfg.MaxBytes)
		}
	}
	return nil
}

// checkLeft says whether a caller that was told it left was in a batch all the same.
func checkLeft(m *model, c *call) error {
	_, unsure := errors.AsType[*batch.UnsureError](c.err)
	if unsure || !errors.Is(c.err, context.DeadlineExceeded) && !errors.Is(c.err, batch.ErrClosed) {
		return nil
	}
	for _, b := range m.batches {
		if slices.Contains(b, c.op) {
			return fmt.Errorf("told %v, but it was in batch %v", c.err, b)
		}
	}
	return nil
}

const rowBytes = 8

// Whatever befalls the commits: each call is answered once and with its own answer, written at most once, and written
// if and only if it was told so.
func TestQueueAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		calls, m := drawCalls(rt), drawModel(rt)
		cfg := batch.Config{
			MaxRows:        rapid.IntRange(1, 20).Draw(rt, "max rows"),
			MaxBytes:       rapid.IntRange(1, 20).Draw(rt, "max bytes") * rowBytes,
			Repeats:        1,
			ResolveTimeout: upToMillis(rt, "resolve timeout", 4000) + 1,
		}
		closes := rapid.SampledFrom([]time.Duration{20 * time.Millisecond, time.Hour}).Draw(rt, "closes")
		synctest.Test(t, func(t *testing.T) {
			q := batch.New(m, keyOf, func(order) int { return rowBytes }, cfg)
			go q.Run()
			for _, c := range calls {
				go c.run(t, q)
			}
			sleepFor(closes)
			q.Close()
			sleepFor(time.Minute) // for calls that enter after that, and commits that land late
		})
		for _, c := range calls {
			if err := errors.Join(m.check(c.op, c.got, c.err), checkLeft(m, c)); err != nil || c.times != 1 {
				rt.Errorf("%+v: %v", *c, err)
			}
		}
		if err := checkBatches(m, cfg); err != nil {
			rt.Error(err)
		}
	})
}
