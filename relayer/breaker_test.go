package relayer

import (
	"testing"
	"time"
)

// breakerStep is one event at a moment, and what the breaker says after it.
type breakerStep struct {
	at   time.Duration
	do   string        // pass, good, bad, unused: of the last that passed; stale-…: of the first
	gate Gate          // after
	wait time.Duration // after, for whoever asks now
}

func runBreaker(t *testing.T, steps []breakerStep) {
	t.Helper()
	start := time.Now()
	b := newBreaker(start, func(d time.Duration) time.Duration { return d })
	var first, last int
	for i, s := range steps {
		now := start.Add(s.at)
		switch s.do {
		case "pass":
			if last = b.pass(); i == 0 {
				first = last
			}
		case "good", "bad":
			b.report(now, last, s.do == "good")
		case "stale-good", "stale-bad":
			b.report(now, first, s.do == "stale-good")
		case "unused":
			b.unused(now, last)
		}
		if wait := b.wait(now); b.Gate != s.gate || wait != s.wait {
			t.Fatalf("step %d, %s at %v: %v and wait %v, want %v and %v", i, s.do, s.at, b.Gate, wait, s.gate, s.wait)
		}
	}
}

// trip are the five bad results that shut a breaker at 0 s.
func trip() []breakerStep {
	steps := []breakerStep{{0, "pass", GateOpen, 0}}
	for range breakerFailures - 1 {
		steps = append(steps, breakerStep{0, "bad", GateOpen, 0})
	}
	return append(steps, breakerStep{0, "bad", GateShut, time.Second})
}

func TestBreakerProbesDoubleToThirtySeconds(t *testing.T) {
	steps, now := trip(), time.Duration(0)
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		now += wait * time.Second
		next := min(2*wait, 30) * time.Second
		steps = append(steps,
			breakerStep{now - 1, "", GateShut, 1},
			breakerStep{now, "", GateShut, 0},
			breakerStep{now, "pass", GateProbing, forever},
			breakerStep{now, "bad", GateShut, next})
	}
	runBreaker(t, steps)
}

func TestBreakerGoodProbeOpensAndForgets(t *testing.T) {
	steps := append(trip(),
		breakerStep{1 * time.Second, "pass", GateProbing, forever},
		breakerStep{2 * time.Second, "bad", GateShut, 2 * time.Second},
		breakerStep{4 * time.Second, "pass", GateProbing, forever},
		breakerStep{5 * time.Second, "good", GateOpen, 0},
		breakerStep{5 * time.Second, "pass", GateOpen, 0})
	for range breakerFailures - 1 {
		steps = append(steps, breakerStep{6 * time.Second, "bad", GateOpen, 0})
	}
	steps = append(steps, breakerStep{6 * time.Second, "bad", GateShut, time.Second})
	runBreaker(t, steps)
}

func TestBreakerGoodResultEndsTheRow(t *testing.T) {
	var steps []breakerStep
	steps = append(steps, breakerStep{0, "pass", GateOpen, 0})
	for range 3 {
		for range breakerFailures - 1 {
			steps = append(steps, breakerStep{0, "bad", GateOpen, 0})
		}
		steps = append(steps, breakerStep{0, "good", GateOpen, 0})
	}
	runBreaker(t, steps)
}

func TestBreakerUnusedProbeLetsAnotherGoAtOnce(t *testing.T) {
	runBreaker(t, append(trip(),
		breakerStep{1 * time.Second, "pass", GateProbing, forever},
		breakerStep{3 * time.Second, "unused", GateShut, 0},
		breakerStep{3 * time.Second, "pass", GateProbing, forever},
		breakerStep{4 * time.Second, "bad", GateShut, 2 * time.Second}))
}

// What was sent before the breaker shut says how the other side was.
func TestBreakerIgnoresResultsOfEarlierGates(t *testing.T) {
	runBreaker(t, append(trip(),
		breakerStep{0, "stale-good", GateShut, time.Second},
		breakerStep{0, "stale-bad", GateShut, time.Second},
		breakerStep{1 * time.Second, "pass", GateProbing, forever},
		breakerStep{1 * time.Second, "stale-good", GateProbing, forever},
		breakerStep{1 * time.Second, "stale-bad", GateProbing, forever},
		breakerStep{1 * time.Second, "good", GateOpen, 0},
		breakerStep{1 * time.Second, "stale-bad", GateOpen, 0}))
}

func TestBreakerStateTellsSinceWhenAndWhatNext(t *testing.T) {
	start := time.Now()
	b := newBreaker(start, func(d time.Duration) time.Duration { return d })
	shut := start.Add(time.Minute)
	for i := range breakerFailures {
		if changed, want := b.report(shut, b.pass(), false), i == breakerFailures-1; changed != want {
			t.Errorf("failure %d: changed = %v, want %v", i+1, changed, want)
		}
	}
	probe := b.pass()
	if changed := b.report(shut.Add(time.Second), probe, false); changed {
		t.Error("a bad probe changed a shut breaker")
	}
	want := BreakerState{Gate: GateShut, Since: shut, Next: shut.Add(3 * time.Second), Failures: breakerFailures + 1}
	if got := b.look(); got != want {
		t.Errorf("shut twice: %+v, want %+v", got, want)
	}
	opened := shut.Add(4 * time.Second)
	if changed := b.report(opened, b.pass(), true); !changed {
		t.Error("a good probe changed nothing")
	}
	if got, want := b.look(), (BreakerState{Gate: GateOpen, Since: opened}); got != want {
		t.Errorf("opened: %+v, want %+v", got, want)
	}
}

func TestBreakerJitterAddsUpToATenth(t *testing.T) {
	for range 1000 {
		if d := upToATenthMore(time.Second); d < time.Second || d > 1100*time.Millisecond {
			t.Fatalf("a second became %v", d)
		}
	}
}

func TestGateHasAName(t *testing.T) {
	for g, want := range map[Gate]string{GateOpen: "open", GateShut: "shut", GateProbing: "probing", 9: "unknown"} {
		if g.String() != want {
			t.Errorf("gate %d is %q, want %q", g, g.String(), want)
		}
	}
}
