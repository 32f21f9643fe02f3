package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMain lets this program be a side, as bench-peers is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workWord {
		main()
		return
	}
	os.Exit(m.Run())
}

var lastLine = regexp.MustCompile(`^bench-peers: row \d+\.\d\d, river-noop \d+\.\d\d, river-updates \d+\.\d\d, postgres \d+\.\d\d$`)

// TestCompare: every side does its work, and the last line has the promised form.
func TestCompare(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := bench{intents: 300, rounds: 1, relayer: relayer(t), sides: append([]side{ours}, peers...), out: &out, progress: io.Discard}
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if last := lines[len(lines)-1]; !lastLine.MatchString(last) {
		t.Errorf("the last line is %q", last)
	}
	for _, s := range b.sides {
		for n, rate := range b.rates(s.name) {
			if rate <= 0 {
				t.Errorf("%s, round %d: %v a second", s.name, n+1, rate)
			}
		}
		if !strings.Contains(out.String(), "\n"+s.name+" ") {
			t.Errorf("%s is not in the table:\n%s", s.name, out.String())
		}
	}
}

// relayer builds the program.
func relayer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "relayer")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/relayer")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestRatio: rounds are compared inside themselves, so that a round on a slow machine counts as much as another.
func TestRatio(t *testing.T) {
	t.Parallel()
	b := bench{round: []map[string]figure{
		{"relayer": {PerSecond: 3000}, "row": {PerSecond: 1500}},
		{"relayer": {PerSecond: 200}, "row": {PerSecond: 50}}, // slow
		{"relayer": {PerSecond: 9000}, "row": {PerSecond: 3000}},
	}}
	if got := b.ratio("row"); got != 3 {
		t.Errorf("the ratio is %v, want 3", got)
	}
}

// TestChosen: --only takes peers alone, and the relayer is always there.
func TestChosen(t *testing.T) {
	t.Parallel()
	for only, want := range map[string]string{
		"":               "relayer,row,river-noop,river-updates,postgres,store",
		"postgres":       "relayer,postgres",
		"postgres,row":   "relayer,postgres,row",
		"row,relayer":    "error",
		"row,":           "error",
		"river":          "error",
		"row,river-noop": "relayer,row,river-noop",
	} {
		sides, err := chosen(only)
		got := names(sides)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("--only %q: %s (%v), want %s", only, got, err, want)
		}
	}
}

// TestOrder: what the first side leaves behind, or finds warm, is another's burden in the next round.
func TestOrder(t *testing.T) {
	t.Parallel()
	for round, want := range []string{names(peers), "store,postgres,river-updates,river-noop,row", names(peers)} {
		if got := names(order(peers, round)); got != want {
			t.Errorf("round %d: %s, want %s", round, got, want)
		}
	}
}

// TestLost: without the program nothing begins, and a run that is interrupted ends.
func TestLost(t *testing.T) {
	t.Parallel()
	b := bench{intents: 10, rounds: 1, relayer: filepath.Join(t.TempDir(), "none"), sides: peers, out: io.Discard, progress: io.Discard}
	if err := b.run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a program: %v", err)
	}
	b.relayer = os.Args[0]
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := b.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
