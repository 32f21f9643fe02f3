package pgstore

import (
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
	"github.com/nsqrelayer/relayer/internal/postgres"
)

// pair is a primary and a standby that follows it, and a DSN that finds whichever takes writes.
type pair struct {
	t                *testing.T
	primary, standby *postgres.Server
	dsn              string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	primary := pgtest.Server(t, "wal_writer_delay", "10ms")
	migrated(t, primary.DSN("postgres"))
	standby := pgtest.Standby(t, primary)
	return &pair{t, primary, standby, either(t, primary, standby)}
}

// either is a DSN with the hosts of both.
func either(t *testing.T, a, b *postgres.Server) string {
	t.Helper()
	host := func(s *postgres.Server) string {
		u, err := url.Parse(s.DSN("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		return u.Query().Get("host")
	}
	return fmt.Sprintf("postgres:///postgres?host=%s&user=postgres&sslmode=disable&target_session_attrs=read-write",
		url.QueryEscape(host(a)+","+host(b)))
}

// follows waits until the standby has an intent at a version.
func (p *pair) follows(id string, version int) {
	p.t.Helper()
	db := database(p.t, p.standby.DSN("postgres"))
	until(p.t, "the standby has "+id, func() bool {
		return ask[int](p.t, db, "select coalesce(max(version), 0) from intents where id = $1", id) >= version
	})
}

// parted has the standby hear no more.
func (p *pair) parted() {
	p.t.Helper()
	if err := p.standby.Unfollow(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	db := database(p.t, p.standby.DSN("postgres"))
	until(p.t, "the standby is on its own", func() bool { return ask[int](p.t, db, "select count(*) from pg_stat_wal_receiver") == 0 })
}

// failsOver kills the primary and promotes the standby.
func (p *pair) failsOver() {
	p.t.Helper()
	if err := syscall.Kill(p.primary.PID(), syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	<-p.primary.Done()
	if err := p.standby.Promote(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

func back(t *testing.T, s *Store) {
	t.Helper()
	until(t, "the store is back", func() bool { return s.Ping(t.Context()) == nil })
}

// Cases 43 and 44: a standby is promoted that lacks what was committed last. Whoever committed it finds out on its new
// connection. Then nobody claims, until a person says since when, and what may have been sent is in review.
func TestFailoverForgets(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	x := openStore(t, p.dsn, func(c *Config) { c.Actor = "x" })
	y := openStore(t, p.dsn, func(c *Config) { c.Actor = "y" })
	if _, err := y.OpenSigner(t.Context(), intents.Signer{Scope: "evm:1:0xabc", Next: 7, Window: 16}); err != nil {
		t.Fatal(err)
	}
	later := someIntent("pi_later", 0)
	later.NotBefore = time.Now().Add(time.Hour)
	if _, err := x.Create(t.Context(), later, true, "tester"); err != nil {
		t.Fatal(err)
	}
	spared := someIntent("pi_spared", 0)
	spared.Route = "idempotent"
	if _, err := x.Create(t.Context(), spared, true, "tester"); err != nil {
		t.Fatal(err)
	}
	sent, idle := made(t, x, "pi_sent"), made(t, y, "pi_idle")
	p.follows(idle.ID, 2)
	since := got(t, x, idle.ID).ReadAt
	p.parted()
	cl := claimed(t, x, sent)
	if _, err := x.Complete(t.Context(), cl, intents.Result{Verdict: intents.Accepted, Ref: "0x1"}); err != nil {
		t.Fatal(err)
	}
	if err := x.Lost(t.Context()); err != nil {
		t.Fatalf("before: %v", err)
	}
	p.failsOver()

	back(t, y) // it lacks nothing, and comes back first
	if in := got(t, y, sent.ID); in.State != intents.Authorized || in.Version != 2 {
		t.Fatalf("the promoted standby knows of the claim: %s v%d", in.State, in.Version)
	}
	back(t, x)
	for name, s := range map[string]*Store{"x": x, "y": y} {
		lost, ok := errors.AsType[*intents.LostError](s.Lost(t.Context()))
		if !ok || lost.NoticedBy != "x" {
			t.Errorf("%s says of the loss: %v", name, s.Lost(t.Context()))
		}
		for _, id := range []string{sent.ID, idle.ID} {
			_, err := s.Claim(t.Context(), keyed(got(t, s, id)))
			if not, ok := errors.AsType[*intents.NotClaimedError](err); !ok || not.Why != intents.WhyPaused {
				t.Errorf("%s claims %s: %v, want paused", name, id, err)
			}
		}
		if ins, err := s.Sweep(t.Context(), "payouts", 10); err != nil || len(ins) != 0 {
			t.Errorf("%s publishes %d, %v", name, len(ins), err)
		}
	}
	do(t, database(t, p.standby.DSN("postgres")), "update intents set due_at = now() - interval '2 hours' where id = $1", idle.ID)
	found, err := y.Inspect(t.Context(), intents.Audit{Late: time.Hour})
	for _, f := range found {
		if err != nil || f.Found > 0 {
			t.Errorf("audit while nothing is claimed: %s %v, %v", f.Check, f.Lines, err)
		}
	}
	recovered(t, p, y, since, sent, idle)
	// What the process still knew of its call is told, too.
	if in, err := x.Complete(t.Context(), cl, intents.Result{Verdict: intents.Accepted, Ref: "0x1", Evidence: []byte(`{"status":202}`)}); err != nil || in.State != intents.NeedsReview {
		t.Errorf("the late answer leaves %s, %v", in.State, err)
	}
	es, err := x.Events(t.Context(), sent.ID)
	if last := es[len(es)-1]; err != nil || last.Kind != intents.Evidence || last.Ref != "0x1" {
		t.Errorf("the late answer is told as %+v, %v", last, err)
	}
	audited(t, y)
}

// recovered has a person recover, and looks what becomes of whom.
func recovered(t *testing.T, p *pair, s *Store, since time.Time, sent, idle intents.Intent) {
	t.Helper()
	r := intents.Recall{Since: since, Actor: "ops", Spared: []string{"idempotent"}}
	late := r
	late.Since = time.Now().Add(time.Hour)
	for _, bad := range []intents.Recall{late, {Actor: "ops"}} {
		if _, err := s.Recover(t.Context(), bad, nil); !blamed[*intents.InvalidError](err) {
			t.Errorf("recover since %s: %v, want invalid", bad.Since, err)
		}
	}
	if counts, err := s.Doubtful(t.Context(), r); err != nil || counts["payouts"] != 2 || len(counts) != 1 {
		t.Errorf("doubtful: %v, %v", counts, err)
	}
	done, err := s.Recover(t.Context(), r, nil)
	if err != nil || done.Reviewed["payouts"] != 2 || len(done.Reviewed) != 1 || len(done.Frozen) != 1 {
		t.Fatalf("recover: %+v, %v", done, err)
	}
	for _, id := range []string{sent.ID, idle.ID} {
		if in := got(t, s, id); in.State != intents.NeedsReview || in.Reason != intents.ReasonForgotten {
			t.Errorf("%s is %s (%s), want review", id, in.State, in.Reason)
		}
	}
	for _, id := range []string{"pi_later", "pi_spared"} {
		if in := got(t, s, id); in.State != intents.Authorized || in.Version != 2 {
			t.Errorf("%s is %s v%d, want it as it was", id, in.State, in.Version)
		}
	}
	signers, err := s.Signers(t.Context())
	if err != nil || len(signers) != 1 || signers[0].Frozen == "" {
		t.Errorf("signers: %+v, %v", signers, err)
	}
	do(t, database(t, p.standby.DSN("postgres")), "update servers set seen_at = '-infinity'") // a slow machine or a fast one
	if err := s.Lost(t.Context()); err != nil {
		t.Errorf("after it: %v", err)
	}
	claimed(t, s, got(t, s, "pi_spared"))
	claimed(t, s, made(t, s, "pi_new"))
}

func blamed[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// A server that takes over and lacks nothing is only left alone for a while: then claims are had again, without a person.
func TestFailoverForgetsNothing(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	s := openStore(t, p.dsn)
	in := made(t, s, "pi_1")
	cl := counted(t, s, "pi_2")
	a := intents.Attempt{Slot: cl.Slot(), No: 1, Kind: intents.First, Bytes: []byte("b"), Name: "0x1"}
	if _, err := s.Attach(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	db := database(t, p.standby.DSN("postgres"))
	until(t, "the standby has the bytes", func() bool { return ask[int](t, db, "select count(*) from attempts") == 1 })
	p.failsOver()
	back(t, s)
	if err := s.Lost(t.Context()); err != nil {
		t.Errorf("it lacks nothing, and yet: %v", err)
	}
	if n := ask[int](t, db, "select count(*) from servers where seen_at between now() - interval '10 minutes' and now()"); n != 1 {
		t.Errorf("%d servers are new, want the promoted one", n)
	}
	do(t, db, "update servers set seen_at = clock_timestamp() + interval '9 seconds'") // as one that was met just now
	_, err := s.Claim(t.Context(), keyed(in))
	if not, ok := errors.AsType[*intents.NotClaimedError](err); !ok || not.Why != intents.WhyPaused {
		t.Errorf("claim while the others look: %v, want paused", err)
	}
	for _, long := range []string{"'-infinity'", "clock_timestamp() + interval '1 hour'"} { // ago, or by a clock that was put back
		do(t, db, "update servers set seen_at = "+long)
		if got(t, s, in.ID).Paused {
			t.Errorf("nothing can be claimed although the server was met at %s", long)
		}
	}
	claimed(t, s, got(t, s, in.ID))
}

// Bytes that are gone are missed as well, and what was pruned is not.
func TestMissing(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	db := database(t, dsn)
	for name, c := range map[string]struct {
		lose string
		lost bool
	}{
		"bytes":          {"delete from attempts", true},
		"an event":       {"delete from intent_events where version = 3", true},
		"another's":      {"update intent_events set at = at - interval '1 microsecond'", true},
		"nothing":        {"select 1", false},
		"what is pruned": {"insert into tombstones (id, key, route, hash, state, version, created_at) select id, key, route, '\\x00', 5, version, created_at from intents; delete from attempts; delete from intent_events", false},
	} {
		do(t, db, "truncate recoveries, intents, intent_events, attempts, slots, tombstones, signers")
		s := openStore(t, dsn)
		cl := counted(t, s, "pi_1")
		if _, err := s.Attach(t.Context(), intents.Attempt{Slot: cl.Slot(), No: 1, Kind: intents.First, Bytes: []byte("b"), Name: "0x1"}); err != nil {
			t.Fatal(err)
		}
		do(t, db, c.lose)
		do(t, db, `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'relayer'`)
		until(t, "it is back", func() bool { return away(t, second(s.Get(t.Context(), "pi_1"))) })
		if lost := blamed[*intents.LostError](s.Lost(t.Context())); lost != c.lost {
			t.Errorf("%s: lost %v, want %v", name, lost, c.lost)
		}
		s.Close()
	}
}
