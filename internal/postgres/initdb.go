package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
)

// initdb makes the cluster, or checks the one that is there. The password file gets its name last, so a cluster
// without it was cut short and is made again.
func (s *Server) initdb(ctx context.Context) error {
	if _, err := os.Stat(s.dir.password()); err == nil {
		return checkVersion(s.dir, s.cfg.Binaries)
	}
	draft := s.dir.password() + ".new"
	if _, err := os.Stat(draft); err == nil { // begun by us; anything else in there initdb refuses to touch
		if err := emptyDir(s.dir.data()); err != nil {
			return fmt.Errorf("postgres: clear half-made cluster: %w", err)
		}
	}
	if err := s.writePassword(draft); err != nil {
		return err
	}
	if err := s.runInitdb(ctx, draft); err != nil {
		return err
	}
	return os.Rename(draft, s.dir.password())
}

// writePassword makes the password of the superuser, which TCP connections need.
func (s *Server) writePassword(file string) error {
	if err := os.WriteFile(file, []byte(rand.Text()+"\n"), 0o600); err != nil {
		return fmt.Errorf("postgres: write password: %w", err)
	}
	return s.run.give(file)
}

func (s *Server) runInitdb(ctx context.Context, pwfile string) error {
	cmd := exec.CommandContext(ctx, s.cfg.Binaries.Initdb(), "--pgdata", s.dir.data(), "--username", superuser,
		"--pwfile", pwfile, "--auth-local", "trust", "--auth-host", "scram-sha-256",
		"--encoding", "UTF8", "--locale", "C", "--no-sync")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &out, s.dir.path
	p, err := launch(cmd, s.run)
	if err != nil {
		return fmt.Errorf("postgres: initdb: %w", err)
	}
	if <-p.done; p.err != nil {
		return fmt.Errorf("postgres: initdb: %w\n%s", p.err, lastLines(out.Bytes(), 10))
	}
	return nil
}

// emptyDir removes what is in dir and keeps dir, with its owner.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range entries {
		if err := root.RemoveAll(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// lastLines is the end of a log.
func lastLines(log []byte, n int) []byte {
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], []byte("\n"))
}
