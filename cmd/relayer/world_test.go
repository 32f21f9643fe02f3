package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	devnsq "github.com/nsqrelayer/relayer/internal/devstack/nsq"
	"github.com/nsqrelayer/relayer/internal/devstack/sink"
	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/internal/pgtest"
	"github.com/nsqrelayer/relayer/internal/postgres"
	"github.com/nsqrelayer/relayer/nsqworker"
)

// world is everything outside of relayer processes: a real nsqd, Postgres, chain and payment provider.
type world struct {
	t      *testing.T
	queue  queue
	nsqd   *nsqtest.Process // where the site has it in a process of its own
	pg     *postgres.Server // where the site has one of its own
	dsn    string
	store  *pgstore.Store
	pub    *nsqworker.Publisher
	chain  *chain.Chain
	sink   *sink.Sink
	dir    string
	config string // path of relayer.toml
}

// patience is for one step on a slow, busy machine.
const patience = 3 * time.Minute

// queue is where an nsqd listens.
type queue struct{ tcp, http string }

// site says what is special about a world.
type site struct {
	faults    string           // of the provider
	maxFaults int              // so many of them
	nsqd      bool             // a process of its own, which can be killed
	options   []nsqtest.Option // of that nsqd
	postgres  bool             // a server of its own, which can be halted
	dsn       string           // a migrated database
}

func newWorld(t *testing.T, faults string) *world {
	t.Helper()
	return newSite(t, site{faults: faults})
}

// newWorldAt is a world on a server of its own, whose database is not migrated yet.
func newWorldAt(t *testing.T, faults, dsn string) *world {
	t.Helper()
	if err := migrated(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	return newSite(t, site{faults: faults, dsn: dsn})
}

func newSite(t *testing.T, s site) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.openPostgres(s)
	w.openNSQ(s)
	spec, err := sink.ParseFaults(s.faults)
	w.must(err)
	w.sink, err = sink.Start(t.Context(), sink.Config{Faults: spec, MaxFaults: s.maxFaults})
	w.must(err)
	t.Cleanup(func() { _ = w.sink.Stop() })
	w.chain, err = chain.Start(t.Context(), chain.Config{BlockTime: 250 * time.Millisecond})
	w.must(err)
	t.Cleanup(func() { _ = w.chain.Close() })
	w.store, err = pgstore.Open(t.Context(), pgstore.Config{DSN: w.dsn, Actor: "test"})
	w.must(err)
	t.Cleanup(w.store.Close)
	w.pub, err = nsqworker.NewPublisher(nsqworker.PublisherConfig{NSQDs: []string{w.queue.tcp}})
	w.must(err)
	t.Cleanup(w.pub.Close)
	w.configure()
	return w
}

func (w *world) openPostgres(s site) {
	w.t.Helper()
	if !s.postgres {
		if w.dsn = s.dsn; w.dsn == "" {
			w.dsn = pgtest.New(w.t, migrated)
		}
		return
	}
	w.pg = pgtest.Server(w.t)
	w.must(w.pg.CreateDatabase(w.t.Context(), "relayer"))
	w.dsn = w.pg.DSN("relayer")
	w.must(migrated(w.t.Context(), w.dsn))
}

func (w *world) openNSQ(s site) {
	w.t.Helper()
	if s.nsqd {
		w.nsqd = nsqtest.StartProcess(w.t, s.options...)
		w.queue = queue{w.nsqd.TCP(), w.nsqd.HTTP()}
		return
	}
	nsq, err := devnsq.Start(w.t.Context(), devnsq.Config{})
	w.must(err)
	w.t.Cleanup(func() { _ = nsq.Stop() })
	w.queue = queue{nsq.NSQDTCP, nsq.NSQDHTTP}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// configure writes the settings that relayer dev uses, too.
func (w *world) configure() {
	key, err := chain.WriteKeystore(w.dir, chain.DevKey(), devPassphrase)
	w.must(err)
	text := fmt.Sprintf(devConfig, w.dsn, w.queue.tcp, w.chain.URL, chain.ID, key, devPassphrase, devWindow, w.sink.URL, w.sink.URL)
	w.config = filepath.Join(w.dir, "relayer.toml")
	w.must(os.WriteFile(w.config, []byte(text), 0o600))
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited %s for: %s", patience, what)
		}
	}
}

// publish sends full intents to their routes' topics.
func (w *world) publish(ins []intents.Intent) {
	w.t.Helper()
	for _, in := range ins {
		body, err := intents.Encode(in)
		w.must(err)
		w.must(w.pub.Publish(w.t.Context(), "intents."+in.Route, body))
	}
}

// states counts all intents by state.
func (w *world) states() map[intents.State]int {
	w.t.Helper()
	counts, err := w.store.Count(w.t.Context(), "")
	w.must(err)
	return counts
}

// effects counts what happened outside: each intent must be there once.
func (w *world) effects(ins []intents.Intent) (effects, twice int) {
	w.t.Helper()
	var dests []string
	for _, in := range ins {
		if in.Route == "payouts" {
			dests = append(dests, in.Destination)
		}
	}
	counts, err := w.chain.Effects(context.WithoutCancel(w.t.Context()), dests)
	w.must(err)
	maps.Copy(counts, w.sink.Effects())
	for _, n := range counts {
		effects += n
		if n > 1 {
			twice++
		}
	}
	return effects, twice
}

// audited wants the sums to add up.
func (w *world) audited() {
	w.t.Helper()
	wrong, err := w.store.Audit(w.t.Context())
	w.must(err)
	for _, line := range wrong {
		w.t.Errorf("audit: %s", line)
	}
}

// post sends a body as curl would.
func (w *world) post(topic, body string) {
	w.t.Helper()
	resp, err := http.Post(fmt.Sprintf("http://%s/pub?topic=%s", w.queue.http, topic), "application/json", strings.NewReader(body))
	w.must(err)
	defer resp.Body.Close()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		w.t.Fatalf("pub: %s %s", resp.Status, answer)
	}
}
