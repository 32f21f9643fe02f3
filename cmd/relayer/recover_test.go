package main

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/internal/pgtest"
	"github.com/nsqrelayer/relayer/internal/postgres"
)

// ready asks whether a program is, and what it says.
func ready(t *testing.T, addr string) (bool, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + addr + "/readyz?verbose")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode == http.StatusOK, string(body)
}

// hosts is a DSN that finds whichever of the servers takes writes.
func hosts(t *testing.T, servers ...*postgres.Server) string {
	t.Helper()
	var all []string
	for _, s := range servers {
		u, err := url.Parse(s.DSN("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, u.Query().Get("host"))
	}
	return "postgres:///postgres?user=postgres&sslmode=disable&target_session_attrs=read-write&host=" + url.QueryEscape(strings.Join(all, ","))
}

// count asks a server for a number.
func count(t *testing.T, s *postgres.Server, query string) (n int) {
	t.Helper()
	db, err := sql.Open("postgres", s.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// reconfigure changes the world's settings.
func (w *world) reconfigure(old, new string) {
	w.t.Helper()
	text, err := os.ReadFile(w.config)
	w.must(err)
	changed := strings.Replace(string(text), old, new, 1)
	if changed == string(text) {
		w.t.Fatalf("%q is not among the settings", old)
	}
	w.must(os.WriteFile(w.config, []byte(changed), 0o600))
}

// Case 44: Postgres fails over to a standby that lacks what was committed last, and that was: intents were claimed and sent.
// Two processes work on. Nothing is sent again before a person has said since when; then what was paid through a webhook
// without keys is in review, and so is what the chain shows of a signer whose numbers were forgotten.
func TestFailoverForgets(t *testing.T) {
	t.Parallel()
	primary := pgtest.Server(t, "wal_writer_delay", "10ms")
	if err := migrated(t.Context(), primary.DSN("postgres")); err != nil {
		t.Fatal(err)
	}
	standby := pgtest.Standby(t, primary)
	w := newSite(t, site{dsn: hosts(t, primary, standby)})
	w.reconfigure("idempotent = true\nkey-retention = \"24h\"\n", "")
	run := []string{"run", "--http-address", "127.0.0.1:0"}
	progs := []*program{w.start(run...), w.start(run...)}
	before := demoIntents("before", 20)
	w.publish(before)
	until(t, "they work", func() bool { return w.states()[intents.Settled] == len(before) })

	forgotten := demoIntents("forgotten", 8)
	for _, in := range forgotten {
		_, err := w.store.Create(t.Context(), in, true, "test")
		w.must(err)
	}
	until(t, "the standby has them", func() bool {
		return count(t, standby, "select count(*) from intents where state in (2, 5)") == len(before)+len(forgotten)
	})
	since := time.Now()
	w.must(standby.Unfollow(t.Context()))
	until(t, "the standby is on its own", func() bool { return count(t, standby, "select count(*) from pg_stat_wal_receiver") == 0 })
	for _, in := range forgotten {
		body, err := intents.EncodeReference(in.ID)
		w.must(err)
		w.must(w.pub.Publish(t.Context(), "intents."+in.Route, body))
	}
	until(t, "they are paid", func() bool { return w.states()[intents.Settled] == len(before)+len(forgotten) })
	w.must(syscall.Kill(primary.PID(), syscall.SIGKILL))
	<-primary.Done()
	w.must(standby.Promote(t.Context()))

	for _, p := range progs {
		until(t, "it says so", func() bool {
			ok, says := ready(t, p.address())
			return !ok && strings.Contains(says, "[-] recovery: the database has forgotten")
		})
	}
	after := demoIntents("after", 6)
	w.publish(after)
	until(t, "they are stored", func() bool { return w.states()[intents.Authorized] == len(forgotten)+len(after) })
	recovery := w.start("recover", "--since", since.UTC().Format(time.RFC3339Nano), "--as", "ops")
	recovery.exits(exitOK)
	if got, want := recovery.stdout.String(), fmt.Sprintf("webhooks  %d go to review\n", len(forgotten)/2); !strings.HasPrefix(got, want) {
		t.Errorf("recover says %q, want %q first", got, want)
	}
	until(t, "what was paid is in review", func() bool { return w.states()[intents.NeedsReview] == len(forgotten) })
	for _, in := range forgotten {
		got, err := w.store.Get(t.Context(), in.ID)
		w.must(err)
		want := intents.ReasonForgotten
		if in.Route == "payouts" {
			want = intents.ReasonForeign
		}
		if got.Reason != want {
			t.Errorf("%s is %s for %q, want %q", in.ID, got.State, got.Reason, want)
		}
	}
	until(t, "webhooks go on", func() bool { return w.states()[intents.Settled] == len(before)+len(after)/2 })
	scope := "evm:1337:" + chain.DevAddress().Hex()
	w.start("evm", "signer", "unfreeze", scope, "--reason", "looked at, none waits in a pool", "--as", "ops").exits(exitOK)
	until(t, "payouts go on", func() bool { return w.states()[intents.Settled] == len(before)+len(after) })
	for _, p := range progs {
		until(t, "it is ready", func() bool { ok, _ := ready(t, p.address()); return ok })
		p.signal(syscall.SIGTERM)
		p.exits(exitOK)
	}
	all := append(append(before, forgotten...), after...)
	if effects, twice := w.effects(all); effects != len(all) || twice != 0 {
		t.Errorf("effects %d, twice %d, want %d and 0", effects, twice, len(all))
	}
	w.audited()
}
