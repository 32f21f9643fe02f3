package main

import (
	"reflect"
	"testing"
	"time"
)

// faults are the first n of a plan.
func faults(seed uint64, workers, n int) []fault {
	p := newPlan(seed, time.Second, workers)
	all := make([]fault, n)
	for i := range all {
		all[i] = p.next()
	}
	return all
}

func TestPlanFollowsFromItsSeed(t *testing.T) {
	t.Parallel()
	if a, b := faults(1, 3, 500), faults(1, 3, 500); !reflect.DeepEqual(a, b) {
		t.Error("one seed, two plans")
	}
	if a, b := faults(1, 3, 500), faults(2, 3, 500); reflect.DeepEqual(a, b) {
		t.Error("two seeds, one plan")
	}
}

// A part that is broken, or just came back, is left alone; whatever may happen does.
func TestPlanBreaksNoPartTwiceAtOnce(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 3} {
		for seed := range uint64(20) {
			whole := map[string]time.Duration{}
			var last time.Duration
			for _, f := range faults(seed, workers, 500) {
				if f.at < last || f.at < whole[f.part] {
					t.Fatalf("seed %d: %v at %v, after %v, while %s is whole at %v only", seed, f, f.at, last, f.part, whole[f.part])
				}
				last, whole[f.part] = f.at, f.at+f.lasts+recovery
			}
		}
	}
}

func TestPlanHasEveryHarm(t *testing.T) {
	t.Parallel()
	seen := map[string]map[kind]bool{}
	for _, f := range faults(1, 3, 5000) {
		if seen[f.part] == nil {
			seen[f.part] = map[kind]bool{}
		}
		seen[f.part][f.kind] = true
	}
	for _, h := range harms(3) {
		if !seen[h.part][h.kind] {
			t.Errorf("%s never suffers %s", h.part, h.kind)
		}
	}
}

// With all parts broken at once the plan goes on when the first is back.
func TestPlanWaitsForAPart(t *testing.T) {
	t.Parallel()
	p := newPlan(1, time.Nanosecond, 1)
	p.harms = []harm{{part: "a", kind: kill, weight: 1, least: time.Minute, most: time.Minute}}
	first, second := p.next(), p.next()
	if second.at < first.at+time.Minute+recovery || second.at > first.at+time.Minute+3*recovery {
		t.Errorf("broken at %v for a minute, then at %v", first.at, second.at)
	}
}
