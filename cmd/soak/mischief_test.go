package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowPart comes back later than it should.
type slowPart struct {
	takes  time.Duration
	broken atomic.Int32
	twice  atomic.Bool
	times  atomic.Int32
}

func (p *slowPart) hurt(ctx context.Context, _ kind) error {
	if p.broken.Add(1) > 1 {
		p.twice.Store(true)
	}
	p.times.Add(1)
	<-ctx.Done()
	time.Sleep(p.takes)
	p.broken.Add(-1)
	return nil
}

// partsOf are all parts of a plan, made by a function.
func partsOf(make func() part) map[string]part {
	parts := map[string]part{}
	for _, h := range harms(3) {
		if parts[h.part] == nil {
			parts[h.part] = make()
		}
	}
	return parts
}

// However long a part takes to come back, it is not broken again before; and the order is that of the plan.
func TestMischiefWaitsForAPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []fault
		parts := partsOf(func() part { return &slowPart{takes: 20 * time.Second} })
		m := newMischief(newPlan(1, time.Second, 3), parts, func(f fault) { told = append(told, f) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := m.run(ctx); err != nil {
			t.Error(err)
		}
		sum := 0
		for name, p := range parts {
			slow := p.(*slowPart)
			if slow.twice.Load() || slow.broken.Load() != 0 || slow.times.Load() == 0 {
				t.Errorf("%s: broken %d times, twice at once %v, left broken %d", name, slow.times.Load(), slow.twice.Load(), slow.broken.Load())
			}
			sum += int(slow.times.Load())
		}
		if sum != m.total() || sum != len(told) || sum < 500 {
			t.Errorf("%d faults, counted %d, told %d", sum, m.total(), len(told))
		}
		for i, f := range faults(1, 3, len(told)) {
			if f != told[i] {
				t.Fatalf("fault %d is %v, want %v", i, told[i], f)
			}
		}
	})
}

// deadPart never comes back.
type deadPart struct{}

var errDead = errors.New("dead")

func (deadPart) hurt(context.Context, kind) error { return errDead }

func TestMischiefEndsWhenAPartStaysBroken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMischief(newPlan(1, time.Second, 3), partsOf(func() part { return deadPart{} }), func(fault) {})
		if err := m.run(t.Context()); !errors.Is(err, errDead) {
			t.Errorf("error is %v, want that of the part", err)
		}
	})
}
