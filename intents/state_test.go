package intents_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nsqrelayer/relayer/intents"
)

type edge struct{ From, To string }

func edges() map[edge]bool {
	all := map[edge]bool{}
	for from, to := range intents.Edges() {
		all[edge{from.String(), to.String()}] = true
	}
	return all
}

func readDoc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rows gives the cells of the table that starts with the given header.
func rows(t *testing.T, doc, header string) [][]string {
	t.Helper()
	_, table, ok := strings.Cut(doc, header+"\n")
	if !ok {
		t.Fatalf("docs/states.md has no table %q", header)
	}
	var all [][]string
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if strings.HasPrefix(line, "|---") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	return all
}

func TestDocsTableHasTheEdgesOfTheCode(t *testing.T) {
	got := map[edge]bool{}
	for _, r := range rows(t, readDoc(t), "| from | to | who | why |") {
		e := edge{r[0], r[1]}
		if got[e] {
			t.Errorf("%v stands twice", e)
		}
		if len(r) != 4 || r[2] == "" || r[3] == "" {
			t.Errorf("%v does not say who moves it and why", e)
		}
		got[e] = true
	}
	if diff := cmp.Diff(edges(), got); diff != "" {
		t.Errorf("edges of the code (-) and of the table in docs/states.md (+):\n%s", diff)
	}
}

func TestDocsDiagramHasTheEdgesOfTheCode(t *testing.T) {
	got := map[edge]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\s+(\w+) --> (\w+)`).FindAllStringSubmatch(readDoc(t), -1) {
		if m[1] != m[2] {
			got[edge{m[1], m[2]}] = true
		}
	}
	if diff := cmp.Diff(edges(), got); diff != "" {
		t.Errorf("edges of the code (-) and of the diagram in docs/states.md (+):\n%s", diff)
	}
}

func TestDocsTableHasTheStatesOfTheCode(t *testing.T) {
	var got, want [][]string
	for _, r := range rows(t, readDoc(t), "| state | number | in plain words | money held | version |") {
		got = append(got, []string{r[0], r[1], r[3]})
	}
	for _, s := range intents.States() {
		holds := map[bool]string{true: "yes", false: "no"}[s.Holds()]
		want = append(want, []string{s.String(), strconv.Itoa(int(s)), holds})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states of the code (-) and of docs/states.md (+):\n%s", diff)
	}
}

// The plain path is walked by the decisions themselves.
func TestDocsVersionsAreThoseOfThePlainPath(t *testing.T) {
	want := map[string]string{}
	for _, r := range rows(t, readDoc(t), "| state | number | in plain words | money held | version |") {
		if r[4] != "–" {
			want[r[0]] = r[4]
		}
	}
	got := map[string]string{}
	for _, in := range plainPath(t) {
		got[in.State.String()] = strconv.Itoa(in.Version)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions in docs/states.md (-) and on the plain path (+):\n%s", diff)
	}
}

func plainPath(t *testing.T) []intents.Intent {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var path []intents.Intent
	in := sample()
	in.NotBefore = time.Time{}
	for _, c := range intents.Open(in, true, "test", now) {
		path = append(path, c.After)
	}
	last := path[len(path)-1]
	attempt := intents.Attempt{No: 1, Kind: intents.First, Bytes: []byte("bytes")}
	claim := intents.Claim{Intent: last, ID: "c1", Owner: "test", Term: time.Minute, Attempt: &attempt,
		Plan: intents.Plan{Slot: intents.Key, Again: intents.Always, Seen: true}}
	admitted, err := intents.Admit(last, claim, intents.Facts{Now: now, Signer: &intents.Signer{Window: 1}})
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := intents.Conclude(admitted.After, admitted.After.ClaimID, intents.Result{Verdict: intents.Accepted, Ref: "0x01"}, "test", now)
	if err != nil {
		t.Fatal(err)
	}
	seen := intents.Witness(accepted.After, intents.Observation{Fact: intents.Final}, intents.Attempt{No: 1, Kind: intents.First, Name: "0x01"}, intents.Patience{}, "test", now)
	return append(path, admitted.After, accepted.After, seen.After)
}

func TestFinalStatesHoldNothingAndOnlyFailedCanBeCorrected(t *testing.T) {
	out := map[string][]string{}
	for from, to := range intents.Edges() {
		if from.Final() {
			out[from.String()] = append(out[from.String()], to.String())
		}
		if from.Final() && from.Holds() {
			t.Errorf("%v is final and holds money", from)
		}
	}
	if diff := cmp.Diff(map[string][]string{"failed": {"settled"}}, out); diff != "" {
		t.Errorf("edges out of final states:\n%s", diff)
	}
}

func TestEveryStateCanBeReached(t *testing.T) {
	reached := map[intents.State]bool{intents.Created: true}
	for range intents.States() {
		for from, to := range intents.Edges() {
			if reached[from] {
				reached[to] = true
			}
		}
	}
	if got := slices.Sorted(maps.Keys(reached)); !slices.Equal(got, intents.States()) {
		t.Errorf("from created one reaches %v, want all of %v", got, intents.States())
	}
}

func TestStateNamesParseBack(t *testing.T) {
	for _, s := range intents.States() {
		if got, err := intents.ParseState(s.String()); got != s || err != nil {
			t.Errorf("ParseState(%q) = %v, %v", s.String(), got, err)
		}
		if !s.Known() {
			t.Errorf("%v is not known", s)
		}
	}
	for _, name := range []string{"", "Settled", "state(9)", " settled"} {
		if s, err := intents.ParseState(name); err == nil {
			t.Errorf("ParseState(%q) = %v, want an error", name, s)
		}
	}
	if s := intents.State(9); s.Known() || s.String() != "state(9)" || intents.CanMove(s, intents.Settled) {
		t.Errorf("state 9 is known or can move")
	}
}
