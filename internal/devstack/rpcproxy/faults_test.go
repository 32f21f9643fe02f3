package rpcproxy

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t *testing.T, spec string) Faults {
	t.Helper()
	f, err := ParseFaults(spec)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestParseFaults(t *testing.T) {
	t.Parallel()
	got := mustParse(t, "accept-timeout=5%, slow@eth_call=10%:800ms,json-429=0.5%,null-tx=0%,drop-pool=20%")
	want := []rule{
		{acceptTimeout, methodSend, 0.05, 30 * time.Second}, {slow, "eth_call", 0.1, 800 * time.Millisecond},
		{json429, "", 0.005, 0}, {nullTx, methodTx, 0, 0}, {dropPool, "", 0.2, 5 * time.Second},
	}
	if diff := cmp.Diff(want, got.rules, cmp.AllowUnexported(rule{})); diff != "" {
		t.Error(diff)
	}
	if every, share := got.DropPool(); every != 5*time.Second || share != 0.2 {
		t.Errorf("drop-pool every %v at %v", every, share)
	}
	if none := mustParse(t, " "); len(none.rules) != 0 {
		t.Errorf("nothing asked for, got %v", none)
	}
}

func TestParseDefault(t *testing.T) {
	t.Parallel()
	f := mustParse(t, "default,http-429@eth_call=3%")
	if len(f.rules) != len(mustParse(t, DefaultFaults).rules)+1 {
		t.Errorf("default and one more are %d rules", len(f.rules))
	}
	if every, share := mustParse(t, "default").DropPool(); every != 3*time.Second || share != 0.4 {
		t.Error("the default does not empty the pool")
	}
}

func TestParseFaultsRefuses(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"http-492=5%":                  "unknown word, known are default, accept-reset",
		"html-502":                     "want word=rate",
		"html-502=":                    "not a percentage",
		"html-502=5":                   "not a percentage",
		"html-502=-1%":                 "not a percentage",
		"html-502=101%":                "not a percentage",
		"html-502=NaN%":                "not a percentage",
		"html-502=5%:1s":               "takes no duration",
		"html-502@=5%":                 "want a method",
		"slow=5%:":                     "not like 800ms",
		"slow=5%:-1s":                  "not like 800ms",
		"slow=5%,slow=6%":              "given twice",
		"default,wrong-hash=1%":        "given twice",
		"null-receipt@eth_call=5%":     "not for other methods",
		"drop-pool@eth_call=5%":        "not for other methods",
		"accept-reset=60%,slow=41%":    "more than 100%",
		"slow@eth_call=60%,slow=41%":   "more than 100%",
		"html-502=5%,":                 "want word=rate",
		"http-429@eth_call=5%,nothing": "want word=rate",
	} {
		if _, err := ParseFaults(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want %q in it", spec, err, want)
		}
	}
	mustParse(t, "null-receipt=90%,null-tx=90%,accept-reset=90%,drop-pool=100%") // of different methods
}

func TestHelpNamesEveryFault(t *testing.T) {
	t.Parallel()
	for _, w := range words() {
		if !strings.Contains(FaultsHelp, w) {
			t.Errorf("the help text does not name %s", w)
		}
	}
}

func TestRollKeepsTheRates(t *testing.T) {
	t.Parallel()
	f := mustParse(t, "null-receipt=30%,http-429=10%,slow@eth_call=20%")
	const n = 20_000
	hits := map[fault]int{}
	for i := range n {
		hits[f.roll(1, fmt.Sprint(i), []string{"eth_call"}, 1).fault]++
	}
	for word, share := range map[fault]float64{http429: 0.1, slow: 0.2, "": 0.7} {
		if got := float64(hits[word]) / n; math.Abs(got-share) > 0.02 {
			t.Errorf("%q hit %.3f of the calls, want %.1f", word, got, share)
		}
	}
}

func TestRollDependsOnSeedNameAndCallAlone(t *testing.T) {
	t.Parallel()
	f := mustParse(t, "slow=50%")
	draw := func(seed uint64, name string, from int) (s string) {
		for nth := from; nth < from+64; nth++ {
			s += string(f.roll(seed, name, nil, nth).fault) + "."
		}
		return s
	}
	first := draw(1, "a", 1)
	if again := draw(1, "a", 1); again != first {
		t.Error("the same calls meet other faults")
	}
	for other, got := range map[string]string{"seed": draw(2, "a", 1), "name": draw(1, "b", 1), "call": draw(1, "a", 100)} {
		if got == first {
			t.Errorf("another %s meets the same faults", other)
		}
	}
}

// TestFaultsInARow: everything comes through in the end.
func TestFaultsInARow(t *testing.T) {
	t.Parallel()
	l := newLedger(mustParse(t, "html-502=100%"))
	any := func(fault) bool { return true }
	for i := range 12 {
		got := l.draw(1, "a", nil, 3, any).fault
		if want := map[bool]fault{true: "", false: html502}[i%4 == 3]; got != want {
			t.Errorf("call %d meets %q, want %q", i, got, want)
		}
	}
	if _, hits := l.counts(); hits["html-502"] != 9 {
		t.Errorf("hits %v, want 9", hits)
	}
}
