package client_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/nsqrelayer/relayer/client"
	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

var (
	_ client.Tx = (*sql.Tx)(nil)
	_ client.Tx = (*sqlx.Tx)(nil)
)

func begin(t *testing.T) *sql.Tx {
	t.Helper()
	tx, err := open().DB.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() }) // of one that is committed it says so
	return tx
}

// From the commit on the sweeper publishes what was inserted; before it, and after a rollback, there is nothing to publish. The
// caller's own rows share its fate.
func TestInsertTxIsSwept(t *testing.T) {
	t.Parallel()
	s, next, one, two := open(), arrives(t, "insert.swept"), fresh("tx"), fresh("tx")
	sweeper := relayer.NewSweeper(relayer.Config{Route: "swept", Topic: "insert.swept", Concurrency: 4}, s.Store, s.Publisher)
	sweep := func(want int) {
		t.Helper()
		if n, err := sweeper.Sweep(t.Context()); err != nil || n != want {
			t.Fatalf("swept %d, %v; want %d", n, err, want)
		}
	}
	if _, err := s.DB.ExecContext(t.Context(), "drop table if exists sales; create table sales (payment text)"); err != nil {
		t.Fatal(err)
	}
	sell := func(id string) *sql.Tx {
		t.Helper()
		tx, in := begin(t), payment(id)
		in.Route = "swept"
		if _, err := tx.ExecContext(t.Context(), "insert into sales values ($1)", id); err != nil {
			t.Fatal(err)
		}
		if got, err := client.InsertTx(t.Context(), tx, in); err != nil || got.State != intents.Authorized {
			t.Fatalf("got %+v, %v", got, err)
		}
		return tx
	}
	kept, dropped := sell(one), sell(two)
	sweep(0)
	if err := errors.Join(kept.Commit(), dropped.Rollback()); err != nil {
		t.Fatal(err)
	}
	sweep(1)
	if m := next(); m.Full || m.ID != one {
		t.Errorf("published %+v", m)
	}
	sweep(0)
	var sold string
	if err := s.DB.QueryRowContext(t.Context(), "select string_agg(payment, ' ') from sales").Scan(&sold); err != nil || sold != one {
		t.Errorf("sold %q, %v", sold, err)
	}
	if _, err := s.Store.Get(t.Context(), two); !errors.Is(err, intents.ErrNotFound) {
		t.Errorf("rolled back: %v", err)
	}
}

// A conflict is told by type and spoils nothing: what else the transaction wrote is committed.
func TestInsertTxConflict(t *testing.T) {
	t.Parallel()
	tx, id := begin(t), fresh("tx")
	if _, err := client.InsertTx(t.Context(), tx, payment(id)); err != nil {
		t.Fatal(err)
	}
	other := payment(id)
	other.Amount = intents.NewAmount(7)
	_, err := client.InsertTx(t.Context(), tx, other)
	if c, ok := errors.AsType[*intents.ConflictError](err); !ok || c.ID != id || c.Why != "content" {
		t.Errorf("other content: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if in, err := open().Store.Get(t.Context(), id); err != nil || in.Hash() != payment(id).Hash() {
		t.Errorf("stored %+v, %v", in, err)
	}
}

// What the documentation grants is enough, and nothing else is.
func TestInsertTxGrants(t *testing.T) {
	t.Parallel()
	tx := begin(t)
	for _, grant := range []string{
		"create role shop", "grant usage on schema public to shop",
		"grant select, insert on intents, intent_events to shop",
		"grant select on tombstones, routes, recoveries, servers to shop",
		"grant usage on sequence relayer_keys to shop", "set local role shop",
	} {
		if _, err := tx.ExecContext(t.Context(), grant); err != nil {
			t.Fatalf("%s: %v", grant, err)
		}
	}
	if _, err := client.InsertTx(t.Context(), tx, payment("tx_4")); err != nil {
		t.Errorf("with what the documentation grants: %v", err)
	}
	if _, err := tx.ExecContext(t.Context(), "update intents set state = 5 where id = 'tx_4'"); err == nil {
		t.Error("whoever may insert may settle")
	}
}
