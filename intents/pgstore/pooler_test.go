package pgstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Case 47: a pooler that lends sessions for one transaction is refused at start, whatever it does with settings, however
// it chooses and however busy it is. Nothing of ours stays behind in its sessions.
func TestPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	const ours = "lock_timeout,idle_in_transaction_session_timeout,statement_timeout,plan_cache_mode,enable_seqscan,enable_hashjoin,enable_mergejoin"
	srv := pgtest.Server(t)
	for name, settings := range map[string][]string{
		"as it comes":      {"default_pool_size", "2"},
		"settings ignored": {"default_pool_size", "2", "ignore_startup_parameters", ours},
		"one session":      {"default_pool_size", "1"},
		"round and round":  {"default_pool_size", "9", "server_round_robin", "1"},
		"busy":             {"default_pool_size", "3", "server_round_robin", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Bouncer(t, srv, append([]string{"pool_mode", "transaction"}, settings...)...)("postgres")
			if name == "busy" {
				defer crowd(t, dsn)()
			}
			_, open := Open(t.Context(), Config{DSN: dsn})
			_, up := Migrate(t.Context(), dsn, nil)
			_, status := MigrationStatus(t.Context(), dsn)
			for what, err := range map[string]error{"open": open, "migrate": up, "status": status} {
				if bad, ok := errors.AsType[*intents.InvalidError](err); !ok || bad.Field != "database-url" {
					t.Errorf("%s: %v, want a word on the database url", what, err)
				}
			}
			db := database(t, dsn)
			for setting := range strings.SplitSeq(ours, ",") {
				if got := ask[string](t, db, "select source from pg_settings where name = '"+setting+"'"); got != "default" {
					t.Errorf("%s in the pooler's session comes from %s", setting, got)
				}
			}
		})
	}
}

// crowd keeps the sessions of a pooler moving until it is told to stop.
func crowd(t *testing.T, dsn string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	db := database(t, dsn)
	db.SetMaxOpenConns(3)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _ = db.ExecContext(ctx, "select") // ends with ctx
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// Case 47: a pooler that goes over to lending while we run is noticed when a transaction begins, before any statement of
// ours is run in a session in which its name may stand for another.
func TestSessionLentAway(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t)
	dsn := pgtest.Bouncer(t, srv, "pool_mode", "transaction", "default_pool_size", "2")("postgres")
	cfg, err := parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := committing(cfg, cfg.ConnectTimeout).connector(nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &link{db: sqlOpen(t, connector), log: slog.New(slog.DiscardHandler)}
	defer l.drop()
	if err := l.tx(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Fatalf("alone: %v", err)
	}
	other, err := database(t, dsn).Begin() // takes the session that was given back last
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback() }()
	do(t, other, "select")
	err = l.tx(t.Context(), func(context.Context) error {
		t.Error("the transaction goes on in another session")
		return nil
	})
	if _, ok := errors.AsType[*intents.InvalidError](err); !ok || !errors.Is(err, intents.ErrUnavailable) {
		t.Errorf("begun in another session: %v", err)
	}
}

// Case 47: behind a pooler that keeps a session for each connection, 20 workers carry 5,000 intents through: each answer
// is about the intent that was asked for, with its own amount.
func TestPoolerInSessionMode(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t)
	dsn := migrated(t, pgtest.Bouncer(t, srv, "pool_mode", "session", "default_pool_size", "12")("postgres"))
	s := openStore(t, dsn)
	const n, workers = 5000, 20
	var all sync.WaitGroup
	for h := range workers {
		all.Go(func() {
			for i := h; i < n && !t.Failed(); i += workers {
				carried(t, s, someIntent(fmt.Sprintf("pi_%04d", i), i))
			}
		})
	}
	all.Wait()
	if got := ask[int](t, database(t, dsn), "select count(*) from intents where state = 5 and version = 4 and amount = 1000 + substr(id, 4)::int"); got != n {
		t.Errorf("%d of %d intents are settled with their own amount", got, n)
	}
	audited(t, s)
}

// carried takes an intent through all queues and wants each answer to be its own.
func carried(t *testing.T, s *Store, want intents.Intent) {
	ctx := context.Background()
	own := func(step string, in intents.Intent, err error) {
		if err != nil || in.ID != want.ID || !in.Amount.Equal(want.Amount) {
			t.Errorf("%s %s: told %s with %s, %v", step, want.ID, in.ID, in.Amount, err)
		}
	}
	in, err := s.Take(ctx, intents.Message{ID: want.ID, Route: want.Route, Full: true, Intent: want, Actor: "tester"})
	own("take", in, err)
	cl, err := s.Claim(ctx, keyed(in))
	own("claim", cl.Intent, err)
	if err == nil && (len(cl.Attempts) != 1 || cl.Attempts[0].Name != want.ID) {
		t.Errorf("claim %s: told the bytes %+v", want.ID, cl.Attempts)
	}
	in, err = s.Complete(ctx, cl, intents.Result{Verdict: intents.Done, Ref: want.ID})
	own("complete", in, err)
}
