package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

// books are what is compared in the end.
type books struct {
	begun   []intents.Intent          // what the load made; all of it is to be stored
	rows    map[string]intents.Intent // what the store says, by id
	effects map[string]int            // what chain and provider say, by id
}

// finding is what is wrong with an intent.
type finding struct{ id, what string }

// verdict is what the comparison came to.
type verdict struct {
	intents, effects, twice, lost int
	detours                       int       // intents with more changes than the plain way has: something broke on their way
	wrong                         []finding // by id
}

// right says whether each intent settled with one effect, and nothing else happened.
func (v verdict) right() bool {
	return len(v.wrong) == 0 && v.intents == v.effects && v.twice == 0 && v.lost == 0
}

// String is the last line of a run.
func (v verdict) String() string {
	return fmt.Sprintf("soak: %d intents, effects %d, twice %d, lost %d", v.intents, v.effects, v.twice, v.lost)
}

// plainWay is the version an intent settles with when nothing goes wrong: created, authorized, settling, then confirming
// where that takes time, settled.
func plainWay(route string) int {
	if route == payouts {
		return 5
	}
	return 4
}

// judge compares. An intent is lost when it has no effect, and neither a refusal nor a person stands for it.
func (b books) judge() verdict {
	v := verdict{intents: len(b.begun)}
	ours := map[string]bool{}
	for _, in := range b.begun {
		ours[in.ID] = true
		b.look(&v, in.ID)
	}
	for id := range maps.Keys(b.rows) {
		if !ours[id] {
			v.wrong = append(v.wrong, finding{id, "is stored, and nobody asked for it"})
		}
	}
	for id, n := range b.effects {
		v.effects += n
		if n > 1 {
			v.twice++
			v.wrong = append(v.wrong, finding{id, fmt.Sprintf("has %d effects", n)})
		}
		if n > 0 && !ours[id] {
			v.wrong = append(v.wrong, finding{id, "has an effect, and nobody asked for it"})
		}
	}
	slices.SortFunc(v.wrong, func(a, b finding) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.what, b.what)) })
	return v
}

// look judges one intent that was asked for. No intent of a soak may fail, or need a person: its accounts have money, its
// recipients take everything, and what happened can be found out.
func (b books) look(v *verdict, id string) {
	row, stored := b.rows[id]
	if row.Version > plainWay(row.Route) {
		v.detours++
	}
	none := b.effects[id] == 0
	say := func(what string) { v.wrong = append(v.wrong, finding{id, what}) }
	switch state := row.State; {
	case !stored:
		v.lost++
		say("is not stored")
	case state == intents.Settled && none:
		v.lost++
		say("is settled, and has no effect")
	case state == intents.Settled:
	case state == intents.NeedsReview, state == intents.Failed, state == intents.Canceled:
		say(fmt.Sprintf("is %s (%s), effects %d", state, row.Reason, b.effects[id]))
	case none:
		v.lost++
		say(fmt.Sprintf("is %s still, and has no effect", state))
	default:
		say(fmt.Sprintf("is %s still, effects %d", state, b.effects[id]))
	}
}
