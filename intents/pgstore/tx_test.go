package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// lender begins transactions as a publisher would, on a connection of its own.
type lender struct {
	*testing.T
	*Store
	db *sql.DB
}

func lend(t *testing.T) *lender {
	t.Helper()
	dsn := pgtest.New(t, migrate)
	return &lender{t, openStore(t, dsn), database(t, dsn)}
}

func (l *lender) begin() *sql.Tx {
	l.Helper()
	tx, err := l.db.BeginTx(context.Background(), nil)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = tx.Rollback() }) // of one that is committed it says so
	return tx
}

func (l *lender) insert(tx Tx, in intents.Intent) intents.Intent {
	l.Helper()
	got, err := InsertTx(context.Background(), tx, in, "shop")
	if err != nil {
		l.Fatalf("insert %s: %v", in.ID, err)
	}
	return got
}

func (l *lender) commit(tx interface{ Commit() error }) {
	l.Helper()
	if err := tx.Commit(); err != nil {
		l.Fatal(err)
	}
}

// swept are the ids that the sweeper publishes now.
func (l *lender) swept() (ids []string) {
	l.Helper()
	ins, err := l.Sweep(l.Context(), someIntent("x", 0).Route, 10)
	if err != nil {
		l.Fatal(err)
	}
	for _, in := range ins {
		ids = append(ids, in.ID)
	}
	return ids
}

func (l *lender) wantSwept(ids ...string) {
	l.Helper()
	got := l.swept()
	if len(got) != len(ids) || len(ids) > 0 && got[0] != ids[0] {
		l.Errorf("swept %v, want %v", got, ids)
	}
}

// odd is an intent whose every field has something to be quoted, or a word that is none.
func odd(id string) intents.Intent {
	in := someIntent(id, 0)
	in.Destination, in.Lane = `{"NULL",\'}`, "NULL"
	in.Metadata = map[string]string{"a": `"\{},' é`, "null": "NULL", "empty": ""}
	in.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	in.ExpiresAt = time.Now().Add(time.Hour)
	return in
}

// What is inserted is there from the commit on, whole, and is due at once.
func TestInsertTx(t *testing.T) {
	t.Parallel()
	l := lend(t)
	want, tx := odd("pi_1"), l.begin()
	stored := l.insert(tx, want)
	if _, err := l.Get(t.Context(), "pi_1"); !errors.Is(err, intents.ErrNotFound) {
		t.Errorf("before the commit: %v", err)
	}
	l.wantSwept()
	l.commit(tx)
	in := got(t, l.Store, "pi_1")
	if in.Hash() != want.Hash() || in.Traceparent != want.Traceparent || in.State != intents.Authorized || in.Version != 2 || in.Key != stored.Key {
		t.Errorf("stored %+v", in)
	}
	if !in.DueAt.Equal(in.CreatedAt) || !stored.DueAt.Equal(in.DueAt) || !stored.ReadAt.Equal(in.CreatedAt) {
		t.Errorf("due %v, told %v, created %v", in.DueAt, stored.DueAt, in.CreatedAt)
	}
	l.wantSwept("pi_1")
	if line, err := l.Events(t.Context(), "pi_1"); err != nil || len(line) != 2 || line[1].To != intents.Authorized || line[1].Actor != "shop" {
		t.Errorf("timeline %+v, %v", line, err)
	}
	audited(t, l.Store)
}

// Of a transaction that is rolled back nothing stays.
func TestInsertTxRolledBack(t *testing.T) {
	t.Parallel()
	l := lend(t)
	tx := l.begin()
	l.insert(tx, someIntent("pi_1", 0))
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Get(t.Context(), "pi_1"); !errors.Is(err, intents.ErrNotFound) {
		t.Errorf("after the rollback: %v", err)
	}
	if n := ask[int](t, l.db, "select count(*) from intent_events"); n != 0 {
		t.Errorf("%d events stay", n)
	}
	l.wantSwept()
	l.insert(l.begin(), someIntent("pi_1", 0)) // the id is free
}

// A scheduled intent is due when it may be sent.
func TestInsertTxScheduled(t *testing.T) {
	t.Parallel()
	l := lend(t)
	in, tx := someIntent("pi_1", 0), l.begin()
	in.NotBefore = time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	if got := l.insert(tx, in); !got.DueAt.Equal(in.NotBefore) || !got.TryAt.Equal(in.NotBefore) {
		t.Errorf("due %v, try %v; want %v", got.DueAt, got.TryAt, in.NotBefore)
	}
	l.commit(tx)
	l.wantSwept()
}

// The same id with the same content is the same intent, with other content or on another route it is refused; neither harms
// the transaction.
func TestInsertTxAgain(t *testing.T) {
	t.Parallel()
	l := lend(t)
	made(t, l.Store, "pi_1")
	claimed(t, l.Store, got(t, l.Store, "pi_1"))
	tx := l.begin()
	if again := l.insert(tx, someIntent("pi_1", 0)); again.State != intents.Settling || again.Version != 3 {
		t.Errorf("again: %s v%d, want it as it stands", again.State, again.Version)
	}
	first := l.insert(tx, someIntent("pi_2", 0))
	if again := l.insert(tx, someIntent("pi_2", 0)); again.Key != first.Key {
		t.Errorf("twice in one transaction: key %d and %d", first.Key, again.Key)
	}
	other, elsewhere, broken := someIntent("pi_1", 0), someIntent("pi_1", 0), someIntent("pi_3", 0)
	other.Amount, elsewhere.Route, broken.Asset = intents.NewAmount(7), "elsewhere", ""
	for why, in := range map[string]intents.Intent{"content": other, "route": elsewhere} {
		_, err := InsertTx(t.Context(), tx, in, "shop")
		if c, ok := errors.AsType[*intents.ConflictError](err); !ok || c.Why != why || c.ID != "pi_1" {
			t.Errorf("other %s: %v", why, err)
		}
	}
	_, err := InsertTx(t.Context(), tx, broken, "shop")
	if e, ok := errors.AsType[*intents.InvalidError](err); !ok || e.Field != "asset" {
		t.Errorf("no asset: %v", err)
	}
	broken = someIntent("pi_3", 0)
	broken.Route = ""
	if _, err := InsertTx(t.Context(), tx, broken, "shop"); err == nil {
		t.Error("an intent of no route is stored")
	}
	l.commit(tx)
	l.wantSwept("pi_2")
	audited(t, l.Store)
}

// Of what was pruned the tombstone tells.
func TestInsertTxPruned(t *testing.T) {
	t.Parallel()
	l := lend(t)
	made(t, l.Store, "pi_1")
	if _, err := l.Cancel(t.Context(), "pi_1", "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Prune(t.Context(), intents.Prune{Before: time.Now().Add(time.Hour)}, nil); err != nil {
		t.Fatal(err)
	}
	tx := l.begin()
	if got := l.insert(tx, someIntent("pi_1", 0)); got.PrunedAt.IsZero() || got.State != intents.Canceled {
		t.Errorf("pruned: %+v", got)
	}
	other := someIntent("pi_1", 0)
	other.Amount = intents.NewAmount(7)
	if _, err := InsertTx(t.Context(), tx, other, "shop"); err == nil {
		t.Error("other content under a pruned id is stored")
	}
	l.commit(tx)
	if n := ask[int](t, l.db, "select count(*) from intents"); n != 0 {
		t.Errorf("%d intents", n)
	}
}

// Of two that store one id at once the second waits, and finds what the first committed; or stores it where that was rolled
// back.
func TestInsertTxAtOnce(t *testing.T) {
	t.Parallel()
	for name, commits := range map[string]bool{"the first commits": true, "the first is rolled back": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lend(t)
			first, second := l.begin(), l.begin()
			one := l.insert(first, someIntent("pi_1", 0))
			two := make(chan intents.Intent, 1)
			go func() {
				in, err := InsertTx(context.Background(), second, someIntent("pi_1", 0), "shop")
				if err != nil {
					t.Error(err)
				}
				two <- in
			}()
			until(t, "the second waits", func() bool { return waitsForLock(t, l.db) })
			if commits {
				l.commit(first)
			} else if err := first.Rollback(); err != nil {
				t.Fatal(err)
			}
			if got := <-two; (got.Key == one.Key) != commits {
				t.Errorf("keys %d and %d, the first committed: %v", one.Key, got.Key, commits)
			}
			l.commit(second)
			if n := events(t, l.Store, "pi_1"); n != 2 {
				t.Errorf("%d lines, want 2", n)
			}
			audited(t, l.Store)
		})
	}
}

// It does not matter how the transaction's driver sends what it is given, nor whose zone its session is in.
func TestInsertTxDrivers(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s := openStore(t, dsn)
	for id, set := range map[string]func(*pq.Config){
		"pi_binary": func(c *pq.Config) { c.BinaryParameters = true },
		"pi_zone":   func(c *pq.Config) { c.Runtime = map[string]string{"timezone": "Asia/Tokyo"} },
	} {
		cfg, err := pq.NewConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		set(&cfg)
		connector, err := pq.NewConnectorConfig(cfg)
		if err != nil {
			t.Fatal(err)
		}
		db := sqlx.NewDb(sqlOpen(t, connector), "postgres")
		tx := db.MustBegin()
		want := odd(id)
		if _, err := InsertTx(t.Context(), tx, want, "shop"); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if in := got(t, s, id); in.Hash() != want.Hash() || time.Since(in.CreatedAt).Abs() > time.Hour {
			t.Errorf("%s: stored %+v", id, in)
		}
	}
}
