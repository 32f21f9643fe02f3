package pgstore

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/batch"
	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// commitOp is one kind of commit, to be broken in a test.
type commitOp struct {
	name    string
	prepare func(*testing.T, *Store) func() error // makes what is needed and returns the commit
	check   func(*testing.T, *Store)              // wants it written, once
}

func commitOps() []commitOp {
	return []commitOp{
		{"take", func(_ *testing.T, s *Store) func() error {
			return func() error {
				in := someIntent("pi_1", 0)
				_, err := s.Take(context.Background(), intents.Message{ID: in.ID, Route: in.Route, Full: true, Intent: in, Actor: "tester"})
				return err
			}
		}, func(t *testing.T, s *Store) { stands(t, s, intents.Authorized, 2, 2) }},
		{"claim", func(t *testing.T, s *Store) func() error {
			in := made(t, s, "pi_1")
			return func() error {
				cl, err := s.Claim(context.Background(), keyed(in))
				if err == nil && (len(cl.Attempts) != 1 || cl.Intent.State != intents.Settling || cl.Intent.Slot.Name != "pi_1") {
					t.Errorf("claimed: %+v", cl)
				}
				return err
			}
		}, func(t *testing.T, s *Store) { stands(t, s, intents.Settling, 3, 3) }},
		{"attach", func(t *testing.T, s *Store) func() error {
			cl := counted(t, s, "pi_1")
			return func() error {
				_, err := s.Attach(context.Background(), intents.Attempt{Slot: cl.Slot(), No: 1, Kind: intents.First, Bytes: []byte("b"), Name: "0x1"})
				return err
			}
		}, func(t *testing.T, s *Store) {
			if in := got(t, s, "pi_1"); in.Stored != 1 {
				t.Errorf("stored is %d, want 1", in.Stored)
			}
		}},
		{"fact", func(t *testing.T, s *Store) func() error {
			cl := claimed(t, s, made(t, s, "pi_1"))
			return func() error {
				_, err := s.Complete(context.Background(), cl, intents.Result{Verdict: intents.Done, Ref: "r"})
				return err
			}
		}, func(t *testing.T, s *Store) { stands(t, s, intents.Settled, 4, 4) }},
		{"permission", func(t *testing.T, s *Store) func() error {
			cl := claimed(t, s, made(t, s, "pi_1"))
			return func() error {
				_, err := s.Complete(context.Background(), cl, intents.Result{Verdict: intents.NotSent, Evidence: []byte(`{"why":"refused"}`)})
				return err
			}
		}, func(t *testing.T, s *Store) { stands(t, s, intents.Authorized, 4, 4) }},
		{"refuse", func(t *testing.T, s *Store) func() error {
			in := made(t, s, "pi_1")
			return func() error {
				_, err := s.Refuse(context.Background(), in, intents.ReasonRefused, nil)
				return err
			}
		}, func(t *testing.T, s *Store) { stands(t, s, intents.Failed, 3, 3) }},
	}
}

// Case 38: a commit whose answer is lost is found out, and nothing is written twice.
func TestLostAnswers(t *testing.T) {
	for _, op := range commitOps() {
		for name, f := range map[string]fate{"before": cutBefore, "after": cutAfter} {
			t.Run(op.name+" cut "+name+" the commit (case 38)", func(t *testing.T) {
				t.Parallel()
				p, dsn := newProxy(t, pgtest.New(t, migrate))
				s := openStore(t, dsn)
				commit := op.prepare(t, s)
				p.set(f)
				if err := commit(); err != nil {
					t.Errorf("the answer that was found out is %v", err)
				}
				if p.times() != 1 {
					t.Fatalf("%d commits were cut, want 1", p.times())
				}
				op.check(t, s)
				audited(t, s)
			})
		}
	}
}

func stands(t *testing.T, s *Store, state intents.State, version, lines int) {
	t.Helper()
	in := got(t, s, "pi_1")
	if in.State != state || in.Version != version {
		t.Errorf("intent is %s v%d, want %s v%d", in.State, in.Version, state, version)
	}
	if n := events(t, s, "pi_1"); n != lines {
		t.Errorf("its timeline has %d lines, want %d", n, lines)
	}
}

// counted claims an intent with a counter slot.
func counted(t *testing.T, s *Store, id string) intents.Claimed {
	t.Helper()
	if _, err := s.OpenSigner(t.Context(), intents.Signer{Scope: "evm:1:0xabc", Next: 7, Window: 16}); err != nil {
		t.Fatal(err)
	}
	c := keyed(made(t, s, id))
	c.Plan.Slot, c.Plan.Scope, c.Plan.Again, c.Attempt = intents.Counter, "evm:1:0xabc", intents.Always, nil
	cl, err := s.Claim(t.Context(), c)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return cl
}

// When the answer can be had from nobody, the caller hears that; the same claim asked again later is given again.
func TestUnsureStaysUnsure(t *testing.T) {
	t.Parallel()
	p, dsn := newProxy(t, pgtest.New(t, migrate))
	s := openStore(t, dsn, func(c *Config) { c.CommitTimeout = time.Second })
	c := keyed(made(t, s, "pi_1"))
	c.ID = "claim-1"
	p.set(cutForGood)
	if _, err := s.Claim(t.Context(), c); !errors.Is(err, intents.ErrUnsure) {
		t.Fatalf("claim without an answer: %v, want unsure", err)
	}
	p.open()
	var cl intents.Claimed
	until(t, "the claim is told", func() (ok bool) {
		var err error
		cl, err = s.Claim(t.Context(), c)
		if err != nil && !errors.Is(err, intents.ErrUnavailable) {
			t.Fatalf("asked again: %v", err)
		}
		return err == nil
	})
	if cl.Intent.ClaimID != "claim-1" || cl.Intent.Version != 3 || len(cl.Attempts) != 1 {
		t.Errorf("asked again: %+v", cl)
	}
	stands(t, s, intents.Settling, 3, 3)
}

// What was seen of earlier bytes may end a claim before its lost answer is read back. A delivery that is told "moved" then
// would take itself for one that wrote nothing, and give its message back.
func TestClaimThatIsOverStaysUnsure(t *testing.T) {
	t.Parallel()
	s := openStore(t, pgtest.New(t, migrate))
	c := keyed(made(t, s, "pi_1"))
	c.ID = "claim-1"
	cl, err := s.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	l := &claims{link: &link{db: s.committing, log: slog.New(slog.DiscardHandler), memory: s.memory}}
	defer l.drop()
	readBack := func() batch.Answer[intents.Claimed] {
		answers, err := l.Resolve(t.Context(), []claimOp{{c}})
		if err != nil || len(answers) != 1 {
			t.Fatalf("read back: %v %v", answers, err)
		}
		return answers[0]
	}
	if a := readBack(); a.Err != nil || a.Value.Intent.ClaimID != "claim-1" {
		t.Errorf("while it runs: %+v", a)
	}
	if _, err := s.Complete(t.Context(), cl, intents.Result{Verdict: intents.Accepted, Ref: "r"}); err != nil {
		t.Fatal(err)
	}
	a := readBack()
	if err := answered(a.Err); !errors.Is(err, intents.ErrUnsure) {
		t.Errorf("when it is over: %v, want unsure", err)
	}
	if _, told := errors.AsType[*intents.NotClaimedError](a.Err); told {
		t.Error("when it is over: it is told as not had")
	}
}

// A network that swallows everything is noticed: the committer gives its connection up, asks on another, and the old
// transaction is gone with its connection.
func TestSilentNetwork(t *testing.T) {
	t.Parallel()
	p, dsn := newProxy(t, pgtest.New(t, migrate))
	s := openStore(t, with(dsn, "lock_timeout=30s"), func(c *Config) { c.CommitTimeout = time.Second })
	cl := claimed(t, s, made(t, s, "pi_1"))
	p.set(swallowed)
	_, err := s.Complete(t.Context(), cl, intents.Result{Verdict: intents.NotSent})
	for !away(t, err) && !t.Failed() { // a machine that is busy for a second may not find it out in time
		_, err = s.Complete(t.Context(), cl, intents.Result{Verdict: intents.NotSent})
	}
	stands(t, s, intents.Authorized, 4, 4)
}

// Nor does what is not batched wait for ever on such a network, as lib/pq would, which asks the server to cancel by the same
// network: a drain, the probe and both loops go on.
func TestSilentNetworkUnderThePool(t *testing.T) {
	t.Parallel()
	p, dsn := silentProxy(t, pgtest.New(t, migrate))
	s := openStore(t, dsn, func(c *Config) { c.CommitTimeout = 100 * time.Millisecond })
	p.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	answered := make(chan error, 1)
	go func() { _, err := s.Lead(ctx, "sweep/r", "a", time.Hour); answered <- err }()
	select {
	case err := <-answered:
		if err == nil {
			t.Error("nothing was heard, and it says that it has the lease")
		}
	case <-time.After(time.Minute):
		p.Thaw() // or Close waits, too
		t.Fatal("it waits for ever")
	}
	p.Thaw()
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// silentProxy stands before a server and can swallow everything; the DSN leads through it.
func silentProxy(t *testing.T, dsn string) (*nsqtest.Proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q, target := u.Query(), u.Host
	if dir := q.Get("host"); dir != "" {
		target = filepath.Join(dir, ".s.PGSQL.5432")
		u.User = url.User(q.Get("user"))
	}
	p := nsqtest.StartProxy(t, target)
	q.Del("host")
	q.Del("user")
	u.Host, u.RawQuery = p.Addr(), q.Encode()
	return p, u.String()
}

// A panic in the middle of a transaction leaves nothing of it behind, and the committer goes on.
func TestPanicInTransaction(t *testing.T) {
	t.Parallel()
	s := openStore(t, pgtest.New(t, migrate), func(c *Config) { c.CommitTimeout = time.Second })
	in := made(t, s, "pi_1")
	_, err := s.decide(t.Context(), in.Key, 0, func(intents.Intent, time.Time) (intents.Change, error) { panic("on purpose") })
	if !errors.Is(err, intents.ErrUnsure) {
		t.Errorf("a decision that panics: %v, want unsure", err)
	}
	answers(t, "cancel", func() (intents.Intent, error) { return s.Cancel(t.Context(), "pi_1", "tester") })
	stands(t, s, intents.Canceled, 3, 3)
}

// Backends are ended in the middle of transactions, again and again. What was cut has written nothing and is run again or
// told as unavailable; never half.
func TestBackendsEnded(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	ins := seed(t, s, 600)
	var settled atomic.Int64
	each(ins, func(in intents.Intent) {
		insist(t, s, in)
		if settled.Add(1)%30 == 0 {
			_, _ = db.Exec(`select pg_terminate_backend(pid) from pg_stat_activity
 where datname = current_database() and application_name = 'relayer' and pid <> pg_backend_pid()`) // may end itself
		}
	})
	for _, in := range ins {
		if in := got(t, s, in.ID); in.State != intents.Settled || in.Version != 4 {
			t.Fatalf("intent is %s v%d, want settled v4", in.State, in.Version)
		}
	}
	audited(t, s)
}

// insist settles an intent however often the store has to be asked, with the same arguments.
func insist(t *testing.T, s *Store, in intents.Intent) {
	c := keyed(in)
	c.ID = "claim-" + in.ID
	var cl intents.Claimed
	claim := func() (err error) { cl, err = s.Claim(context.Background(), c); return err }
	complete := func() error {
		return second(s.Complete(context.Background(), cl, intents.Result{Verdict: intents.Done, Ref: "r"}))
	}
	late := time.Now().Add(time.Minute)
	for _, op := range []func() error{claim, complete} {
		for !away(t, op()) && !t.Failed() {
			if time.Now().After(late) {
				t.Errorf("%s does not get through for a minute", in.ID)
			}
			runtime.Gosched()
		}
	}
}

// away says whether an operation is through; only the store's absence may keep it from that.
func away(t *testing.T, err error) bool {
	if err != nil && !errors.Is(err, intents.ErrUnavailable) && !errors.Is(err, intents.ErrUnsure) {
		t.Errorf("unexpected error: %v", err)
	}
	return err == nil
}
