package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Migrators that run at once, and again, do the work once.
func TestMigrate(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, nil)
	before, err := MigrationStatus(t.Context(), dsn)
	if err != nil || len(before) != 5 || !before[0].AppliedAt.IsZero() {
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
	if applied, err := Migrate(t.Context(), dsn, nil); err != nil || len(applied) != 0 || steps != 5 {
		t.Errorf("%d steps, then %v, %v; want 5, then none", steps, applied, err)
	}
	after, err := MigrationStatus(t.Context(), dsn)
	if err != nil || len(after) != 5 || after[0].AppliedAt.IsZero() || after[0].Name != "00001_init.sql" {
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
	if applied, err := Migrate(t.Context(), dsn, nil); err != nil || len(applied) != 5 {
		t.Errorf("migrate again: %v, %v", applied, err)
	}
}

// nextStep is the schema's steps and one that is not written yet, which changes the hottest table.
func nextStep(t *testing.T) fs.FS {
	t.Helper()
	files := fstest.MapFS{
		"migrations/99999_next.sql": {Data: []byte("-- +goose Up\ncreate table half (x int);\nalter table intents add column later int;\n")},
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	for _, name := range names {
		if err == nil {
			files[name] = &fstest.MapFile{}
			files[name].Data, err = migrations.ReadFile(name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// reader holds a transaction open that has read the hottest table, as a dump does.
func reader(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	do(t, tx, "select 1 from intents limit 1")
	return tx
}

// Case 49: a step waits behind an open reader, and all traffic behind the step. It gives up loudly, leaves nothing of itself
// behind, and the traffic goes on; when the reader has gone it can be taken.
func TestMigrationUnderTraffic(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, with(dsn, "lock_timeout=2min"), func(c *Config) { c.CommitTimeout = 2 * time.Minute }), database(t, dsn)
	open, in := reader(t, db), made(t, s, "pi_1")
	given := make(chan error, 1)
	go func() {
		applied, err := migrateTo(t.Context(), with(dsn, "lock_timeout=3s"), nextStep(t), nil)
		if len(applied) != 0 {
			t.Errorf("applied %v", applied)
		}
		given <- err
	}()
	until(t, "the step waits", func() bool { return waitsForLock(t, db) })
	settle(t, s, in) // queues behind it
	stands(t, s, intents.Settled, 4, 4)
	if err := <-given; err == nil || !strings.Contains(err.Error(), "lock timeout") || !strings.Contains(err.Error(), "version:99999") {
		t.Errorf("the migration says %v, want what it waited for", err)
	}
	if ask[bool](t, db, "select to_regclass('half') is not null") {
		t.Error("half of the step was taken")
	}
	if err := open.Rollback(); err != nil {
		t.Fatal(err)
	}
	if applied, err := migrateTo(t.Context(), dsn, nextStep(t), nil); err != nil || len(applied) != 1 {
		t.Errorf("migrate again: %v, %v", applied, err)
	}
	settle(t, s, made(t, s, "pi_2"))
	audited(t, s)
}

// Case 49: a migrator is killed in the middle of its step, while another one waits for it. Nothing is half done, and the
// other one takes the step.
func TestMigratorIsKilled(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	db := database(t, dsn)
	open := reader(t, db)
	type end struct {
		applied int
		err     error
	}
	ends := make(chan end, 2)
	for range 2 {
		go func() {
			applied, err := migrateTo(context.WithoutCancel(t.Context()), with(dsn, "lock_timeout=2min"), nextStep(t), nil)
			ends <- end{len(applied), err}
		}()
	}
	until(t, "one is in its middle", func() bool { return waitsForLock(t, db) })
	do(t, db, "select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
	if killed := <-ends; killed.err == nil || killed.applied != 0 {
		t.Errorf("the killed one: %+v", killed)
	}
	until(t, "the other one is at it", func() bool { return waitsForLock(t, db) })
	if ask[bool](t, db, "select to_regclass('half') is not null") {
		t.Error("half of the step was taken")
	}
	if err := open.Rollback(); err != nil {
		t.Fatal(err)
	}
	if other := <-ends; other.err != nil || other.applied != 1 {
		t.Errorf("the other one: %+v", other)
	}
}
