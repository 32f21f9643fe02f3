package main

import (
	"strings"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
)

// ended is what became of one intent: its state, zero when it is not stored, and its effects.
type ended struct {
	state   intents.State
	effects int
}

func booksOf(all map[string]ended) books {
	b := books{rows: map[string]intents.Intent{}, effects: map[string]int{}}
	for id, e := range all {
		in := intents.Intent{ID: id, State: e.state}
		b.begun = append(b.begun, in)
		if e.state != 0 {
			b.rows[id] = in
		}
		b.effects[id] = e.effects
	}
	return b
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ended ended
		last  string
		wrong string // empty: right
	}{
		"settled once":          {ended{intents.Settled, 1}, "soak: 2 intents, effects 2, twice 0, lost 0", ""},
		"settled twice":         {ended{intents.Settled, 2}, "soak: 2 intents, effects 3, twice 1, lost 0", "has 2 effects"},
		"settled for nothing":   {ended{intents.Settled, 0}, "soak: 2 intents, effects 1, twice 0, lost 1", "is settled, and has no effect"},
		"not stored":            {ended{0, 0}, "soak: 2 intents, effects 1, twice 0, lost 1", "is not stored"},
		"done and not stored":   {ended{0, 1}, "soak: 2 intents, effects 2, twice 0, lost 1", "is not stored"},
		"stuck":                 {ended{intents.Authorized, 0}, "soak: 2 intents, effects 1, twice 0, lost 1", "is authorized still, and has no effect"},
		"stuck after it":        {ended{intents.Confirming, 1}, "soak: 2 intents, effects 2, twice 0, lost 0", "is confirming still, effects 1"},
		"in review":             {ended{intents.NeedsReview, 0}, "soak: 2 intents, effects 1, twice 0, lost 0", "is needs_review (), effects 0"},
		"in review and done":    {ended{intents.NeedsReview, 1}, "soak: 2 intents, effects 2, twice 0, lost 0", "is needs_review (), effects 1"},
		"failed":                {ended{intents.Failed, 0}, "soak: 2 intents, effects 1, twice 0, lost 0", "is failed (), effects 0"},
		"failed, and it is not": {ended{intents.Failed, 1}, "soak: 2 intents, effects 2, twice 0, lost 0", "is failed (), effects 1"},
	} {
		v := booksOf(map[string]ended{"pi_good": {intents.Settled, 1}, "pi_x": c.ended}).judge()
		if v.String() != c.last || v.right() != (c.wrong == "") {
			t.Errorf("%s: %v, right %v; want %s", name, v, v.right(), c.last)
		}
		if c.wrong != "" && (len(v.wrong) != 1 || v.wrong[0] != finding{"pi_x", c.wrong}) {
			t.Errorf("%s: wrong is %v, want %q", name, v.wrong, c.wrong)
		}
	}
}

// One that is lost does not hide behind one that was paid twice.
func TestVerdictOfALossAndADouble(t *testing.T) {
	t.Parallel()
	v := booksOf(map[string]ended{"pi_a": {intents.Settled, 2}, "pi_b": {intents.Settled, 0}}).judge()
	if v.right() || v.String() != "soak: 2 intents, effects 2, twice 1, lost 1" {
		t.Errorf("%v, right %v", v, v.right())
	}
}

// What nobody asked for is wrong, stored or done.
func TestVerdictOfStrangers(t *testing.T) {
	t.Parallel()
	for _, b := range []books{
		{rows: map[string]intents.Intent{"pi_s": {State: intents.Failed}}},
		{effects: map[string]int{"pi_s": 1}},
	} {
		v := b.judge()
		if v.right() || len(v.wrong) != 1 || !strings.Contains(v.wrong[0].what, "nobody asked") {
			t.Errorf("%v: %v", b, v.wrong)
		}
	}
}
