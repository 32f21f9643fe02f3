package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Standby makes a copy of the server in a directory of its own, and starts it: it follows, and lags as it likes. What
// cfg leaves out is as the server has it, but for the directory. Errors as [Start].
func (s *Server) Standby(ctx context.Context, cfg Config) (*Server, error) {
	cfg.Binaries, cfg.User, cfg.NoSync, cfg.Logger = s.cfg.Binaries, s.cfg.User, s.cfg.NoSync, s.cfg.Logger
	cfg.MaxConnections, cfg.StartTimeout = s.cfg.MaxConnections, s.cfg.StartTimeout
	ctx, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	dir, err := openDir(cfg.Dir, s.run)
	if err != nil {
		return nil, err
	}
	c := &Server{cfg: cfg, dir: dir, run: s.run}
	err = c.copy(ctx, s)
	if err == nil {
		err = c.Launch(ctx)
	}
	if err != nil {
		dir.close()
		return nil, err
	}
	return c, nil
}

// copy takes a base backup, with what it needs to follow.
func (s *Server) copy(ctx context.Context, from *Server) error {
	password, err := os.ReadFile(from.dir.password())
	if err != nil {
		return fmt.Errorf("postgres: copy: %w", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.cfg.Binaries.Dir, "pg_basebackup"), "--pgdata", s.dir.data(),
		"--dbname", from.DSN(superuser), "--write-recovery-conf", "--checkpoint", "fast", "--no-sync")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &out, s.dir.path
	p, err := launch(cmd, s.run)
	if err != nil {
		return fmt.Errorf("postgres: pg_basebackup: %w", err)
	}
	if <-p.done; p.err != nil {
		return fmt.Errorf("postgres: pg_basebackup: %w\n%s", p.err, lastLines(out.Bytes(), 10))
	}
	if err := os.WriteFile(s.dir.password(), password, 0o600); err != nil {
		return fmt.Errorf("postgres: copy: %w", err)
	}
	return s.run.give(s.dir.password())
}

// Unfollow has a standby receive nothing more: what its primary commits from now on it lacks.
func (s *Server) Unfollow(ctx context.Context) error {
	return s.order(ctx, "alter system set primary_conninfo = ''", "select pg_reload_conf()")
}

// Promote makes a standby a primary and returns when it takes writes.
func (s *Server) Promote(ctx context.Context) error { return s.order(ctx, "select pg_promote()") }

func (s *Server) order(ctx context.Context, orders ...string) error {
	db, err := sql.Open("postgres", s.DSN(superuser))
	if err != nil {
		return err
	}
	defer db.Close()
	for _, o := range orders {
		if _, err := db.ExecContext(ctx, o); err != nil {
			return fmt.Errorf("postgres: %s: %w", o, err)
		}
	}
	return nil
}
