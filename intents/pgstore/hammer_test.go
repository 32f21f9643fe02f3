package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Four processes want the same intents, accounts and signers at the same time. Every intent is claimed by one, no sum is
// lost, no number given twice, and the locks are taken in an order in which nobody waits for another: not one deadlock.
func TestProcessesHammerTheSameRows(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	db := database(t, dsn)
	stores := make([]*Store, 4)
	for i := range stores {
		stores[i] = openStore(t, with(dsn, "lock_timeout=30s"), func(c *Config) { c.Actor, c.BatchRows = fmt.Sprintf("p%d", i), 64 })
	}
	s := stores[0]
	for i := range 2 {
		if _, err := s.OpenSigner(t.Context(), intents.Signer{Scope: fmt.Sprintf("signer_%d", i), Next: 5, Window: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		if _, err := s.Credit(t.Context(), intents.Entry{Account: fmt.Sprintf("acct_%d", i), Asset: "ETH", Amount: intents.NewAmount(1 << 40), Ref: "first"}); err != nil {
			t.Fatal(err)
		}
	}
	ins := make([]intents.Intent, 400)
	for i := range ins {
		in := someIntent(fmt.Sprintf("pi_%03d", i), i%7) // accounts 5 and 6 are not enforced
		if i%20 == 0 {
			in.Lane = fmt.Sprintf("lane_%d", i%3)
		}
		var err error
		if ins[i], err = s.Create(t.Context(), in, true, "tester"); err != nil {
			t.Fatal(err)
		}
	}
	var won atomic.Int64
	var all sync.WaitGroup
	for _, s := range stores {
		order := rand.Perm(len(ins))
		for h := range 16 {
			all.Go(func() {
				for n := h; n < len(order); n += 16 {
					if hammer(t, s, ins[order[n]], order[n]) {
						won.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	for i, in := range ins { // those that stood behind another of their lane, which is settled by now
		if now := got(t, s, in.ID); now.State == intents.Authorized && hammer(t, s, now, i) {
			won.Add(1)
		}
		if now := got(t, s, in.ID); now.State != intents.Settled {
			t.Errorf("intent %d is %s v%d, reason %q, lane %q", i, now.State, now.Version, now.Reason, now.Lane)
		}
	}
	if n := won.Load(); n != int64(len(ins)) {
		t.Errorf("%d claims were had for %d intents", n, len(ins))
	}
	if n := ask[int](t, db, "select count(distinct (scope, number)) - count(*) from slots"); n != 0 {
		t.Errorf("numbers were given twice: %d", n)
	}
	until(t, "statistics are told", func() bool {
		return ask[int](t, db, "select xact_commit from pg_stat_database where datname = current_database()") > 0
	})
	if n := ask[int](t, db, "select deadlocks from pg_stat_database where datname = current_database()"); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
	audited(t, s)
}

// hammer carries an intent through if its claim is had.
func hammer(t *testing.T, s *Store, in intents.Intent, n int) bool {
	ctx := context.Background()
	c := keyed(in)
	if n%3 != 0 {
		c.Plan.Slot, c.Plan.Scope, c.Attempt = intents.Counter, fmt.Sprintf("signer_%d", n%2), nil
	}
	cl, err := s.Claim(ctx, c)
	if err != nil {
		if _, no := errors.AsType[*intents.NotClaimedError](err); !no {
			t.Errorf("claim: %v", err)
		}
		return false
	}
	if n%3 != 0 {
		if _, err := s.Attach(ctx, intents.Attempt{Slot: cl.Slot(), No: 1, Kind: intents.First, Bytes: []byte(in.ID), Name: in.ID}); err != nil {
			t.Errorf("attach: %v", err)
		}
	}
	if n%5 == 0 && n%7 < 5 {
		if _, err := s.Credit(ctx, intents.Entry{Account: in.Account, Asset: "ETH", Amount: intents.NewAmount(1), Ref: in.ID}); err != nil {
			t.Errorf("credit: %v", err)
		}
	}
	if _, err := s.Complete(ctx, cl, intents.Result{Verdict: intents.Done, Ref: in.ID}); err != nil {
		t.Errorf("complete: %v", err)
	}
	return true
}

// Three processes claim at once from an account that covers 40 of 100 intents: 40 are claimed, the others fail, and
// nothing is held twice.
func TestProcessesShareFunds(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	patient := with(dsn, "lock_timeout=30s")
	stores := []*Store{openStore(t, patient), openStore(t, patient), openStore(t, patient)}
	s := stores[0]
	if _, err := s.Credit(t.Context(), intents.Entry{Account: "acct_0", Asset: "ETH", Amount: intents.NewAmount(40*1000 + 999), Ref: "first"}); err != nil {
		t.Fatal(err)
	}
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 100 {
		in := made(t, s, fmt.Sprintf("pi_%03d", i)) // 1000 each
		for _, s := range stores {
			all.Go(func() {
				_, err := s.Claim(context.Background(), keyed(in))
				no, _ := errors.AsType[*intents.NotClaimedError](err)
				switch {
				case err == nil:
					won.Add(1)
				case no == nil || no.Why != intents.WhyFunds && no.Why != intents.WhyMoved:
					t.Errorf("claim: %v", err)
				}
			})
		}
	}
	all.Wait()
	as, err := s.Accounts(t.Context(), "acct_0")
	if err != nil || len(as) != 1 || !as[0].Pending.Equal(intents.NewAmount(40*1000)) || won.Load() != 40 {
		t.Errorf("%d claims, account %+v, %v", won.Load(), as, err)
	}
	audited(t, s)
}

// Several processes store the same new intents in different orders: each is stored once, and nobody waits for ever.
func TestProcessesStoreTheSameIntents(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	db := database(t, dsn)
	var all sync.WaitGroup
	for range 3 {
		s := openStore(t, with(dsn, "lock_timeout=30s"))
		for _, n := range rand.Perm(200) {
			all.Go(func() {
				in := someIntent(fmt.Sprintf("pi_%03d", n), n)
				if got, err := s.Take(context.Background(), intents.Message{ID: in.ID, Route: in.Route, Full: true, Intent: in, Actor: "tester"}); err != nil || got.Version != 2 {
					t.Errorf("take: %+v, %v", got, err)
				}
			})
		}
	}
	all.Wait()
	if n := ask[int](t, db, "select count(*) from intents"); n != 200 {
		t.Errorf("%d intents, want 200", n)
	}
	if n := ask[int](t, db, "select count(*) from intent_events"); n != 400 {
		t.Errorf("%d events, want 400", n)
	}
	if n := ask[int](t, db, "select deadlocks from pg_stat_database where datname = current_database()"); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

// A row the server refuses (an amount of 79 digits, class 22; a NUL in a text, case 11) fails alone: the batch is halved
// until it stands by itself, and all others of the batch are written.
func TestBadRowsFailAlone(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	var largest atomic.Int64
	s := openStore(t, with(dsn, "lock_timeout=30s"), func(c *Config) {
		c.Observe = func(_ string, rows int, _ time.Duration) { largest.Store(max(largest.Load(), int64(rows))) }
	})
	db := database(t, dsn)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	do(t, tx, "lock intents in access exclusive mode") // so that a batch gathers
	var begun atomic.Int64
	var all sync.WaitGroup
	for i := range 100 {
		in := someIntent(fmt.Sprintf("pi_%03d", i), i)
		switch i {
		case 37:
			long, _ := intents.ParseAmount(strings.Repeat("9", 78))
			in.Amount = long.Add(long)
		case 71:
			in.Destination = "a\x00b"
		}
		all.Go(func() {
			begun.Add(1)
			_, err := s.Create(context.Background(), in, true, "tester")
			if bad := i == 37 || i == 71; bad != (err != nil) || bad && errors.Is(err, intents.ErrUnavailable) {
				t.Errorf("intent %d: %v", i, err)
			}
		})
	}
	until(t, "the first batch waits for the lock, and the others behind it", func() bool {
		return begun.Load() == 100 && waitsForLock(t, db)
	})
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if largest.Load() < 3 {
		t.Errorf("the largest batch had %d rows: nothing was halved", largest.Load())
	}
	audited(t, s)
}

// Bytes that the server refuses (a NUL in an attempt's name) fail alone too, in the middle of a transaction.
func TestBadAttemptFailsAlone(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	ins := seed(t, s, 50)
	each(ins, func(in intents.Intent) {
		c := keyed(in)
		if in.ID == "pi_000025" {
			c.Attempt.Name = "a\x00b"
		}
		if _, err := s.Claim(context.Background(), c); (err != nil) != (in.ID == "pi_000025") {
			t.Errorf("%s: %v", in.ID, err)
		}
	})
	if in := got(t, s, "pi_000025"); in.State != intents.Authorized || in.Version != 2 {
		t.Errorf("the refused one is %s v%d", in.State, in.Version)
	}
	audited(t, s)
}
