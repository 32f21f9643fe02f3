package pgstore

import (
	"errors"
	"sync"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Migrators that run at once, and again, do the work once.
func TestMigrate(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, nil)
	before, err := MigrationStatus(t.Context(), dsn)
	if err != nil || len(before) != 4 || !before[0].AppliedAt.IsZero() {
		t.Fatalf("before: %+v, %v", before, err)
	}
	if _, err := Open(t.Context(), Config{DSN: dsn}); !errors.Is(err, intents.ErrUnavailable) {
		t.Errorf("open without a schema: %v, want unavailable", err)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	steps := 0
	for range 3 {
		all.Go(func() {
			applied, err := Migrate(t.Context(), dsn, nil)
			if err != nil {
				t.Errorf("migrate: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			steps += len(applied)
		})
	}
	all.Wait()
	if applied, err := Migrate(t.Context(), dsn, nil); err != nil || len(applied) != 0 || steps != 4 {
		t.Errorf("%d steps, then %v, %v; want 4, then none", steps, applied, err)
	}
	after, err := MigrationStatus(t.Context(), dsn)
	if err != nil || len(after) != 4 || after[0].AppliedAt.IsZero() || after[0].Name != "00001_init.sql" {
		t.Errorf("after: %+v, %v", after, err)
	}
}

// Case 49: a migration that cannot have its lock gives up, leaves nothing behind, and works later.
func TestMigrationGivesUp(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, nil)
	tx, err := database(t, dsn).Begin()
	if err != nil {
		t.Fatal(err)
	}
	do(t, tx, "create table accounts (x int)") // the name is taken until we know better
	if applied, err := Migrate(t.Context(), with(dsn, "lock_timeout=200"), nil); err == nil || len(applied) != 0 {
		t.Errorf("migrate against a lock: %v, %v", applied, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if applied, err := Migrate(t.Context(), dsn, nil); err != nil || len(applied) != 4 {
		t.Errorf("migrate again: %v, %v", applied, err)
	}
}
