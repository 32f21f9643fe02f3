package main

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/lib/pq"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
	"github.com/nsqrelayer/relayer/internal/postgres"
)

// Case 90: the disk under all tables is full (53100). K1: what comes then is not stored, and its message not finished. K4: an
// intent cannot be claimed, so nothing is sent. K6: what was sent already is kept in memory and written when there is room
// again. Then all is settled; each payment was asked for once.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t, "autovacuum", "off")
	disk := pgtest.NewDisk(t, srv, 64)
	admin(t, srv.DSN("postgres"), "create tablespace small location '"+disk.Dir+"'", "create database tight tablespace small")
	w := newWorldAt(t, "", srv.DSN("tight"))
	late := newLateProvider(t, w.sink.URL)
	p := startProgramIn(t, []string{"RELAYER_ROUTES_WEBHOOKS_URL=" + late.URL}, "run", "--config", w.config,
		"--drain-timeout", "5m", "--set", "routes.webhooks.submit-timeout=4m")
	sent, stored, fresh := ofRoute("webhooks", "k6", 10), ofRoute("webhooks", "k4", 10), ofRoute("webhooks", "k1", 10)
	w.publish(sent)
	until(t, "all are under way", func() bool { return len(w.sink.Calls()) == len(sent) })
	for _, in := range stored {
		_, err := w.store.Create(t.Context(), in, true, "test")
		w.must(err)
	}
	disk.Fill()
	useUp(t, w.dsn)
	w.publish(stored)
	w.publish(fresh)
	late.answer()
	p.says("53100", 1)
	p.says("result not written yet", 1)
	p.says(`"store call put off","route":"webhooks","step":"claim"`, 1)
	p.says(`"store call put off","route":"webhooks","step":"take"`, 1)
	if n := w.states(); len(w.sink.Calls()) != len(sent) || n[intents.Settling] != len(sent) || n[intents.Authorized] != len(stored) {
		t.Errorf("on a full disk the provider was called for %d, and states are %v", len(w.sink.Calls()), n)
	}
	disk.Free()
	ins := slices.Concat(sent, stored, fresh)
	w.settledOnce(ins)
	w.calledOnce(ins)
	p.signal(syscall.SIGTERM)
	p.exits(exitOK)
}

// useUp uses up the room that is left in the pages of the table that every change is written to: a row that is taken back
// leaves its place taken until a vacuum comes, also where an index had no room for it.
func useUp(t *testing.T, dsn string) {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `do $$
declare refused text;
begin
 loop
  begin
   insert into intent_events (intent, version, n, at, kind, from_state, to_state, actor) values (-random() * 1e15, 1, 0, now(), 1, 1, 1, 'x');
  exception when disk_full then
   get stacked diagnostics refused = message_text;
   exit when position(pg_relation_filepath('intent_events') in refused) > 0;
  end;
 end loop;
 raise exception 'all is taken back';
end $$`)
	if refused := pq.As(err); refused == nil || refused.Code != "P0001" {
		t.Fatalf("use up the disk: %v", err)
	}
}

// lateProvider stands before the payment provider and keeps its answers back.
type lateProvider struct {
	URL    string
	answer func()
}

func newLateProvider(t *testing.T, sink string) *lateProvider {
	t.Helper()
	to, err := url.Parse(sink)
	if err != nil {
		t.Fatal(err)
	}
	open := make(chan struct{})
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(*http.Response) error { <-open; return nil },
	}
	s := httptest.NewServer(proxy)
	l := &lateProvider{URL: s.URL + "/payments", answer: sync.OnceFunc(func() { close(open) })}
	t.Cleanup(func() { l.answer(); s.Close() })
	return l
}

// Case 90: the disk under the write-ahead log is full, and the server panics and cannot even start again. What was sent by
// then is kept in memory until there is room and a server; nothing is sent twice.
func TestServerPanicsOnAFullDisk(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t)
	disk := pgtest.NewDisk(t, srv, 64)
	moveLog(t, srv, disk)
	w := newWorldAt(t, "", srv.DSN("postgres"))
	late := newLateProvider(t, w.sink.URL)
	p := startProgramIn(t, []string{"RELAYER_ROUTES_WEBHOOKS_URL=" + late.URL}, "run", "--config", w.config,
		"--drain-timeout", "5m", "--set", "routes.webhooks.submit-timeout=4m")
	ins := ofRoute("webhooks", "wal", 20)
	w.publish(ins[:10])
	until(t, "all are under way", func() bool { return len(w.sink.Calls()) == 10 })
	disk.Fill()
	panicked(t, w.dsn)
	until(t, "the server has given up", func() bool {
		select {
		case <-srv.Done():
			return true
		default:
			return false
		}
	})
	w.publish(ins[10:])
	late.answer()
	p.says("result not written yet", 1)
	p.says("still away", 1)
	if n := len(w.sink.Calls()); n != 10 {
		t.Errorf("without a server the provider was called for %d", n)
	}
	disk.Free()
	w.must(srv.Launch(t.Context()))
	until(t, "the test's own store is back", func() bool { return w.store.Ping(t.Context()) == nil })
	w.settledOnce(ins)
	w.calledOnce(ins)
	p.signal(syscall.SIGTERM)
	p.exits(exitOK)
}

// moveLog moves a server's write-ahead log to a disk.
func moveLog(t *testing.T, srv *postgres.Server, disk *pgtest.Disk) {
	t.Helper()
	log := filepath.Join(srv.Dir(), "data", "pg_wal")
	if err := srv.Halt(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"cp", "-a", log + "/.", disk.Dir}, {"rm", "-r", log}, {"ln", "-s", disk.Dir, log}} {
		if said, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, said)
		}
	}
	if err := srv.Launch(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// panicked goes on to the next file of the log until there is none.
func panicked(t *testing.T, dsn string) {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	until(t, "the server panics", func() bool {
		_, err := db.ExecContext(t.Context(), "select pg_logical_emit_message(false, 'x', 'x'), pg_switch_wal()")
		return err != nil
	})
}
