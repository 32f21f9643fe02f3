package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"pgregory.net/rapid"
)

// RunModel does random sequences of operations on a store and on a model of it side by side, and wants the same answers
// and the same rows. model makes an empty store; its clock must move on by more than a microsecond at each
// look. Times themselves are not compared, only what they decide.
func RunModel(t *testing.T, open func(t *testing.T) Harness, model func() Store) {
	real := open(t).Store
	ctx := context.WithoutCancel(t.Context())
	rapid.Check(t, func(rt *rapid.T) {
		w := newTwin(ctx, rt, real, model())
		for i := range rapid.IntRange(40, 80).Draw(rt, "steps") {
			rapid.SampledFrom(operations()).Draw(rt, "operation").do(w, rt)
			if i%4 == 0 {
				w.agree(rt)
			}
		}
		w.end(rt)
	})
}

// operation is one thing to do on both sides.
type operation struct {
	name string
	do   func(*twin, *rapid.T)
}

func (o operation) String() string { return o.name }

// operations lists what may be done. What leads deep into the states stands there more than once.
func operations() []operation {
	claim, attach, complete, record := operation{"claim", (*twin).claim}, operation{"attach", (*twin).attach}, operation{"complete", (*twin).complete}, operation{"record", (*twin).record}
	park, sweep := operation{"park", (*twin).park}, operation{"sweep", (*twin).sweep}
	return []operation{
		claim, claim, claim, claim, claim, attach, attach, complete, complete, record, record, record, park, park, sweep, sweep,
		{"take", (*twin).take}, {"create", (*twin).create}, {"authorize", (*twin).authorize}, {"cancel", (*twin).cancel},
		{"read", (*twin).read}, {"reclaim", (*twin).reclaim}, {"again", (*twin).again}, {"refuse", (*twin).refuse},
		{"pause", (*twin).pause}, {"credit", (*twin).credit}, {"signer", (*twin).signer},
		{"turn", (*twin).turn}, {"resolve", (*twin).resolve}, {"resolve", (*twin).resolve}, {"reviews", (*twin).reviews},
		{"prune", (*twin).prune},
	}
}

// side is one of the two stores, with what its callers remember. Keys and slot ids are its own.
type side struct {
	Store
	ctx    context.Context
	name   string
	reads  map[string]intents.Intent // what was last read, mostly outdated
	asked  []intents.Claim
	claims []intents.Claimed
	last   func() (string, error) // the last result written
}

// twin is both sides and the intents they are about.
type twin struct {
	sides [2]*side
	asked []intents.Intent
	tag   string
	n     int
}

func newTwin(ctx context.Context, rt *rapid.T, real, model Store) *twin {
	w := &twin{tag: fmt.Sprintf("m%08x", rand.Uint32())}
	for i, s := range []Store{real, model} {
		w.sides[i] = &side{Store: s, ctx: ctx, name: []string{"store", "model"}[i], reads: map[string]intents.Intent{}}
	}
	for i := range 8 {
		w.asked = append(w.asked, w.intent(i))
	}
	w.signer(rt)
	for _, in := range w.asked {
		if rapid.IntRange(0, 7).Draw(rt, "known") > 0 {
			w.both(rt, func(s *side) (string, error) { return s.keep(s.Take(ctx, full(in))) })
		}
	}
	return w
}

// intent makes one of the intents: 0 and 1 share a lane, 2 to 4 take counters, 5 names its slot, 6 is expired, 7 is not due.
func (w *twin) intent(i int) intents.Intent {
	in := intents.Intent{ID: fmt.Sprintf("%s.%d", w.tag, i), Route: w.tag, Account: fmt.Sprintf("%s.%d", w.tag, i%2), Destination: w.tag, Asset: "EUR", Amount: intents.NewAmount(10)}
	switch i {
	case 0, 1:
		in.Lane = "l"
	case 6:
		in.ExpiresAt = time.Now().Add(-time.Hour)
	case 7:
		in.NotBefore = time.Now().Add(time.Hour)
	}
	return in
}

// kindOf is the slot kind of an intent's sender: it does not change.
func (w *twin) kindOf(id string) intents.SlotKind {
	switch id[len(id)-1] {
	case '2', '3', '4':
		return intents.Counter
	case '5':
		return intents.Given
	}
	return intents.Key
}

// both does the same on both sides and wants the same answer.
func (w *twin) both(rt *rapid.T, do func(s *side) (string, error)) {
	var got [2]string
	for i, s := range w.sides {
		answer, err := do(s)
		got[i] = word(err) + " " + answer
	}
	if got[0] != got[1] {
		rt.Fatalf("answers differ:\n%s: %s\n%s: %s", w.sides[0].name, got[0], w.sides[1].name, got[1])
	}
}

// agree wants both sides to show the same rows and sums.
func (w *twin) agree(rt *rapid.T) {
	w.both(rt, func(s *side) (string, error) {
		ins, err := s.List(s.ctx, intents.Filter{Route: w.tag})
		return faces(ins), err
	})
	w.both(rt, func(s *side) (string, error) { return s.sums(w.tag) })
}

// end compares timelines and bytes, and lets both sides check themselves.
func (w *twin) end(rt *rapid.T) {
	w.agree(rt)
	for _, in := range w.asked {
		w.both(rt, func(s *side) (string, error) { return s.timeline(in.ID) })
	}
	w.both(rt, func(s *side) (string, error) {
		found, err := s.Audit(s.ctx)
		return fmt.Sprint(s.found(found)), err
	})
	w.both(rt, func(s *side) (string, error) { return s.fillers(w.tag) })
}

// found names the side when an audit finds anything, so that the two answers differ.
func (s *side) found(lines []string) []string {
	if len(lines) > 0 {
		return append(lines, "on "+s.name)
	}
	return nil
}

// pick draws one of the intents.
func (w *twin) pick(rt *rapid.T) intents.Intent {
	return w.asked[rapid.IntRange(0, len(w.asked)-1).Draw(rt, "intent")]
}

// unique gives a number nobody had: evidence tells results apart by it.
func (w *twin) unique() int {
	w.n++
	return w.n
}
