package main

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Case 47: behind a pooler that lends sessions for one transaction the program does not start, and says what to do.
func TestPoolerIsRefused(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t)
	dsn := pgtest.Bouncer(t, srv, "pool_mode", "transaction", "default_pool_size", "2")("postgres")
	w := newWorldAt(t, "", srv.DSN("postgres"))
	for _, args := range [][]string{{"run"}, {"migrate"}, {"migrate", "status"}, {"list"}} {
		p := w.start(append(args, "--database-url", dsn)...)
		p.exits(exitUsage)
		if said := p.stderr.String(); !strings.Contains(said, "database-url") || !strings.Contains(said, "pool_mode = session") {
			t.Errorf("%v says %q", args, said)
		}
	}
}

// admin gives orders to a server.
func admin(t *testing.T, dsn string, orders ...string) {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, order := range orders {
		if _, err := db.ExecContext(t.Context(), order); err != nil {
			t.Fatalf("%s: %v", order, err)
		}
	}
}

// settledOnce waits until every intent is settled, without hurry, and wants each to have happened once and all sums to add up.
func (w *world) settledOnce(ins []intents.Intent) {
	w.t.Helper()
	w.allSettle(ins)
	w.once(ins)
}

// allSettle waits until every intent is settled, without hurry, also while the test's own store finds no connection.
func (w *world) allSettle(ins []intents.Intent) {
	w.t.Helper()
	until(w.t, "all are settled", func() bool {
		counts, err := w.store.Count(w.t.Context(), "")
		return err == nil && counts[intents.Settled] == len(ins)
	})
}

// calledOnce wants that the payment provider was called once for each of its intents.
func (w *world) calledOnce(ins []intents.Intent) {
	w.t.Helper()
	calls := w.sink.Calls()
	for _, in := range ins {
		if n := calls[in.ID]; in.Route == "webhooks" && n != 1 {
			w.t.Errorf("the provider was called %d times for %s, want 1", n, in.ID)
		}
	}
}

// Case 43: the server turns read-only under a program at work, and later back, as after a failover. What was sent by then
// is kept and written when it can be; what comes meanwhile waits. Nothing is sent twice, and nobody restarts anything.
func TestServerTurnsReadOnly(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t)
	w := newWorldAt(t, "slow=100%:300ms", srv.DSN("postgres"))
	p := w.start("run")
	ins := demoIntents("ro", 400)
	w.publish(ins[:200])
	until(t, "a part is settled", func() bool { return w.states()[intents.Settled] > 40 })
	admin(t, w.dsn, "alter system set default_transaction_read_only = on", "select pg_reload_conf()")
	w.publish(ins[200:])
	p.says("result not written yet", 1) // K6
	p.says("store call put off", 1)     // K1 to K4
	p.says("still away", 1)             // the probe
	before := w.states()
	admin(t, w.dsn, "alter system reset default_transaction_read_only", "select pg_reload_conf()")
	if before[intents.Settled] == len(ins) {
		t.Error("all were settled already")
	}
	w.settledOnce(ins)
	w.calledOnce(ins)
	p.signal(syscall.SIGTERM)
	p.exits(exitOK)
	if !strings.Contains(p.stderr.String(), "25006") {
		t.Error("the program never met the read-only server")
	}
}

// Case 42: a rolling deploy of four processes wants more connections than the server has. Nobody waits for himself: one
// that cannot start ends with exit code 5 and is started again, those at work wait for their turn, and all is settled.
func TestRollingDeployWithTooFewConnections(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t, "max_connections", "30") // enough for two processes and the test, not for three and a hog
	w := newWorldAt(t, "", srv.DSN("postgres"))
	ins := demoIntents("roll", 600)
	old := []*program{w.deploy(), w.deploy()}
	w.publish(ins[:200])
	until(t, "a part is settled", func() bool { return w.states()[intents.Settled] > 50 })
	back := w.takeConnections(30)
	w.publish(ins[200:400])
	until(t, "one finds no connection at its start", func() bool {
		p := w.start("run")
		until(t, "it is up, or has ended", func() bool { return p.ended() || strings.Contains(p.stderr.String(), "relayer started") })
		if !p.ended() {
			p.signal(syscall.SIGTERM)
			p.exits(exitOK)
			return false
		}
		p.exits(exitDown)
		return strings.Contains(p.stderr.String(), "53300")
	})
	back()
	var fresh []*program
	for i, p := range old {
		p.signal(syscall.SIGTERM)
		fresh = append(fresh, w.deploy())
		w.publish(ins[400+100*i : 500+100*i])
		p.exits(exitOK)
	}
	w.allSettle(ins)
	for _, p := range fresh {
		p.signal(syscall.SIGTERM)
		p.exits(exitOK)
	}
	w.once(ins) // there is room for it now
	w.calledOnce(ins)
}

// deploy starts a process, and again while the database has no room for it, as a supervisor does.
func (w *world) deploy() *program {
	w.t.Helper()
	var p *program
	until(w.t, "a process is up", func() bool {
		if p == nil || p.ended() {
			if p != nil {
				p.exits(exitDown)
			}
			p = w.start("run")
		}
		return strings.Contains(p.stderr.String(), "relayer started")
	})
	return p
}

// takeConnections takes those there are, and each that gets free, until they are given back.
func (w *world) takeConnections(most int) (back func()) {
	w.t.Helper()
	db, err := sql.Open("postgres", w.dsn)
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	var taking sync.WaitGroup
	taking.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for taken := 0; taken < most && ctx.Err() == nil; {
			if _, err := db.Conn(ctx); err == nil {
				taken++
				continue
			}
			<-tick.C // it is full
		}
	})
	back = func() { cancel(); taking.Wait(); db.Close() }
	w.t.Cleanup(back)
	return back
}

// Case 48: the backends of two processes are ended again and again, whatever they hold: leases and claims are rows, and end
// by the clock. Nothing rests on a lock of a session: no advisory lock is ever seen.
func TestBackendsAreEnded(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t)
	w := newWorldAt(t, "slow=100%:300ms", srv.DSN("postgres"))
	db, err := sql.Open("postgres", w.dsn)
	w.must(err)
	defer db.Close()
	first, second := w.start("run"), w.start("run")
	for _, p := range []*program{first, second} { // one that is cut at its start ends, exit code 5
		p.says("relayer started", 1)
	}
	ins := demoIntents("cut", 400)
	w.publish(ins)
	rounds, settled := 0, 0
	until(t, "most are settled", func() bool {
		var locks, ended int
		w.must(db.QueryRow("select count(*) from pg_locks where locktype = 'advisory'").Scan(&locks))
		if locks != 0 {
			t.Errorf("%d advisory locks are held", locks)
		}
		if rounds++; rounds%10 == 0 {
			w.must(db.QueryRow("select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'relayer'").Scan(&ended))
		}
		w.must(db.QueryRow("select count(*) from intents where state = 5").Scan(&settled))
		return settled > len(ins)*3/4 && rounds > 30
	})
	until(t, "the test's own store is back", func() bool { return w.store.Ping(t.Context()) == nil })
	w.settledOnce(ins)
	if first.said("connection dropped")+second.said("connection dropped") == 0 {
		t.Error("no process noticed")
	}
	for _, p := range []*program{first, second} {
		p.drains()
	}
}
