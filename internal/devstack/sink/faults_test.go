package sink

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
	got := mustParse(t, "commit-timeout=5%, slow=10%:800ms,accept-202=0.5%,decline=0%")
	want := []rule{
		{commitTimeout, 0.05, 30 * time.Second}, {slow, 0.1, 800 * time.Millisecond},
		{accept202, 0.005, time.Second}, {decline, 0, 0},
	}
	if diff := cmp.Diff(want, got.rules, cmp.AllowUnexported(rule{})); diff != "" {
		t.Error(diff)
	}
	if none := mustParse(t, " "); len(none.rules) != 0 {
		t.Errorf("nothing asked for, got %v", none)
	}
}

func TestParseFaultsRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		"commit-timout=5%":              "unknown word, known are accept-202, commit-500",
		"reset":                         "want word=rate",
		"reset=":                        "not a percentage",
		"reset=5":                       "not a percentage",
		"reset=-1%":                     "not a percentage",
		"reset=101%":                    "not a percentage",
		"reset=NaN%":                    "not a percentage",
		"reset=5%:1s":                   "takes no duration",
		"slow=5%:":                      "not like 800ms",
		"slow=5%:-1s":                   "not like 800ms",
		"slow=5%:800":                   "not like 800ms",
		"reset=5%,reset=6%":             "given twice",
		"reset=60%,slow=40%,decline=1%": "more than 100%",
		"reset=5%,":                     "want word=rate",
		"Reset=5%":                      "unknown word",
	} {
		if _, err := ParseFaults(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want %q in it", spec, err, want)
		}
	}
}

func TestHelpNamesEveryFault(t *testing.T) {
	for _, w := range words() {
		if !strings.Contains(FaultsHelp, w) {
			t.Errorf("the help text does not name %s", w)
		}
	}
}

func TestRollKeepsTheRates(t *testing.T) {
	f := mustParse(t, "reset=10%,slow=20%")
	const n = 20_000
	hits := map[fault]int{}
	for i := range n {
		hits[f.roll(1, fmt.Sprintf("pi_%d", i), 1).fault]++
	}
	for word, share := range map[fault]float64{reset: 0.1, slow: 0.2, "": 0.7} {
		if got := float64(hits[word]) / n; math.Abs(got-share) > 0.02 {
			t.Errorf("%q hit %.3f of the calls, want %.1f", word, got, share)
		}
	}
}

func TestRollDependsOnSeedNameAndCallAlone(t *testing.T) {
	f := mustParse(t, "reset=50%")
	draw := func(seed uint64, name string, from int) (s string) {
		for nth := from; nth < from+64; nth++ {
			s += string(f.roll(seed, name, nth).fault) + "."
		}
		return s
	}
	first := draw(1, "pi_1", 1)
	if again := draw(1, "pi_1", 1); again != first {
		t.Error("the same calls meet other faults")
	}
	for other, got := range map[string]string{
		"seed": draw(2, "pi_1", 1), "name": draw(1, "pi_2", 1), "call": draw(1, "pi_1", 100),
	} {
		if got == first {
			t.Errorf("another %s meets the same faults", other)
		}
	}
}
