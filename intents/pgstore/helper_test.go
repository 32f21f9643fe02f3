package pgstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// until waits for something to become true.
func until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			tb.Fatalf("waited for a minute until %s", what)
		}
	}
}

// after waits on the clock, where passing time is what is tested.
func after(d time.Duration) { <-time.After(d) }

// database opens a plain connection pool beside the store.
func database(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

func do(tb testing.TB, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, args ...any) {
	tb.Helper()
	if _, err := db.ExecContext(context.Background(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

func ask[T any](tb testing.TB, db *sql.DB, query string, args ...any) (v T) {
	tb.Helper()
	if err := db.QueryRowContext(context.Background(), query, args...).Scan(&v); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return v
}

// answers asks until the store answers: one that has a second for a commit may need more on a busy machine.
func answers[T any](tb testing.TB, what string, ask func() (T, error)) (got T) {
	tb.Helper()
	until(tb, "the store answers: "+what, func() bool {
		var err error
		got, err = ask()
		if err != nil && !errors.Is(err, intents.ErrUnavailable) && !errors.Is(err, intents.ErrUnsure) {
			tb.Fatalf("%s: %v", what, err)
		}
		return err == nil
	})
	return got
}

// made stores an authorized intent.
func made(tb testing.TB, s *Store, id string) intents.Intent {
	tb.Helper()
	return answers(tb, "create", func() (intents.Intent, error) { return s.Create(tb.Context(), someIntent(id, 0), true, "tester") })
}

func claimed(tb testing.TB, s *Store, in intents.Intent) intents.Claimed {
	tb.Helper()
	c := keyed(in)
	c.ID = rand.Text() // asked again it is the same claim
	return answers(tb, "claim", func() (intents.Claimed, error) { return s.Claim(tb.Context(), c) })
}

func got(tb testing.TB, s *Store, id string) intents.Intent {
	tb.Helper()
	return answers(tb, "get", func() (intents.Intent, error) { return s.Get(tb.Context(), id) })
}

// audited wants everything to add up.
func audited(tb testing.TB, s *Store) {
	tb.Helper()
	found, err := s.Audit(context.Background())
	if err != nil {
		tb.Fatalf("audit: %v", err)
	}
	for _, line := range found {
		tb.Errorf("audit: %s", line)
	}
}

// events counts the lines of a timeline.
func events(tb testing.TB, s *Store, id string) int {
	tb.Helper()
	return len(answers(tb, "events", func() ([]intents.Event, error) { return s.Events(tb.Context(), id) }))
}

// waitsForLock says whether a session of the store's database waits for a lock.
func waitsForLock(tb testing.TB, db *sql.DB) bool {
	tb.Helper()
	return ask[int](tb, db, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") > 0
}

// sqlOpen opens a pool of a connector.
func sqlOpen(tb testing.TB, c driver.Connector) *sql.DB {
	tb.Helper()
	db := sql.OpenDB(c)
	tb.Cleanup(func() { db.Close() })
	return db
}
