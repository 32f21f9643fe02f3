package main

import (
	"cmp"
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/nsqtest"
)

// shortTerms make claims, leases and drains end soon.
func shortTerms(more ...string) []string {
	args := []string{"run", "--drain-timeout", "3s"}
	for _, route := range []string{"payouts", "webhooks"} {
		for _, set := range []string{"prepare-timeout=1s", "submit-timeout=1s", "store-timeout=1s", "msg-timeout=3s"} {
			args = append(args, "--set", "routes."+route+"."+set)
		}
	}
	return append(args, more...)
}

// stored puts intents into Postgres, as relayer submit does, and publishes references to them.
func (w *world) stored(ins []intents.Intent) {
	w.t.Helper()
	for _, in := range ins {
		w.create(in)
		body, err := intents.EncodeReference(in.ID)
		w.must(err)
		w.must(w.pub.Publish(w.t.Context(), "intents."+in.Route, body))
	}
}

func (w *world) create(in intents.Intent) {
	w.t.Helper()
	_, err := w.store.Create(w.t.Context(), in, true, "test")
	w.must(err)
}

// hurry lets the minutes pass after which the sweeper publishes what nobody took, and what a dead process has left.
func (w *world) hurry() {
	w.t.Helper()
	w.pass("update intents set due_at = now() where state in ($1, $2) and due_at > now()", intents.Authorized, intents.Settling)
}

// expire lets the claims and leases of dead processes end. Nobody who lives may have a claim: its own clock would not know.
func (w *world) expire() {
	w.t.Helper()
	w.pass("update intents set claim_until = now() where state = $1 and claim_until > now()", intents.Settling)
	w.pass("update leases set until = now()")
}

// pass changes rows as time does that passes.
func (w *world) pass(query string, states ...any) {
	w.t.Helper()
	db, err := sql.Open("postgres", w.dsn)
	w.must(err)
	defer db.Close()
	for i, s := range states {
		states[i] = int(s.(intents.State))
	}
	_, err = db.ExecContext(w.t.Context(), query, states...)
	w.must(err)
}

// settles waits until all are settled, and lets minutes pass meanwhile: a publish that failed is tried a minute later.
func (w *world) settles(ins []intents.Intent) {
	w.t.Helper()
	hurried := time.Now()
	until(w.t, "all are settled", func() bool {
		if time.Since(hurried) > 2*time.Second {
			w.hurry()
			hurried = time.Now()
		}
		return w.states()[intents.Settled] == len(ins)
	})
}

// begun says whether one of the intents is past its claim.
func (w *world) begun(ins []intents.Intent) bool {
	w.t.Helper()
	for _, in := range ins {
		now, err := w.store.Get(w.t.Context(), in.ID)
		w.must(err)
		if now.State != intents.Authorized {
			return true
		}
	}
	return false
}

// once wants each intent's effect to have happened once, and the sums to add up.
func (w *world) once(ins []intents.Intent) {
	w.t.Helper()
	if effects, twice := w.effects(ins); effects != len(ins) || twice != 0 {
		w.t.Errorf("effects %d, twice %d, want %d and 0", effects, twice, len(ins))
	}
	w.audited()
}

// drains stops a program that has nothing to cut.
func (p *program) drains() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.exits(exitOK)
}

// says waits until a program's log has a text n times.
func (p *program) says(text string, n int) {
	p.t.Helper()
	until(p.t, "the log to say "+text, func() bool { return p.said(text) >= n || p.ended() })
	if got := p.said(text); got < n {
		p.t.Fatalf("the log says %q %d times, want %d, and it has ended", text, got, n)
	}
}

func (p *program) said(text string) int { return strings.Count(p.stderr.String(), text) }

// claimsSince counts an owner's claims from a moment on.
func (w *world) claimsSince(ins []intents.Intent, at time.Time, by string) int {
	w.t.Helper()
	n := 0
	for _, in := range ins {
		events, err := w.store.Events(context.WithoutCancel(w.t.Context()), in.ID)
		w.must(err)
		for _, e := range events {
			if e.To == intents.Settling && e.From != intents.Settling && e.Actor == by && e.At.After(at) {
				n++
			}
		}
	}
	return n
}

func pid(n int) string { return strconv.Itoa(n) }

// postgresProxy stands before the world's database; the DSN goes through it.
func (w *world) postgresProxy() (proxy *nsqtest.Proxy, dsn string) {
	w.t.Helper()
	u, err := url.Parse(w.dsn)
	w.must(err)
	q, target := u.Query(), u.Host
	if dir := q.Get("host"); dir != "" {
		target = filepath.Join(dir, ".s.PGSQL."+cmp.Or(u.Port(), "5432"))
	}
	proxy = nsqtest.StartProxy(w.t, target)
	if user := q.Get("user"); user != "" {
		u.User = url.User(user)
	}
	q.Del("host")
	q.Del("user")
	u.Host, u.RawQuery = proxy.Addr(), q.Encode()
	return proxy, u.String()
}

// nodeProxy stands before the chain.
func (w *world) nodeProxy() *nsqtest.Proxy {
	return nsqtest.StartProxy(w.t, hostOf(w.chain.URL))
}

// rpcEnv has a program ask the chain through a proxy: URLs that may hold secrets are no flags.
func rpcEnv(p *nsqtest.Proxy) string { return "RELAYER_ROUTES_PAYOUTS_RPC_URL=http://" + p.Addr() }

// hookEnv does so for the provider.
func hookEnv(p *nsqtest.Proxy) []string {
	base := "http://" + p.Addr()
	return []string{"RELAYER_ROUTES_WEBHOOKS_URL=" + base + "/payments", "RELAYER_ROUTES_WEBHOOKS_LOOKUP=" + base + "/lookup/{id}"}
}

// startIn is start with more in the environment.
func (w *world) startIn(env []string, args ...string) *program {
	w.t.Helper()
	return startProgramIn(w.t, env, append(args, "--config", w.config)...)
}

func hostOf(address string) string { return strings.TrimPrefix(address, "http://") }

// saidOf counts the lines of one route's log that have a text.
func (p *program) saidOf(route, text string) int {
	n := 0
	for l := range strings.Lines(p.stderr.String()) {
		if strings.Contains(l, `"route":"`+route+`"`) && strings.Contains(l, text) {
			n++
		}
	}
	return n
}
