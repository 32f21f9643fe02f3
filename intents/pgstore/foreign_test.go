package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Two processes find the same displaced slots while others claim from the same signer, write results and a person lets
// the signer go on again and again. Each is displaced once, nothing is lost, and nobody waits for another in a circle.
func TestProcessesDisplaceAtOnce(t *testing.T) {
	t.Parallel()
	const n = 60
	dsn := pgtest.New(t, migrate)
	patient := with(dsn, "lock_timeout=30s")
	s, other := openStore(t, patient), openStore(t, patient)
	if _, err := s.OpenSigner(t.Context(), intents.Signer{Scope: "signer_0", Window: 1000}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Credit(t.Context(), intents.Entry{Account: "acct_0", Asset: "ETH", Amount: intents.NewAmount(1 << 40), Ref: "first"}); err != nil {
		t.Fatal(err)
	}
	slots, claims := make([]intents.Slot, n), make([]intents.Claimed, n)
	for i := range n {
		claims[i] = sentBy(t, s, i)
		slots[i] = claims[i].Slot()
	}
	var all sync.WaitGroup
	for _, s := range []*Store{s, other} {
		all.Go(func() {
			for i := 0; i < n; i += 2 {
				f := &intents.Foreign{Hash: fmt.Sprint("0x", i), Bytes: []byte("foreign"), Destination: "nobody", Amount: intents.NewAmount(1)}
				o := intents.Observation{Slot: slots[i], Of: 1, Fact: intents.Dead, Foreign: f}
				if _, err := s.Record(context.Background(), nil, []intents.Observation{o}, intents.Patience{}); err != nil {
					t.Errorf("record: %v", err)
				}
			}
		})
	}
	all.Go(func() {
		for i := 1; i < n; i += 2 {
			if _, err := s.Complete(context.Background(), claims[i], intents.Result{Verdict: intents.Done, Ref: "r"}); err != nil {
				t.Errorf("complete: %v", err)
			}
		}
	})
	all.Go(func() {
		for i := range n {
			if _, err := other.Unfreeze(context.Background(), "signer_0", "go on", "ann"); err != nil {
				t.Errorf("unfreeze: %v", err)
			}
			c := keyed(created(t, other, n+i))
			c.Plan.Slot, c.Plan.Scope, c.Attempt = intents.Counter, "signer_0", nil
			_, err := other.Claim(context.Background(), c)
			if no, _ := errors.AsType[*intents.NotClaimedError](err); err != nil && (no == nil || no.Why != intents.WhyFrozen) {
				t.Errorf("claim: %v", err)
			}
		}
	})
	all.Wait()
	for i := range n {
		want := []intents.State{intents.Authorized, intents.Settled}[i%2]
		if in := got(t, s, claims[i].Intent.ID); in.State != want || in.Version != 4 {
			t.Errorf("intent %d is %s v%d, want %s v4", i, in.State, in.Version, want)
		}
	}
	db := database(t, dsn)
	if n := ask[int](t, db, "select deadlocks from pg_stat_database where datname = current_database()"); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
	audited(t, s)
}

// created stores an intent of one of three accounts, the first of them enforced.
func created(t *testing.T, s *Store, i int) intents.Intent {
	in, err := s.Create(context.Background(), someIntent(fmt.Sprintf("pi_%03d", i), i%3), true, "tester")
	if err != nil {
		t.Error(err)
	}
	return in
}

// sentBy claims a number for a new intent and stores bytes.
func sentBy(t *testing.T, s *Store, i int) intents.Claimed {
	c := keyed(created(t, s, i))
	c.Plan.Slot, c.Plan.Scope, c.Attempt = intents.Counter, "signer_0", nil
	cl, err := s.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Attach(t.Context(), intents.Attempt{Slot: cl.Slot(), No: 1, Kind: intents.First, Bytes: []byte("b"), Name: "b"}); err != nil {
		t.Fatal(err)
	}
	return cl
}
