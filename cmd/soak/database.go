package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/postgres"
)

const databaseName = "relayer"

// database is the Postgres. Its processes are killed, the machine is not: what was written stays in the kernel's memory, so
// fsync may be off. synchronous_commit must not: a commit that is answered has to have been written, or a SIGKILL takes it
// along. postgres.Config.NoSync turns off both, and is not used.
type database struct {
	server *postgres.Server
	dsn    string
}

func startDatabase(ctx context.Context, log *slog.Logger) (*database, error) {
	bin, err := postgres.Find("")
	if err != nil {
		return nil, err
	}
	s, err := postgres.Start(ctx, postgres.Config{Binaries: bin, Logger: log, Settings: map[string]string{"fsync": "off"}})
	if err != nil {
		return nil, err
	}
	d := &database{s, s.DSN(databaseName)}
	return d, s.CreateDatabase(ctx, databaseName)
}

// hurt breaks it and brings it back on the same data.
func (d *database) hurt(ctx context.Context, k kind) error {
	switch k {
	case sever:
		return d.sever(context.WithoutCancel(ctx))
	case kill:
		d.kill()
	default:
		if err := d.server.Halt(); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return back(ctx, d.launch)
}

// kill ends all processes of the server at once: the first one, which is stopped before so that it makes no others, and
// those that serve connections.
func (d *database) kill() {
	pid := d.server.PID()
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	for _, kid := range childrenOf(pid) {
		_ = syscall.Kill(kid, syscall.SIGKILL)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	<-d.server.Done()
}

// launch starts it again, and repeats that: processes of the killed one may still hold its shared memory.
func (d *database) launch(ctx context.Context) (err error) {
	for ctx.Err() == nil {
		if err = d.server.Launch(ctx); err == nil {
			break
		}
		pause(ctx, 200*time.Millisecond)
	}
	if err == nil && d.server.DSN(databaseName) != d.dsn {
		return errors.New("postgres came up at another address: set TMPDIR to a shorter path, so that it listens on a socket")
	}
	return err
}

// sever ends every connection.
func (d *database) sever(ctx context.Context) error {
	return d.order(ctx, "postgres", "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", databaseName)
}

// hurry has the sweeper look now at what it has put off by minutes, as it does after it was published in vain.
func (d *database) hurry(ctx context.Context) error {
	return d.order(ctx, databaseName, "update intents set due_at = clock_timestamp() where due_at > clock_timestamp() and state in ($1, $2)",
		int(intents.Authorized), int(intents.Settling))
}

func (d *database) order(ctx context.Context, name, order string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	db, err := sql.Open("postgres", d.server.DSN(name))
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err = db.ExecContext(ctx, order, args...); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}
