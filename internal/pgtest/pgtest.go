// Package pgtest gives tests real Postgres databases.
//
// [New] gives a test an empty or migrated database of its own on a server that all tests of the process share; it
// costs about 70 ms. [Server] gives a test a server of its own, for tests that stop it, fill it or end its backends.
// Nothing here skips: a machine without Postgres fails the test and says what to do.
//
// RELAYER_TEST_DSN names a server to use instead of starting one; its user must be able to create databases.
//
// A test that looks for leaked goroutines must leave out the one that waits for the shared server, with
// goleak.IgnoreAnyFunction([WaitFunction]).
package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/internal/postgres"
)

// Env names the variable with the DSN of a server that runs already.
const Env = "RELAYER_TEST_DSN"

// WaitFunction is on the stack of the one goroutine that lives as long as the shared server, and that is as long as
// the process.
const WaitFunction = "github.com/nsqrelayer/relayer/internal/postgres.(*process).wait"

const patience = 2 * time.Minute // for one step on a busy machine

// New makes a database for this test and returns its DSN. The database is dropped when the test ends, whoever is
// still connected.
//
// migrate, if not nil, fills a template once per process and function; each test gets a copy. Pass the same function
// value everywhere: a closure made anew for each test migrates anew for each test.
func New(tb testing.TB, migrate func(ctx context.Context, dsn string) error) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h, err := shared()
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	template, err := h.template(ctx, migrate)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	name := h.name()
	if err := h.create(ctx, name, template); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() { drop(tb, h, name) })
	return h.dsn(name)
}

func drop(tb testing.TB, h *host, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.drop(ctx, name); err != nil {
		tb.Errorf("pgtest: %v", err)
	}
}

// Server starts a server for this test alone and stops it when the test ends. Settings are server settings as
// name, value, name, value. RELAYER_TEST_DSN does not matter here.
func Server(tb testing.TB, settings ...string) *postgres.Server {
	tb.Helper()
	return serve(tb, nil, settings)
}

// serve starts a server with more in its environment.
func serve(tb testing.TB, env, settings []string) *postgres.Server {
	tb.Helper()
	if len(settings)%2 != 0 {
		tb.Fatalf("pgtest: odd number of settings: %q", settings)
	}
	cfg := postgres.Config{NoSync: true, Env: env, Settings: map[string]string{}}
	for i := 0; i < len(settings); i += 2 {
		cfg.Settings[settings[i]] = settings[i+1]
	}
	s, err := start(cfg)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.Errorf("pgtest: %v", err)
		}
	})
	return s
}

// Standby starts a server for this test that follows another, and stops it when the test ends.
func Standby(tb testing.TB, primary *postgres.Server) *postgres.Server {
	tb.Helper()
	s, err := primary.Standby(context.Background(), postgres.Config{})
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.Errorf("pgtest: %v", err)
		}
	})
	return s
}

func start(cfg postgres.Config) (*postgres.Server, error) {
	b, err := postgres.Find("")
	if err != nil {
		return nil, err
	}
	cfg.Binaries = b
	return postgres.Start(context.Background(), cfg)
}
