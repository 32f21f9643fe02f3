package pgstore

import (
	"fmt"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// What was created and what settled is counted once, by the keys between two heads.
func TestFlow(t *testing.T) {
	t.Parallel()
	s := openStore(t, pgtest.New(t, migrate))
	head := func() int64 {
		return answers(t, "flow", func() (intents.Flow, error) { return s.Flow(t.Context(), 0, 0) }).Head
	}
	before := head()
	for i := range 3 {
		cl := claimed(t, s, made(t, s, fmt.Sprintf("pi_%d", i)))
		if i == 0 {
			continue
		}
		answers(t, "complete", func() (intents.Intent, error) {
			return s.Complete(t.Context(), cl, intents.Result{Verdict: intents.Done, Ref: "r"})
		})
	}
	after := head()
	for window, want := range map[[2]int64][2]int64{{before, after}: {3, 2}, {after, after + 1000}: {}, {0, before}: {}} {
		f := answers(t, "flow", func() (intents.Flow, error) { return s.Flow(t.Context(), window[0], window[1]) })
		if f.Created != want[0] || f.Settled != want[1] {
			t.Errorf("%v: got %+v, want %v", window, f, want)
		}
	}
	old := answers(t, "oldest", func() ([]intents.Intent, error) { return s.Oldest(t.Context(), 10, 5) })
	if len(old) != 1 || old[0].ID != "pi_0" {
		t.Errorf("oldest: %+v, want the one that is open", old)
	}
	as := answers(t, "attempts", func() ([]intents.Attempt, error) { return s.Attempts(t.Context(), "pi_0") })
	for name, want := range map[string]string{as[0].Name: "pi_0", "nobody": ""} {
		if id := answers(t, "named", func() (string, error) { return s.Named(t.Context(), name) }); id != want {
			t.Errorf("%q names %q, want %q", name, id, want)
		}
	}
	if small := answers(t, "small", func() (bool, error) { return s.Small(t.Context()) }); !small {
		t.Error("three intents are not few")
	}
}
