package pgstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string    // file name
	AppliedAt time.Time // zero: pending
}

// Migrate brings the schema up to this version and returns the steps it took; none when there was nothing to do. It may
// run twice and from several processes at once: they wait for each other on a session lock. A step that waits longer than
// 5 s for a table gives up, and with it the traffic that queues behind it goes on.
//
// Errors: one that wraps intents.ErrUnavailable when the database cannot be reached; *intents.InvalidError when dsn leads to
// a pooler in transaction mode. None shows the password of dsn.
func Migrate(ctx context.Context, dsn string, logger *slog.Logger) ([]Migration, error) {
	return migrateTo(ctx, dsn, migrations, logger)
}

// migrateTo takes the steps among files.
func migrateTo(ctx context.Context, dsn string, files fs.FS, logger *slog.Logger) ([]Migration, error) {
	p, err := provider(ctx, dsn, files, logger)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	results, err := p.Up(ctx)
	applied := make([]Migration, 0, len(results))
	for _, r := range results {
		applied = append(applied, Migration{Version: r.Source.Version, Name: path.Base(r.Source.Path), AppliedAt: time.Now()})
	}
	if err != nil {
		return applied, fmt.Errorf("migrate: %w", reached(err))
	}
	return applied, nil
}

// MigrationStatus reads every step, oldest first, and whether it was taken. Errors as [Migrate].
func MigrationStatus(ctx context.Context, dsn string) ([]Migration, error) {
	p, err := provider(ctx, dsn, migrations, nil)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	steps, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", reached(err))
	}
	all := make([]Migration, 0, len(steps))
	for _, s := range steps {
		all = append(all, Migration{Version: s.Source.Version, Name: path.Base(s.Source.Path), AppliedAt: s.AppliedAt})
	}
	return all, nil
}

func provider(ctx context.Context, dsn string, all fs.FS, logger *slog.Logger) (*goose.Provider, error) {
	cfg, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	if err := sessions(ctx, cfg); err != nil {
		return nil, err
	}
	migrating := ordinary(cfg)
	migrating.set("lock_timeout", "5s")
	connector, err := migrating.connector(nil)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(all, "migrations")
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	options := []goose.ProviderOption{goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true)}
	if logger != nil {
		options = append(options, goose.WithSlog(logger))
	}
	return goose.NewProvider(goose.DialectPostgres, sql.OpenDB(connector), files, options...)
}
