// Package postgres finds the Postgres that is installed on this machine and runs a private server of it: a cluster
// of its own in a directory of its own, reached over a unix socket, gone when this process is gone.
//
// It downloads nothing. It works as root (Postgres refuses root, so the server runs as user postgres, else nobody)
// and as an ordinary user. On Linux the kernel stops the server when this process dies, kill -9 included; elsewhere
// the next start on the same directory does. The package is for Unix only.
package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Config says how a private server is run. Only Binaries is needed.
type Config struct {
	// Binaries is the installation to run, see [Find].
	Binaries Binaries

	// Dir holds the cluster, its socket and its log. A directory that was used before is used again, with its data.
	// Empty means a temporary one, which Stop removes.
	Dir string

	// User runs the server when this process is root. Empty means postgres, else nobody. Ignored otherwise.
	User string

	// MaxConnections defaults to 100.
	MaxConnections int

	// Settings are further server settings, for example {"wal_level": "logical"}. They win over ours.
	Settings map[string]string

	// Env is more of the server's environment, as name=value.
	Env []string

	// NoSync turns fsync off: fast, and for data nobody needs after a crash of the machine. Default is on.
	NoSync bool

	// StartTimeout bounds initdb and the start. Default 2 minutes.
	StartTimeout time.Duration

	// Logger hears of starts and stops. Default is none. The server's own log is the file Dir/postgres.log.
	Logger *slog.Logger
}

// Start makes the cluster unless Dir has one, starts the server and returns when it answers.
//
// Errors: *InUseError when another process runs a server in Dir, *VersionError when Dir was made by another major
// version, *ClosedDirError when the server's user cannot reach Dir, *SwitchUserError when root may not switch to that
// user. A server that dies during the start is an error that carries the last lines of its log.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg.StartTimeout = cmp.Or(cfg.StartTimeout, 2*time.Minute)
	cfg.MaxConnections = cmp.Or(cfg.MaxConnections, 100)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()

	run, err := runner(cfg.User)
	if err != nil {
		return nil, err
	}
	dir, err := openDir(cfg.Dir, run)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, dir: dir, run: run}
	if err := s.start(ctx); err != nil {
		dir.close()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	s.dir.settleOrphan(ctx)
	if err := s.initdb(ctx); err != nil {
		return err
	}
	return s.Launch(ctx)
}

// VersionError says that a directory was made by another major version of Postgres.
type VersionError struct {
	Dir         string
	Have, Found string // major version of the data, of the binaries
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s was made by PostgreSQL %s, found %s: use the binaries of %s or another directory",
		e.Dir, e.Have, e.Found, e.Have)
}

// checkVersion compares PG_VERSION in an existing cluster with the binaries.
func checkVersion(dir layout, b Binaries) error {
	raw, err := os.ReadFile(filepath.Join(dir.data(), "PG_VERSION"))
	if err != nil {
		return fmt.Errorf("postgres: read version of cluster: %w", err)
	}
	if have := string(trimLine(raw)); have != b.Major() {
		return &VersionError{Dir: dir.path, Have: have, Found: b.Major()}
	}
	return nil
}
