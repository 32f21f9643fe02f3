package main

import (
	"strings"
	"testing"

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
