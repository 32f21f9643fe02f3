package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
)

// point is a boundary at which a process is killed. found is how its intent stands then; the zero state: there is none,
// or it depends on the moment.
type point struct {
	name, what string
	found      intents.State
}

// points in the order of the test: those that need the observer's lease come first, since a dead process keeps it a while.
func points() []point {
	return []point{
		{"K8", "the effect was seen, not written", intents.Confirming},
		{"K9", "the end was committed", intents.Settled},
		{"K1", "a message came, nothing was read or written", 0},
		{"K2", "the intent was stored", intents.Authorized},
		{"K3", "it waits for its permit, nothing is claimed", intents.Authorized},
		{"K4", "the bytes were stored, none has left", intents.Settling},
		{"K5", "the bytes left, no reply came", intents.Settling},
		{"K6", "the reply was read, not written", intents.Settling},
		{"K7", "the reply was written, nothing is seen yet", intents.Confirming},
		{"K10", "the message was answered", 0},
	}
}

// kill is what became of the intent that a kill was about.
type kill struct {
	point
	id      string
	atDeath string
	end     intents.State
	effects int
}

// Case 83: a process is killed by SIGKILL at each boundary, on real parts. A fresh one brings each intent to
// its one right end, with one effect as the other side counts, and all sums add up. docs/guarantees.md shows the run.
func TestKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	var evm, hook []kill
	t.Run("routes", func(t *testing.T) { // returns when both are through
		t.Run("payouts", func(t *testing.T) { t.Parallel(); evm = killedAtEach(t, "payouts") })
		t.Run("webhooks", func(t *testing.T) { t.Parallel(); hook = killedAtEach(t, "webhooks") })
	})
	if !t.Failed() {
		documented(t, "kills", killTable(evm, hook))
	}
}

func killedAtEach(t *testing.T, route string) []kill {
	w := newWorld(t, "accept-202=100%:300ms")
	short := []string{"run"} // so that claims and leases of the dead end soon
	for _, set := range []string{"prepare-timeout=1s", "submit-timeout=1s", "msg-timeout=3s"} {
		short = append(short, "--set", "routes."+route+"."+set)
	}
	var all []intents.Intent
	var kills []kill
	for _, p := range points() {
		ins := ofRoute(route, strings.ToLower(p.name), 3)
		all = append(all, ins...)
		kills = append(kills, w.killedAt(p, route, ins, short))
	}
	fresh := w.start(short...)
	until(t, "all are settled", func() bool { return w.states()[intents.Settled] == len(all) })
	fresh.signal(syscall.SIGTERM)
	fresh.exits(exitOK)
	effects, twice := w.effects(all)
	if effects != len(all) || twice != 0 {
		t.Errorf("%s: effects %d, twice %d, want %d and 0", route, effects, twice, len(all))
	}
	w.audited()
	for i := range kills {
		in, err := w.store.Get(t.Context(), kills[i].id)
		w.must(err)
		kills[i].end, kills[i].effects = in.State, w.effectsOf(in)
	}
	return kills
}

// killedAt has a process of its own work on fresh intents until it dies at a point.
func (w *world) killedAt(p point, route string, ins []intents.Intent, args []string) kill {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "died")
	doom := fmt.Sprintf("%s=%s %s %s", doomEnv, p.name, route, file)
	prog := startProgramIn(w.t, []string{doom}, append(args, "--config", w.config)...)
	for _, in := range ins { // one after the other: a message comes after another was answered
		w.publish([]intents.Intent{in})
		until(w.t, "it is sent, or the process is dead", func() bool { return prog.ended() || w.sent(in.ID) })
	}
	prog.exits(-1)
	id, err := os.ReadFile(file)
	w.must(err)
	k := kill{point: p, id: string(id), atDeath: "–"}
	in, err := w.store.Get(w.t.Context(), k.id)
	switch {
	case errors.Is(err, intents.ErrNotFound):
	case err != nil:
		w.t.Fatal(err)
	case p.found != 0:
		k.atDeath = in.State.String()
	}
	if p.found != 0 && in.State != p.found {
		w.t.Errorf("%s: %s is %s, want %s", p.name, k.id, in.State, p.found)
	}
	return k
}

// sent says whether the other side has an intent.
func (w *world) sent(id string) bool {
	in, err := w.store.Get(w.t.Context(), id)
	return err == nil && (in.State == intents.Confirming || in.State == intents.Settled)
}

// ended says whether the program is over.
func (p *program) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// effectsOf counts what happened outside for one intent.
func (w *world) effectsOf(in intents.Intent) int {
	if in.Route == "webhooks" {
		return w.sink.Effects()[in.ID]
	}
	counts, err := w.chain.Effects(w.t.Context(), []string{in.Destination})
	w.must(err)
	return counts[in.Destination]
}

// ofRoute are n demo intents of one route.
func ofRoute(route, name string, n int) []intents.Intent {
	var ins []intents.Intent
	for _, in := range demoIntents(name, 4*n) {
		if in.Route == route && len(ins) < n {
			ins = append(ins, in)
		}
	}
	return ins
}

// killTable is the table of docs/guarantees.md.
func killTable(evm, hook []kill) string {
	var b strings.Builder
	b.WriteString("| killed when | it stood in | evm | webhook |\n|---|---|---|---|\n")
	var rows []string
	for i, p := range evm {
		q := hook[i]
		rows = append(rows, fmt.Sprintf("| %s: %s | %s | %s, effects %d | %s, effects %d |\n", p.name, p.what, p.atDeath, p.end, p.effects, q.end, q.effects))
	}
	slices.SortFunc(rows, func(a, b string) int {
		return cmp.Or(strings.Index(a, ":")-strings.Index(b, ":"), strings.Compare(a, b))
	}) // K10 after K9
	return b.String() + strings.Join(rows, "")
}

// writeDocs has documented write instead of compare.
const writeDocs = "RELAYER_WRITE_DOCS"

// documented compares what a run showed with the part of docs/guarantees.md between two marks.
func documented(t *testing.T, mark, text string) {
	t.Helper()
	const file = "../../docs/guarantees.md"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+mark+": made by a test, see cmd/relayer/crash_test.go -->\n", "<!-- end of "+mark+" -->\n"
	head, rest, ok := strings.Cut(string(b), begin)
	had, tail, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has no part %q", file, mark)
	case os.Getenv(writeDocs) != "":
		if err := os.WriteFile(file, []byte(head+begin+text+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	case had != text:
		t.Errorf("%s says\n%s\nthe run says\n%s", file, had, text)
	}
}
