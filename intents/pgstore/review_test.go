package pgstore

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// TestCase104: two people at two machines decide about one intent at once, a hundred times. One of them does, once; the
// other learns who, when and what. The same command again is no second decision.
func TestCase104(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	stores := []*Store{openStore(t, dsn), openStore(t, dsn)}
	people := []string{"ann", "bob"}
	won := map[string]int{}
	for i := range 100 {
		id := fmt.Sprintf("pi_%d", i)
		in := inReview(t, stores[0], id)
		orders, errs := make([]intents.Order, 2), make([]error, 2)
		var both sync.WaitGroup
		for n, s := range stores {
			orders[n] = intents.Order{Verb: intents.Settle, Version: in.Version, Actor: people[n], Reason: "seen", Ref: "0x1"}
			both.Go(func() { _, _, errs[n] = s.Resolve(t.Context(), id, orders[n]) })
		}
		both.Wait()
		winner := 0
		if errs[0] != nil {
			winner = 1
		}
		moved, ok := errors.AsType[*intents.MovedError](errs[1-winner])
		if errs[winner] != nil || !ok || moved.By.Actor != people[winner] || moved.By.To != intents.Settled || moved.By.At.IsZero() {
			t.Fatalf("errors %v: want one to have decided, and the other to be told", errs)
		}
		if _, again, err := stores[1-winner].Resolve(t.Context(), id, orders[winner]); err != nil || !again {
			t.Fatalf("the same order again: %t, %v", again, err)
		}
		if n := events(t, stores[0], id); n != in.Version+1 {
			t.Fatalf("%d events of v%d", n, in.Version+1)
		}
		won[people[winner]]++
	}
	t.Logf("won: %v", won)
	audited(t, stores[0])
}

// inReview makes an intent of which nobody knows what became of it.
func inReview(t *testing.T, s *Store, id string) intents.Intent {
	t.Helper()
	c := keyed(made(t, s, id))
	c.Plan.Again = intents.Never
	cl, err := s.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.Complete(t.Context(), cl, intents.Result{})
	if err != nil || in.State != intents.NeedsReview {
		t.Fatalf("got %s, %v", in.State, err)
	}
	return in
}
