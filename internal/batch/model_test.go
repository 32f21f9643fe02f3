package batch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/internal/batch"
)

// order is an operation on the model store.
type order struct {
	ID  int
	Key string
	Bad bool
}

// fault is what befalls one call of the model store.
type fault int

const (
	none       fault = iota
	deadlock         // nothing written, may repeat
	down             // nothing written
	lostBefore       // the answer is lost, nothing written
	lostAfter        // the answer is lost, all written
	lostLater        // the answer is lost, all is written two seconds later
	panicBefore
	panicAfter
)

var (
	errBad  = errors.New("bad row")
	errRace = errors.New("lost the race")
)

// model is a store in which the first order of a key wins. It writes a batch whole or not at all.
type model struct {
	lasts    time.Duration // one call
	plan     []fault       // for one call after the other, then none
	resolves []bool        // false: this call of Resolve fails; then none

	mu      sync.Mutex
	winners map[string]int // id by key
	writes  map[int]int    // how often each id was written
	landing chan struct{}  // closed once a late commit has landed
	batches [][]order
}

func (m *model) Commit(_ context.Context, ops []order) ([]batch.Answer[int], error) {
	m.batches = append(m.batches, slices.Clone(ops))
	sleepFor(m.lasts)
	if slices.ContainsFunc(ops, func(o order) bool { return o.Bad }) {
		return nil, fmt.Errorf("insert: %w", batch.BadRow(errBad))
	}
	f := none
	if len(m.plan) > 0 {
		f, m.plan = m.plan[0], m.plan[1:]
	}
	switch f {
	case deadlock:
		return nil, batch.Repeat(errDeadlock)
	case down:
		return nil, errDown
	case lostBefore:
		return nil, batch.Unsure(io.EOF)
	case lostLater:
		m.writeLater(ops)
		return nil, batch.Unsure(io.EOF)
	case panicBefore:
		panic("before")
	}
	out := m.write(ops)
	switch f {
	case lostAfter:
		return nil, batch.Unsure(io.EOF)
	case panicAfter:
		panic("after")
	}
	return out, nil
}

func (m *model) write(ops []order) []batch.Answer[int] {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range ops {
		if _, taken := m.winners[o.Key]; !taken {
			m.winners[o.Key] = o.ID
			m.writes[o.ID]++
		}
	}
	return m.answers(ops, errRace)
}

func (m *model) answers(ops []order, otherwise error) []batch.Answer[int] {
	out := make([]batch.Answer[int], len(ops))
	for i, o := range ops {
		out[i].Value = o.ID
		if m.winners[o.Key] != o.ID {
			out[i].Err = otherwise
		}
	}
	return out
}

func (m *model) writeLater(ops []order) {
	m.landing = make(chan struct{})
	ops = slices.Clone(ops)
	go func(landed chan struct{}) {
		defer close(landed)
		sleepFor(2 * time.Second)
		m.write(ops)
	}(m.landing)
}

func (m *model) Resolve(ctx context.Context, ops []order) ([]batch.Answer[int], error) {
	if len(m.resolves) > 0 {
		ok := m.resolves[0]
		m.resolves = m.resolves[1:]
		if !ok {
			return nil, errDown
		}
	}
	if m.landing != nil { // as `for update` waits
		select {
		case <-m.landing:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answers(ops, errNotThere), nil
}

func newModel(lasts time.Duration, plan []fault, resolves []bool) *model {
	return &model{lasts: lasts, plan: plan, resolves: resolves, winners: map[string]int{}, writes: map[int]int{}}
}

// sleepFor stands for work that takes time. In a bubble the clock is not real.
func sleepFor(d time.Duration) { <-time.After(d) }

func keyOf(o order) string { return o.Key }

// check says what is wrong with the answer to o, given what the store holds.
func (m *model) check(o order, got int, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	writes := m.writes[o.ID]
	_, unsure := errors.AsType[*batch.UnsureError](err)
	switch {
	case writes > 1:
		return fmt.Errorf("written %d times", writes)
	case err == nil && (writes != 1 || got != o.ID):
		return fmt.Errorf("told that %d is written, written %d times", got, writes)
	case err != nil && !unsure && writes != 0:
		return fmt.Errorf("told %q, but written", err)
	case o.Bad && err == nil, !o.Bad && errors.Is(err, errBad):
		return fmt.Errorf("bad=%t, told %v", o.Bad, err)
	}
	return nil
}
