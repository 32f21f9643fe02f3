package pgtest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/lib/pq"

	"github.com/nsqrelayer/relayer/internal/postgres"
)

// removeAtExit has a shell remove the server's directory when this process is gone, whatever ended it: a test binary
// has no hook for its end. The shell waits at a pipe that only we hold, and then for the server, which the kernel
// stops.
func (h *host) removeAtExit(s *postgres.Server) error {
	const script = `read -r _; while kill -0 "$1" 2>/dev/null; do sleep 0.1; done; rm -rf -- "$2"`
	cmd := exec.Command("/bin/sh", "-c", script, "sh", strconv.Itoa(s.PID()), s.Dir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("watch for exit: %w", err)
	}
	h.held = pipe
	return cmd.Start()
}

// join makes the databases of this process known on a server that others use too, and drops those of processes that
// died. A process holds an advisory lock under its token for as long as it lives; a lock that is free has no owner.
func (h *host) join(ctx context.Context) error {
	connector, err := pq.NewConnector(h.admin)
	if err != nil {
		return fmt.Errorf("%s: %w", Env, err)
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", Env, err)
	}
	h.held = conn
	key, err := lockKey(h.token)
	if err != nil {
		return err
	}
	_, err = conn.(driver.ExecerContext).ExecContext(ctx, fmt.Sprintf("select pg_advisory_lock(%d)", key), nil)
	if err != nil {
		return fmt.Errorf("%s: %w", Env, err)
	}
	return h.do(ctx, func(db *sql.DB) error { return h.dropStale(ctx, db) })
}

func lockKey(token string) (int64, error) { return strconv.ParseInt(token, 16, 64) }

func (h *host) dropStale(ctx context.Context, db *sql.DB) error {
	names, err := list(ctx, db)
	if err != nil {
		return fmt.Errorf("list databases: %w", err)
	}
	for _, name := range names {
		token, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "_")
		key, err := lockKey(token)
		if err != nil {
			continue // not made here
		}
		var free bool
		const try = "select pg_try_advisory_xact_lock($1)"
		if err := db.QueryRowContext(ctx, try, key).Scan(&free); err != nil {
			return fmt.Errorf("look for owner: %w", err)
		}
		if free {
			_ = h.drop(ctx, name) // another process may be dropping it too
		}
	}
	return nil
}

func list(ctx context.Context, db *sql.DB) ([]string, error) {
	var names []string
	const query = "select coalesce(array_agg(datname::text), '{}') from pg_database where starts_with(datname::text, $1)"
	err := db.QueryRowContext(ctx, query, prefix).Scan(pq.Array(&names))
	return names, err
}
