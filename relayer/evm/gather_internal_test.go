package evm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// desk answers each question with its own gas, and a second later. It keeps what each call asked.
type desk struct {
	mu    sync.Mutex
	calls [][]uint64
	ends  []time.Duration // of each call's context, from its start
	cut   int             // calls that were ended
}

func (d *desk) ask(ctx context.Context, qs []*question) {
	var gas []uint64
	for _, q := range qs {
		gas = append(gas, q.gas)
		if q.gas == 666 {
			panic("broken")
		}
	}
	end, _ := ctx.Deadline()
	d.mu.Lock()
	d.calls, d.ends = append(d.calls, gas), append(d.ends, time.Until(end))
	d.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		d.mu.Lock()
		d.cut++
		d.mu.Unlock()
	}
	for _, q := range qs {
		q.answer, q.err = quote{gas: q.gas}, ctx.Err()
	}
}

func (d *desk) gather() *gather[*question] {
	return &gather[*question]{ask: d.ask, most: 10 * time.Second, size: gatherMost, lanes: 1}
}

// put asks in goroutines, one for each gas, and gives a function that waits for all.
func put(t *testing.T, ctx context.Context, g *gather[*question], gas ...uint64) (wait func()) {
	var all sync.WaitGroup
	for _, n := range gas {
		all.Go(func() {
			if q, err := quoteOf(ctx, g, &question{gas: n}); err != nil || q.gas != n {
				t.Errorf("question %d: answer %d, %v", n, q.gas, err)
			}
		})
	}
	synctest.Wait()
	return all.Wait
}

func upTo(n uint64) (all []uint64) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

// TestGather: the first goes at once and alone, those that come meanwhile go together, in calls of a bounded size.
func TestGather(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		g := d.gather()
		start := time.Now()
		put(t, t.Context(), g, 1)()
		if took := time.Since(start); took != time.Second {
			t.Errorf("alone it took %v, want no longer than its call", took)
		}
		first := put(t, t.Context(), g, 1000)
		time.Sleep(time.Second - gatherWait + 1) // so that its end comes before anybody has waited for long
		rest := put(t, t.Context(), g, upTo(2*gatherMost+1)...)
		first()
		rest()
		sizes := make([]int, len(d.calls))
		for i, c := range d.calls {
			sizes[i] = len(c)
		}
		slices.Sort(sizes)
		if want := []int{1, 1, 1, gatherMost, gatherMost}; !slices.Equal(sizes, want) {
			t.Errorf("calls of %v questions, want %v", sizes, want)
		}
	})
}

// TestGatherSlow: a call that takes long holds up nobody for long.
func TestGatherSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		g := d.gather()
		first := put(t, t.Context(), g, 1)
		start := time.Now()
		put(t, t.Context(), g, 2, 3)()
		if took := time.Since(start); took != time.Second+gatherWait {
			t.Errorf("behind a slow call it took %v, want %v more than alone", took, gatherWait)
		}
		first()
		if len(d.calls) != 2 || len(d.calls[1]) != 2 {
			t.Errorf("calls %v, want the second and the third together", d.calls)
		}
	})
}

// TestGatherLeave: who leaves is told so at once, and ends nothing for the others; the last one ends the call. One that
// has not gone yet never goes.
func TestGatherLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		g := d.gather()
		leaver := func(n uint64) (leave func()) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() {
				_, err := quoteOf(ctx, g, &question{gas: n})
				done <- err
			}()
			synctest.Wait()
			return func() {
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("question %d, left: %v", n, err)
				}
			}
		}
		alone := leaver(1)
		early := leaver(2)
		midway := leaver(3)
		stays := put(t, t.Context(), g, 4)
		early()
		alone()
		synctest.Wait() // the end of a call that nobody wants any more has the others go
		midway()
		stays()
		if len(d.calls) != 2 || !slices.Equal(d.calls[0], []uint64{1}) || !slices.Equal(d.calls[1], []uint64{3, 4}) {
			t.Errorf("calls %v, want 1 alone, and 3 with 4", d.calls)
		}
		if d.cut != 1 {
			t.Errorf("%d calls were cut, want the one that all have left", d.cut)
		}
	})
}

// TestGatherEnds: a call has the time that its most patient caller has, and no more than one call may take.
func TestGatherEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		g := d.gather()
		within := func(most time.Duration) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), most)
			t.Cleanup(cancel)
			return ctx
		}
		first := put(t, within(3*time.Second), g, 1)
		short := put(t, within(4*time.Second), g, 2)
		long := put(t, within(5*time.Second), g, 3)
		first()
		short()
		long()
		put(t, within(time.Hour), g, 4)()
		put(t, t.Context(), g, 5)()
		want := []time.Duration{3 * time.Second, 5*time.Second - gatherWait, 10 * time.Second, 10 * time.Second}
		if !slices.Equal(d.ends, want) {
			t.Errorf("calls have %v, want %v", d.ends, want)
		}
	})
}

// TestGatherPanics: a panic of the call is a panic of each of its callers, who know what to do about it.
func TestGatherPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		g := d.gather()
		first := put(t, t.Context(), g, 1)
		var all sync.WaitGroup
		for _, n := range []uint64{666, 2} {
			all.Go(func() {
				defer func() {
					if v, _ := recover().(string); !strings.Contains(v, "broken") {
						t.Errorf("question %d: panic %q, want the call's", n, v)
					}
				}()
				_, _ = quoteOf(t.Context(), g, &question{gas: n})
			})
		}
		first()
		all.Wait()
		put(t, t.Context(), g, 3)()
	})
}

// quoteOf has one question answered.
func quoteOf(ctx context.Context, g *gather[*question], q *question) (quote, error) {
	if err := g.all(ctx, []*question{q})[0]; err != nil {
		return quote{}, err
	}
	return q.answer, q.err
}
