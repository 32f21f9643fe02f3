package simtest

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
)

// TestSimulate plays seeds. Every one must keep the invariants, whatever goes wrong in it.
func TestSimulate(t *testing.T) {
	n := cmp.Or(asked.seeds, seedsByDefault)
	p := newProgress(n)
	defer p.finish()
	spread(t, n, func(t *testing.T, seed uint64) {
		o := Run(t, asked.first+seed)
		p.add()
		total.add(o)
		if o.Violation != "" || asked.trace {
			report(t, asked.first+seed, o)
		}
	})
	if asked.seeds == 0 {
		total.mustHaveSeen(t)
	}
}

// spread plays numbers on all processors.
func spread(t *testing.T, n uint64, play func(t *testing.T, i uint64)) {
	t.Helper()
	var next atomic.Uint64
	t.Run("seeds", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1) - 1; i < n && !t.Failed(); i = next.Add(1) - 1 {
					play(t, i)
				}
			})
		}
	})
}

func report(t *testing.T, seed uint64, o Outcome) {
	t.Helper()
	show := t.Logf
	if o.Violation != "" {
		show = t.Errorf
	}
	show("seed %d: %s\n%s\nagain: go test ./relayer/simtest -run TestSimulate -v -args -first %d -seeds 1 -trace",
		seed, o.Violation, strings.Join(o.Trace, "\n"), seed)
}

// summary adds up outcomes.
type summary struct {
	mu       sync.Mutex
	played   int
	violated int
	faults   map[string]int
	ended    map[string]int
	decided  map[string]int
	steps    int
}

func (s *summary) add(o Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults == nil {
		s.faults, s.ended, s.decided = map[string]int{}, map[string]int{}, map[string]int{}
	}
	for name, n := range o.Faults {
		s.faults[name] += n
	}
	for name, n := range o.Ended {
		s.ended[name] += n
	}
	for name, n := range o.Decided {
		s.decided[name] += n
	}
	s.played++
	s.steps += o.Steps
	if o.Violation != "" {
		s.violated++
	}
}

// String lists what went wrong on purpose, what people decided, and how intents ended.
func (s *summary) String() string {
	return fmt.Sprintf("%d steps\n\nfaults:\n%s\norders:\n%s\nintents:\n%s", s.steps, lines(s.faults), lines(s.decided), lines(s.ended))
}

func lines(m map[string]int) string {
	var out []string
	for name, n := range m {
		out = append(out, fmt.Sprintf("%8d  %s\n", n, name))
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(b, a) })
	return strings.Join(out, "")
}

// mustHaveSeen wants a run to have met with every fault and every end: what never happens is not tried.
func (s *summary) mustHaveSeen(t *testing.T) {
	t.Helper()
	for _, f := range everyFault() {
		if s.faults[f] == 0 {
			t.Errorf("the fault %q never happened", f)
		}
	}
	for _, end := range []string{"settled ", "failed declined", "failed expired", "failed refused", "canceled operator", "needs_review unknown_outcome"} {
		if s.ended[end] == 0 {
			t.Errorf("no intent ended %q", end)
		}
	}
	for _, verb := range []intents.Verb{intents.Settle, intents.Fail, intents.Retry} {
		for _, what := range []string{carriedOut, saidAgain, stale, notAllowed} {
			if name := string(verb) + " " + what; s.decided[name] == 0 {
				t.Errorf("no order was met by %q", name)
			}
		}
	}
}

func everyFault() []string {
	out := []string{}
	for _, f := range []fault{storeAway, deadlock, badRow, lostLanded, lostNothing, lostOnWay, lostDropped, stillAway, callAway, lateAnswer,
		cannotAsk, tooMany, notSent, lostRequest, lateRequest, lostReply, blowsUp, publishFails, publishLost, answerLost, slow} {
		out = append(out, string(f))
	}
	for _, m := range (&sim{}).pranks() {
		out = append(out, m.name)
	}
	return out
}

// TestReplays plays seeds twice: the traces are the same to the letter.
func TestReplays(t *testing.T) {
	spread(t, 50, func(t *testing.T, seed uint64) {
		first, second := Run(t, seed+1), Run(t, seed+1)
		for i := range max(len(first.Trace), len(second.Trace)) {
			if a, b := at(first.Trace, i), at(second.Trace, i); a != b {
				t.Errorf("seed %d parts at line %d:\n%s\n%s", seed+1, i, a, b)
				return
			}
		}
	})
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}
