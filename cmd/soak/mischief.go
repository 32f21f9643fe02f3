package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// patience is how long a part may take to come back on a slow, busy machine.
const patience = 3 * time.Minute

// part is something that can be broken.
type part interface {
	// hurt breaks it in one way until ctx ends, and brings it back. Errors: it does not come back.
	hurt(ctx context.Context, k kind) error
}

// back brings a part back, although the context of its fault has ended.
func back(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return do(ctx)
}

// mischief breaks parts as a plan says.
type mischief struct {
	plan  *plan
	parts map[string]part
	tell  func(fault)

	mu     sync.Mutex
	broken map[string]chan struct{} // by part: closed when it is back
	counts map[string]int           // faults by part and kind
}

func newMischief(p *plan, parts map[string]part, tell func(fault)) *mischief {
	return &mischief{plan: p, parts: parts, tell: tell, broken: map[string]chan struct{}{}, counts: map[string]int{}}
}

// run breaks parts until ctx ends, and returns when all are back. Where one is not back yet when it is to be broken again,
// the plan waits for it: its order holds, its times are the earliest.
func (m *mischief) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for ctx.Err() == nil {
		f := m.plan.next()
		pause(ctx, time.Until(began.Add(f.at)))
		done, ok := m.take(ctx, f.part)
		if !ok {
			break
		}
		m.count(f)
		g.Go(func() error {
			defer close(done)
			return m.do(ctx, f)
		})
	}
	return g.Wait()
}

func (m *mischief) do(ctx context.Context, f fault) error {
	ctx, cancel := context.WithTimeout(ctx, f.lasts)
	defer cancel()
	if err := m.parts[f.part].hurt(ctx, f.kind); err != nil {
		return fmt.Errorf("%s does not come back after %s: %w", f.part, f.kind, err)
	}
	return nil
}

// take waits until the part is whole and keeps others from it until done is closed. ok is false when ctx ended.
func (m *mischief) take(ctx context.Context, name string) (done chan struct{}, ok bool) {
	if before := m.broken[name]; before != nil { // only run asks
		select {
		case <-before:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return nil, false
	}
	done = make(chan struct{})
	m.broken[name] = done
	return done, true
}

func (m *mischief) count(f fault) {
	m.mu.Lock()
	m.counts[kindOfPart(f.part)+" "+string(f.kind)]++
	m.mu.Unlock()
	m.tell(f)
}

// kindOfPart is a part's name without its number.
func kindOfPart(name string) string {
	name, _, _ = strings.Cut(name, "-")
	return name
}

// total is how many faults there were.
func (m *mischief) total() (sum int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.counts {
		sum += n
	}
	return sum
}

// tally tells how often what happened.
func tally(counts map[string]int) string {
	var words []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return strings.Join(words, ", ")
}
