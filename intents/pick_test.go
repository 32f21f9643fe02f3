package intents_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
)

// fleet is signers by scope.
type fleet map[string]*intents.Signer

func (f fleet) known(scope string) *intents.Signer { return f[scope] }

func three() intents.Plan {
	return intents.Plan{Slot: intents.Counter, Scope: "a", Others: []string{"b", "c"}}
}

func TestPick(t *testing.T) {
	signer := func(scope string, ahead int, frozen string) *intents.Signer {
		return &intents.Signer{Scope: scope, Window: 4, Ahead: ahead, Frozen: frozen}
	}
	lanes := three().Ranked("acct_1") // acct_1's own signer comes first
	for name, tt := range map[string]struct {
		lane string
		has  fleet
		want string // empty: none
	}{
		"none is known":               {has: fleet{}},
		"all alike":                   {has: fleet{"a": signer("a", 1, ""), "b": signer("b", 1, ""), "c": signer("c", 1, "")}, want: "a"},
		"most room":                   {has: fleet{"a": signer("a", 3, ""), "b": signer("b", 2, ""), "c": signer("c", 1, "")}, want: "c"},
		"the only one known":          {has: fleet{"b": signer("b", 4, "")}, want: "b"},
		"frozen, though it has room":  {has: fleet{"a": signer("a", 0, "why"), "b": signer("b", 4, ""), "c": signer("c", 0, "why")}, want: "b"},
		"all frozen":                  {has: fleet{"b": signer("b", 0, "why"), "c": signer("c", 0, "why")}, want: "b"},
		"a lane's, whoever has room":  {lane: "acct_1", has: fleet{lanes[0]: signer(lanes[0], 4, ""), lanes[1]: signer(lanes[1], 0, "")}, want: lanes[0]},
		"a lane's next, where frozen": {lane: "acct_1", has: fleet{lanes[0]: signer(lanes[0], 0, "why"), lanes[1]: signer(lanes[1], 3, ""), lanes[2]: signer(lanes[2], 0, "")}, want: lanes[1]},
		"a lane, all frozen":          {lane: "acct_1", has: fleet{lanes[0]: signer(lanes[0], 0, "why"), lanes[1]: signer(lanes[1], 0, "why")}, want: lanes[0]},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if sg := three().Pick(tt.lane, tt.has.known); sg != nil {
				got = sg.Scope
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRankedSpreads: lanes are spread evenly, and one that comes or leaves moves no lane but its own.
func TestRankedSpreads(t *testing.T) {
	const lanes = 3000
	less := intents.Plan{Scope: "c", Others: []string{"a"}}
	of := map[string]int{}
	for i := range lanes {
		lane := fmt.Sprintf("acct_%d", i)
		all, two := three().Ranked(lane), less.Ranked(lane)
		of[all[0]]++
		if all[0] != "b" && all[0] != two[0] {
			t.Fatalf("%s moves from %s to %s because b left", lane, all[0], two[0])
		}
		if !slices.Equal(slices.Sorted(slices.Values(all)), three().Scopes()) {
			t.Fatalf("%s: %v", lane, all)
		}
	}
	for scope, n := range of {
		if n < lanes/4 || n > lanes/2 {
			t.Errorf("%s has %d of %d lanes", scope, n, lanes)
		}
	}
	if got := three().Ranked(""); !slices.Equal(got, three().Scopes()) {
		t.Errorf("without a lane: %v", got)
	}
}
