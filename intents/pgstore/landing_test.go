package pgstore

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/internal/pgtest"
	"github.com/nsqrelayer/relayer/internal/postgres"
)

// breaking is one commit that is to be broken, in a database of its own on a server that is shared.
type breaking struct {
	commitOp
	store  *Store
	proxy  *proxy
	db     *sql.DB // beside the proxy
	commit func() error
	before int // what the tables summed up to before it
	answer chan error
}

// breaks prepares one of each kind of commit.
func breaks(t *testing.T, srv *postgres.Server) []*breaking {
	t.Helper()
	var all []*breaking
	for _, op := range commitOps() {
		name := "db_" + op.name
		if err := srv.CreateDatabase(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		dsn := migrated(t, srv.DSN(name))
		tr := &breaking{commitOp: op, db: database(t, dsn), answer: make(chan error, 1)}
		var through string
		tr.proxy, through = newProxy(t, dsn)
		tr.store = openStore(t, with(through, "lock_timeout=2min"), func(c *Config) { c.CommitTimeout = 2 * time.Minute })
		tr.commit = op.prepare(t, tr.store)
		tr.before = tr.sum(t)
		all = append(all, tr)
	}
	return all
}

// sum is what a plain read of the tables shows: every commit changes it.
func (tr *breaking) sum(t *testing.T) int {
	t.Helper()
	return ask[int](t, tr.db, `select (select count(*) from intent_events) + (select coalesce(sum(version + stored), 0) from intents)`)
}

func (tr *breaking) run() { go func() { tr.answer <- tr.commit() }() }

// told waits for the store's answer and wants it right.
func (tr *breaking) told(t *testing.T) {
	t.Helper()
	select {
	case err := <-tr.answer:
		if err != nil {
			t.Errorf("%s: the answer that was found out is %v", tr.name, err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s: no answer", tr.name)
	}
	tr.check(t, tr.store)
	audited(t, tr.store)
}

// silent wants that no store has answered yet, and a plain read that says what it is told.
func silent(t *testing.T, when string, all []*breaking, written bool) {
	t.Helper()
	for _, tr := range all {
		if got := tr.sum(t) != tr.before; got != written {
			t.Errorf("%s: %s: a plain read says written is %v", when, tr.name, got)
		}
		if len(tr.answer) > 0 {
			t.Errorf("%s: %s is answered: %v", when, tr.name, <-tr.answer)
		}
	}
}

// waiting counts sessions of stores by what they wait for.
func waiting(t *testing.T, db *sql.DB, event string) int {
	t.Helper()
	return ask[int](t, db, `select count(*) from pg_stat_activity where application_name = 'relayer' and $1 in (wait_event, wait_event_type)`, event)
}

// ghost makes a server wait, with every COMMIT that it has written, for a standby that does not exist. until then lets go.
type ghost struct {
	db   *sql.DB
	done chan struct{}
	all  sync.WaitGroup
}

// haunt returns when commits do wait.
func haunt(t *testing.T, srv *postgres.Server) *ghost {
	t.Helper()
	g := &ghost{db: database(t, srv.DSN("postgres")), done: make(chan struct{})}
	do(t, g.db, "create table knocks ()")
	do(t, g.db, "alter system set synchronous_standby_names = 'ghost'")
	do(t, g.db, "select pg_reload_conf()")
	g.all.Go(func() {
		for {
			select {
			case <-g.done:
				return
			default:
				_, _ = g.db.Exec("insert into knocks default values") // the first that waits shows that all do
			}
		}
	})
	t.Cleanup(func() { g.leave(t) })
	until(t, "commits wait", func() bool {
		return ask[int](t, g.db, "select count(*) from pg_stat_activity where wait_event = 'SyncRep'") == 1
	})
	return g
}

// leave lets every COMMIT that waits land.
func (g *ghost) leave(t *testing.T) {
	t.Helper()
	select {
	case <-g.done:
		return
	default:
	}
	close(g.done)
	do(t, g.db, "alter system reset synchronous_standby_names")
	do(t, g.db, "select pg_reload_conf()")
	g.all.Wait()
}

// Case 38: the connection is cut while the server is still at the COMMIT, which lands later. A plain read on a new
// connection denies it. The store waits for it under lock, and finds out that it was written.
func TestCommitLandsAfterTheCut(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t, "synchronous_commit", "on")
	all := breaks(t, srv)
	g := haunt(t, srv)
	for _, tr := range all {
		tr.run()
	}
	until(t, "every COMMIT waits", func() bool { return waiting(t, g.db, "SyncRep") == len(all) })
	for _, tr := range all {
		tr.proxy.cutAll()
	}
	until(t, "every store asks under lock", func() bool { return waiting(t, g.db, "Lock") == len(all) })
	silent(t, "after the cut", all, false)
	g.leave(t)
	for _, tr := range all {
		tr.told(t)
	}
}

// Case 38: an operator ends the backends in the middle of their COMMIT. Each of them lands all the same, though its client
// is told that the server ends the connection.
func TestCommitLandsAlthoughItsBackendIsEnded(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t, "synchronous_commit", "on")
	all := breaks(t, srv)
	g := haunt(t, srv)
	for _, tr := range all {
		tr.run()
	}
	until(t, "every COMMIT waits", func() bool { return waiting(t, g.db, "SyncRep") == len(all) })
	silent(t, "before the end", all, false)
	do(t, g.db, "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'relayer'")
	until(t, "every COMMIT has landed", func() bool {
		for _, tr := range all {
			if tr.sum(t) == tr.before {
				return false
			}
		}
		return true
	})
	g.leave(t)
	for _, tr := range all {
		tr.told(t)
	}
}

// Case 38: the backends are ended before their COMMIT is read. Nothing was written, and the store writes it again.
func TestCommitIsLostWithItsBackend(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t)
	for _, tr := range breaks(t, srv) {
		cut := make(chan string, 1) // the transaction whose backend was ended
		tr.proxy.first = func() {
			defer close(cut)
			cut <- ask[string](t, tr.db, `select backend_xid::text || left(pg_terminate_backend(pid, 60000)::text, 0) from pg_stat_activity
 where datname = current_database() and application_name = 'relayer' and state = 'idle in transaction'`)
		}
		tr.proxy.set(heldUp)
		tr.run()
		tr.told(t)
		if n := tr.proxy.times(); n != 1 {
			t.Errorf("%s: %d commits were held, want 1", tr.name, n)
		}
		if fate := ask[string](t, tr.db, "select pg_xact_status($1::text::xid8)", <-cut); fate != "aborted" {
			t.Errorf("%s: the first COMMIT is %s", tr.name, fate)
		}
	}
}

// Case 38: the server crashes before a COMMIT is flushed. Whoever read in between saw it; it is gone, and the store, which
// was told nothing, writes it again.
func TestCommitIsLostWithItsServer(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t, "autovacuum", "off", "checkpoint_timeout", "1h")
	all := breaks(t, srv)
	db := database(t, srv.DSN("postgres"))
	do(t, db, "create table before_the_crash ()")
	do(t, db, "checkpoint")
	flusher := ask[int](t, db, "select pid from pg_stat_activity where backend_type = 'walwriter'")
	signal(t, flusher, syscall.SIGSTOP) // from here on nothing is flushed
	do(t, db, "insert into before_the_crash default values")
	for _, tr := range all {
		tr.proxy.set(mute)
		tr.run()
	}
	until(t, "every COMMIT is seen", func() bool {
		for _, tr := range all {
			if tr.sum(t) == tr.before {
				return false
			}
		}
		return true
	})
	silent(t, "before the crash", all, true)
	signal(t, flusher, syscall.SIGKILL) // the server takes that for a crash of its memory, and starts again
	for _, tr := range all {
		tr.told(t)
	}
	until(t, "the server is back", func() bool { return db.Ping() == nil })
	if n := ask[int](t, db, "select count(*) from before_the_crash"); n != 0 {
		t.Error("what was written before them outlived the crash: so did they")
	}
	if log := srv.LogTail(100); !strings.Contains(log, fmt.Sprintf("(PID %d) was terminated by signal 9", flusher)) {
		t.Errorf("the server did not crash:\n%s", log)
	}
}

func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}
