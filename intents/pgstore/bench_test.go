package pgstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

const callers = 256

// BenchmarkClaimComplete claims intents with key slots and settles them, with 256 callers at once on a server that syncs
// its log. rows commits each operation alone, on the same four connections.
func BenchmarkClaimComplete(b *testing.B) {
	for _, mode := range []struct {
		name string
		rows bool
	}{{"batched", false}, {"rows", true}} {
		b.Run(mode.name, func(b *testing.B) {
			srv := pgtest.Server(b, "fsync", "on", "synchronous_commit", "on")
			dsn := srv.DSN("postgres")
			if err := migrate(b.Context(), dsn); err != nil {
				b.Fatal(err)
			}
			var batches, rows atomic.Int64
			s := openStore(b, dsn, func(c *Config) {
				c.RowMode = mode.rows
				c.Observe = func(q string, n int, _ time.Duration) {
					if q == "claims" {
						batches.Add(1)
						rows.Add(int64(n))
					}
				}
			})
			ins := seed(b, openStore(b, dsn), b.N)
			b.ReportAllocs()
			b.ResetTimer()
			each(ins, func(in intents.Intent) { settle(b, s, in) })
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "intents/s")
			b.ReportMetric(float64(rows.Load())/float64(max(batches.Load(), 1)), "rows/batch")
		})
	}
}

// BenchmarkSteps is each step of the plain path by itself, with 256 callers at once on a server that syncs its log.
func BenchmarkSteps(b *testing.B) {
	var s *Store
	var claimed sync.Map
	take := func(tb testing.TB, in intents.Intent) {
		if _, err := s.Take(context.Background(), intents.Message{ID: in.ID, Route: in.Route}); err != nil {
			tb.Errorf("take: %v", err)
		}
	}
	claim := func(tb testing.TB, in intents.Intent) {
		cl, err := s.Claim(context.Background(), keyed(in))
		if err != nil {
			tb.Errorf("claim: %v", err)
		}
		claimed.Store(in.Key, cl)
	}
	complete := func(tb testing.TB, in intents.Intent) {
		cl, _ := claimed.Load(in.Key)
		if _, err := s.Complete(context.Background(), cl.(intents.Claimed), intents.Result{Verdict: intents.Done, Ref: "ref-" + in.ID}); err != nil {
			tb.Errorf("complete: %v", err)
		}
	}
	nothing := func(testing.TB, intents.Intent) {}
	for _, step := range []struct {
		name       string
		before, do func(testing.TB, intents.Intent)
	}{{"take", nothing, take}, {"claim", nothing, claim}, {"complete", claim, complete}} {
		b.Run(step.name, func(b *testing.B) {
			dsn := pgtest.Server(b, "fsync", "on", "synchronous_commit", "on").DSN("postgres")
			if err := migrate(b.Context(), dsn); err != nil {
				b.Fatal(err)
			}
			s = openStore(b, dsn)
			ins := seed(b, s, b.N)
			each(ins, func(in intents.Intent) { step.before(b, in) })
			b.ReportAllocs()
			b.ResetTimer()
			each(ins, func(in intents.Intent) { step.do(b, in) })
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "intents/s")
		})
	}
}

// seed stores authorized intents of a hundred accounts.
func seed(tb testing.TB, s *Store, n int) []intents.Intent {
	tb.Helper()
	ins := make([]intents.Intent, n)
	var at atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := at.Add(1) - 1; i < int64(n); i = at.Add(1) - 1 {
				in, err := s.Create(context.Background(), someIntent(fmt.Sprintf("pi_%06d", i), int(i)), true, "tester")
				if err != nil {
					tb.Errorf("create: %v", err)
					return
				}
				ins[i] = in
			}
		})
	}
	all.Wait()
	return ins
}

func someIntent(id string, n int) intents.Intent {
	return intents.Intent{ID: id, Route: "payouts", Account: fmt.Sprintf("acct_%d", n%100), Destination: "0x52908400098527886E0F7030069857D2E4169EE7",
		Asset: "ETH", Amount: intents.NewAmount(int64(1000 + n))}
}

// each works on intents with many callers.
func each(ins []intents.Intent, work func(intents.Intent)) {
	var at atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := at.Add(1) - 1; i < int64(len(ins)); i = at.Add(1) - 1 {
				work(ins[i])
			}
		})
	}
	all.Wait()
}

// keyed asks for a claim of a key slot with 120 bytes.
func keyed(in intents.Intent) intents.Claim {
	return intents.Claim{Intent: in, Owner: "tester", Term: time.Minute,
		Plan:    intents.Plan{Slot: intents.Key, Scope: "https://pay.example", Again: intents.For(time.Hour)},
		Attempt: &intents.Attempt{No: 1, Kind: intents.First, Bytes: make([]byte, 120), Name: in.ID}}
}

// settle takes an intent through claim and result.
func settle(tb testing.TB, s *Store, in intents.Intent) {
	cl, err := s.Claim(context.Background(), keyed(in))
	if err != nil {
		tb.Errorf("claim: %v", err)
		return
	}
	if _, err := s.Complete(context.Background(), cl, intents.Result{Verdict: intents.Done, Ref: "ref-" + in.ID}); err != nil {
		tb.Errorf("complete: %v", err)
	}
}
