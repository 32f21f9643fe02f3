package pgstore

import (
	"context"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/internal/pgtest"
	"github.com/nsqrelayer/relayer/relayer/memstore"
	"github.com/nsqrelayer/relayer/relayer/storetest"
)

var _ storetest.Store = (*Store)(nil)

func migrate(ctx context.Context, dsn string) error {
	_, err := Migrate(ctx, dsn, nil)
	return err
}

// openStore opens a store on a database, and closes it when the test ends.
func openStore(tb testing.TB, dsn string, change ...func(*Config)) *Store {
	tb.Helper()
	cfg := Config{DSN: dsn, Actor: "tester", CommitTimeout: 30 * time.Second}
	for _, c := range change {
		c(&cfg)
	}
	s, err := Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(s.Close)
	return s
}

func fresh(tb testing.TB, change ...func(*Config)) *Store {
	tb.Helper()
	return openStore(tb, pgtest.New(tb, migrate), change...)
}

func TestStore(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(*testing.T) storetest.Harness { return storetest.Harness{Store: s} })
	})
}

func TestRowMode(t *testing.T) {
	t.Parallel()
	s := fresh(t, func(c *Config) { c.RowMode = true })
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(*testing.T) storetest.Harness { return storetest.Harness{Store: s} })
	})
}

func TestModel(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	storetest.RunModel(t, func(*testing.T) storetest.Harness { return storetest.Harness{Store: s} },
		func() storetest.Store { return memstore.New(memstore.Config{Now: ticking()}) })
}

// ticking is a clock that moves on by a millisecond at each look.
func ticking() func() time.Time {
	now := time.Now()
	return func() time.Time {
		now = now.Add(time.Millisecond)
		return now
	}
}
