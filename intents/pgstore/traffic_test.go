package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Case 40: four processes sweep, observe, audit, park and settle the same rows at once. Each locks in the one order: not
// one deadlock, every row is claimed once, nothing is half done.
func TestMaintenanceBesideClaims(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t)
	dsn := migrated(t, srv.DSN("postgres"))
	db := database(t, dsn)
	stores := make([]*Store, 4)
	for i := range stores {
		stores[i] = openStore(t, with(dsn, "lock_timeout=30s"))
	}
	ins := seed(t, stores[0], 1000)
	do(t, db, "update intents set due_at = now() - interval '1 hour'")
	var maintaining, claiming sync.WaitGroup
	done := make(chan struct{})
	for _, s := range stores {
		maintaining.Go(func() { maintain(t, s, done) })
		claiming.Go(func() { each(ins, func(in intents.Intent) { contend(t, s, in) }) })
	}
	claiming.Wait()
	close(done)
	maintaining.Wait()
	if n := ask[int](t, db, "select count(*) from intents where state = 5 and version = 5"); n != len(ins) {
		t.Errorf("%d of %d intents were carried through once", n, len(ins))
	}
	if log := srv.LogTail(10_000); strings.Contains(log, "deadlock detected") {
		t.Error("there were deadlocks")
	}
	audited(t, stores[0])
}

// maintain does what a process does beside its work, again and again.
func maintain(t *testing.T, s *Store, done chan struct{}) {
	ctx := context.Background()
	check := func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for {
		select {
		case <-done:
			return
		default:
		}
		swept, err := s.Sweep(ctx, "payouts", 100)
		check("sweep", err)
		_, err = s.Waiting(ctx, swept)
		check("waiting", err)
		watches, err := s.Watches(ctx, "payouts", 100)
		check("watches", err)
		var seen []intents.Observation
		for _, w := range watches {
			seen = append(seen, intents.Observation{Slot: w.Slot, No: 1, Fact: intents.Pending})
		}
		_, err = s.Record(ctx, watches, seen, intents.Patience{ReviewAfter: time.Hour, ConfirmAfter: time.Hour})
		check("record", err)
		check("audit", second(s.Audit(ctx)))
	}
}

// contend takes an intent through claim, acceptance and end, unless another process has it.
func contend(t *testing.T, s *Store, in intents.Intent) {
	ctx := context.Background()
	cl, err := s.Claim(ctx, keyed(in))
	if _, lost := errors.AsType[*intents.NotClaimedError](err); lost {
		return
	}
	if err != nil {
		t.Errorf("claim: %v", err)
		return
	}
	for _, v := range []intents.Verdict{intents.Accepted, intents.Done} {
		if _, err := s.Complete(ctx, cl, intents.Result{Verdict: v, Ref: in.ID}); err != nil {
			t.Errorf("complete: %v", err)
		}
	}
}

// Case 41: a server whose transactions are repeatable read refuses what met another's commit (40001). That is run again by
// itself: of 20 claims of each row one is had, and every result is written.
func TestSerializationFailures(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t, "default_transaction_isolation", "repeatable read")
	dsn := migrated(t, srv.DSN("postgres"))
	stores := make([]*Store, 4)
	for i := range stores {
		stores[i] = openStore(t, with(dsn, "lock_timeout=30s"))
	}
	var won, told atomic.Int64
	met := func() int { return strings.Count(srv.LogTail(100_000), "could not serialize access") }
	n := 0
	for ; met() < 10 && n < 1000; n += 5 {
		var all sync.WaitGroup
		for i := range 5 {
			in := made(t, stores[0], fmt.Sprintf("pi_%d", n+i))
			for h := range 20 {
				all.Go(func() {
					if insisted(t, stores[h%4], in, &told) {
						won.Add(1)
					}
				})
			}
		}
		all.Wait()
	}
	if won.Load() != int64(n) {
		t.Errorf("%d claims were had of %d intents", won.Load(), n)
	}
	if got := ask[int](t, database(t, dsn), "select count(*) from intents where state = 5 and version = 4"); got != n {
		t.Errorf("%d of %d are settled", got, n)
	}
	if met() < 10 || int(told.Load()) >= met() {
		t.Errorf("%d claims and results met another's commit, and callers were told %d times", met(), told.Load())
	}
	audited(t, stores[0])
}

// insisted claims and writes the result, and says whether the claim was had. Only the store's absence is a reason to ask
// again; told counts how often it was.
func insisted(t *testing.T, s *Store, in intents.Intent, told *atomic.Int64) (won bool) {
	c := keyed(in)
	c.ID = rand.Text()
	var cl intents.Claimed
	claim := func() (err error) { cl, err = s.Claim(context.Background(), c); return err }
	complete := func() error {
		return second(s.Complete(context.Background(), cl, intents.Result{Verdict: intents.Done, Ref: in.ID}))
	}
	for _, op := range []func() error{claim, complete} {
		for err := op(); err != nil; err = op() {
			if _, lost := errors.AsType[*intents.NotClaimedError](err); lost || away(t, err) || t.Failed() {
				return false
			}
			told.Add(1)
		}
	}
	return true
}
