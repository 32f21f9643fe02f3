package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

func migrated(t *testing.T, dsn string) string {
	t.Helper()
	if err := migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// with adds settings to a DSN.
func with(dsn string, settings ...string) string {
	sep := "?"
	if strings.Contains(dsn, "?") {
		sep = "&"
	}
	return dsn + sep + strings.Join(settings, "&")
}

// Every method answers unavailable while the server is down, and works again after it is back, without a restart.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t)
	s := openStore(t, migrated(t, srv.DSN("postgres")))
	cl := claimed(t, s, made(t, s, "pi_1"))
	if err := srv.Halt(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"ping":     s.Ping(t.Context()),
		"take":     second(s.Take(t.Context(), intents.Message{ID: "pi_1", Route: "payouts"})),
		"claim":    second(s.Claim(t.Context(), keyed(cl.Intent))),
		"complete": second(s.Complete(t.Context(), cl, intents.Result{Verdict: intents.Done})),
		"attach":   second(s.Attach(t.Context(), intents.Attempt{Slot: cl.Slot(), No: 2, Kind: intents.Bump})),
		"bury":     s.Bury(t.Context(), intents.DeadLetter{Topic: "t"}),
		"sweep":    second(s.Sweep(t.Context(), "payouts", 1)),
		"lead":     second(s.Lead(t.Context(), "a", "b", time.Second)),
		"watches":  second(s.Watches(t.Context(), "payouts", 1)),
		"list":     second(s.List(t.Context(), intents.Filter{})),
		"audit":    second(s.Audit(t.Context())),
	} {
		if !errors.Is(err, intents.ErrUnavailable) {
			t.Errorf("%s without a server: %v, want unavailable", name, err)
		}
	}
	if err := srv.Launch(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "the result is written", func() bool {
		_, err := s.Complete(t.Context(), cl, intents.Result{Verdict: intents.Done, Ref: "r"})
		return away(t, err)
	})
	until(t, "the other queues are back", func() bool {
		_, err := s.Get(t.Context(), "pi_1")
		return err == nil && s.Ping(t.Context()) == nil
	})
	stands(t, s, intents.Settled, 4, 4)
	audited(t, s)
}

func second[T any](_ T, err error) error { return err }

// Case 42: a pool of one connection serves eight handlers that use every kind of method; nobody waits for a second
// connection while holding one.
func TestPoolOfOne(t *testing.T) {
	t.Parallel()
	s := openStore(t, with(pgtest.New(t, migrate), "lock_timeout=20s"), func(c *Config) { c.MaxConns = 1 })
	var all sync.WaitGroup
	for h := range 8 {
		all.Go(func() {
			for i := range 5 {
				s.everything(t, fmt.Sprintf("pi_%d_%d", h, i))
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("handlers wait for each other")
	}
	audited(t, s)
}

// everything uses every kind of method once.
func (s *Store) everything(t *testing.T, id string) {
	ctx := context.Background()
	in, err := s.Create(ctx, someIntent(id, 0), true, "tester")
	check := func(e error) {
		if err = errors.Join(err, e); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	check(s.Park(ctx, in, 0))
	settle(t, s, in)
	check(second(s.Credit(ctx, intents.Entry{Account: "acct_x", Asset: "ETH", Amount: intents.NewAmount(5), Ref: id})))
	check(second(s.OpenSigner(ctx, intents.Signer{Scope: "s", Window: 3})))
	check(second(s.See(ctx, "s", 1)))
	check(second(s.Unfreeze(ctx, "s", "x", "ann")))
	check(second(s.Account(ctx, "s", 99, intents.Foreign{Hash: "0x"}, nil)))
	check(s.Note(ctx, id, "ann", nil))
	check(second(s.Sweep(ctx, "other", 5)))
	check(second(s.Lead(ctx, "lease", id, time.Millisecond)))
	check(second(s.Watches(ctx, "payouts", 5)))
	check(second(s.Record(ctx, nil, []intents.Observation{{Slot: intents.Slot{ID: in.Key}}}, intents.Patience{})))
	check(s.Bury(ctx, intents.DeadLetter{Topic: id}))
	check(second(s.Events(ctx, id)))
	check(second(s.Attempts(ctx, id)))
	check(second(s.Accounts(ctx, "")))
	check(s.SetPaused(ctx, "other", false, "tester"))
	check(s.Ping(ctx))
}

// Case 42: the server has no connection left (53300). That is unavailable, and passes by itself.
func TestTooManyClients(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t, "max_connections", "8", "superuser_reserved_connections", "0")
	dsn := migrated(t, srv.DSN("postgres"))
	s := openStore(t, dsn)
	db := database(t, dsn)
	var taken []interface{ Close() error }
	until(t, "the server is full", func() bool {
		c, err := db.Conn(t.Context())
		if err == nil {
			taken = append(taken, c)
		}
		return err != nil
	})
	if _, err := s.Create(t.Context(), someIntent("pi_1", 0), true, "tester"); !errors.Is(err, intents.ErrUnavailable) {
		t.Errorf("create on a full server: %v, want unavailable", err)
	}
	if _, err := Open(t.Context(), Config{DSN: dsn}); !errors.Is(err, intents.ErrUnavailable) {
		t.Errorf("open on a full server: %v, want unavailable", err)
	}
	for _, c := range taken {
		c.Close()
	}
	db.Close()
	until(t, "there is room again", func() bool {
		_, err := s.Create(t.Context(), someIntent("pi_1", 0), true, "tester")
		return away(t, err)
	})
}

// Case 43: the server turns read-only under open connections, as after a failover. Every write answers unavailable, so
// does the probe, and when it can be written again it is, without a restart.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t)
	dsn := migrated(t, srv.DSN("postgres"))
	s, db := openStore(t, dsn), database(t, dsn)
	cl, other := claimed(t, s, made(t, s, "pi_1")), made(t, s, "pi_2")
	do(t, db, "alter system set default_transaction_read_only = on")
	do(t, db, "select pg_reload_conf()")
	until(t, "the probe is red", func() bool { return errors.Is(s.Ping(t.Context()), intents.ErrUnavailable) })
	until(t, "claims are refused", func() bool {
		_, err := s.Claim(t.Context(), intents.Claim{Intent: got(t, s, other.ID)}) // no attempt: it could not be had anyway
		_, invalid := errors.AsType[*intents.InvalidError](err)
		return !invalid && errors.Is(err, intents.ErrUnavailable)
	})
	if _, err := s.Complete(t.Context(), cl, intents.Result{Verdict: intents.Done}); !errors.Is(err, intents.ErrUnavailable) {
		t.Errorf("complete on a read-only server: %v, want unavailable", err)
	}
	if err := s.Bury(t.Context(), intents.DeadLetter{Topic: "t"}); !errors.Is(err, intents.ErrUnavailable) {
		t.Errorf("bury on a read-only server: %v, want unavailable", err)
	}
	do(t, db, "alter system reset default_transaction_read_only")
	do(t, db, "select pg_reload_conf()")
	until(t, "the result is written", func() bool {
		_, err := s.Complete(t.Context(), cl, intents.Result{Verdict: intents.Done, Ref: "r"})
		return away(t, err)
	})
	until(t, "the probe is green", func() bool { return s.Ping(t.Context()) == nil })
	stands(t, s, intents.Settled, 4, 4)
}

// Case 45: no transaction is open between two calls of the store, so a server that ends idle ones after a second ends
// none of ours, however long a sender takes.
func TestNoTransactionStaysOpen(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, with(dsn, "idle_in_transaction_session_timeout=1s")), database(t, dsn)
	cl := counted(t, s, "pi_1")
	if n := ask[int](t, db, "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'"); n != 0 {
		t.Errorf("%d sessions are idle in a transaction", n)
	}
	after(1500 * time.Millisecond) // what a sender takes
	a, err := s.Attach(t.Context(), intents.Attempt{Slot: cl.Slot(), No: 1, Kind: intents.First, Bytes: []byte("b"), Name: "0x1"})
	if err != nil || string(a.Bytes) != "b" {
		t.Errorf("attach: %v, %v", a, err)
	}
	if _, err := s.Complete(t.Context(), cl, intents.Result{Verdict: intents.Accepted, Ref: "0x1"}); err != nil {
		t.Errorf("complete: %v", err)
	}
	stands(t, s, intents.Confirming, 4, 4)
}

// Case 46: statement_timeout cuts statements that wait for a lock. Nothing was written, and the result is written in the
// end.
func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, with(dsn, "statement_timeout=50")), database(t, dsn)
	cl := claimed(t, s, made(t, s, "pi_1"))
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	do(t, tx, "select from intents for update")
	if _, err := s.Complete(t.Context(), cl, intents.Result{Verdict: intents.Done}); !errors.Is(err, intents.ErrUnavailable) {
		t.Errorf("complete on a locked row: %v, want unavailable", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	until(t, "the result is written", func() bool {
		_, err := s.Complete(t.Context(), cl, intents.Result{Verdict: intents.Done, Ref: "r"})
		return away(t, err)
	})
	stands(t, s, intents.Settled, 4, 4)
}

// Case 46: the caller's context ends while its result is being written. The batch runs on a context of its own, and the
// caller hears the truth.
func TestCallerLeavesUnderWay(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, with(dsn, "lock_timeout=30s")), database(t, dsn)
	cl := claimed(t, s, made(t, s, "pi_1"))
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	do(t, tx, "select from intents for update")
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() {
		_, err := s.Complete(ctx, cl, intents.Result{Verdict: intents.Done, Ref: "r"})
		answer <- err
	}()
	until(t, "the commit waits for the row", func() bool { return waitsForLock(t, db) })
	cancel()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Errorf("complete: %v", err)
	}
	stands(t, s, intents.Settled, 4, 4)
}

// Closing ends every connection and answers what comes later; closing again does nothing.
func TestClose(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	in := made(t, s, "pi_1")
	s.Close()
	s.Close()
	if _, err := s.Claim(t.Context(), keyed(in)); !errors.Is(err, intents.ErrUnavailable) {
		t.Errorf("claim after close: %v, want unavailable", err)
	}
	until(t, "no session is left", func() bool {
		return ask[int](t, db, "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'relayer'") == 0
	})
}

// Case 111: a password is in no error, whether the server cannot be reached, refuses it, or the DSN cannot be read.
func TestPasswordStaysSecret(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://u:SECRET@127.0.0.1:1/db?sslmode=disable",
		"postgres://u:SECRET@no-such-host.invalid/db",
		"postgres://u:SECRET%zz@localhost/db",
		"postgres://u:SECRET@[::1/db",
		"postgres://u:p@localhost/db?password=SECRET&sslmode=SECRET",
		"password=SECRET sslmode",
		"SECRET",
		"host=/nowhere password='SECRET",
	} {
		_, err := Open(t.Context(), Config{DSN: dsn})
		_, err2 := Migrate(t.Context(), dsn, nil)
		_, err3 := MigrationStatus(t.Context(), dsn)
		for _, err := range []error{err, err2, err3} {
			if err == nil || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("error is %v", err)
			}
		}
	}
}
