package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

const superuser = "postgres"

// Server is a private server. Its methods may be called from several goroutines, but none while Launch runs.
type Server struct {
	cfg  Config
	dir  layout
	run  account
	addr address
	proc *process
	stop sync.Once
}

// Launch starts a server that Halt stopped, on the same data. Over TCP its port may change, and with it the DSN.
func (s *Server) Launch(ctx context.Context) error {
	if s.cfg.Logger == nil {
		return errors.New("postgres: server was not made by Start")
	}
	addr, err := s.dir.chooseAddress()
	if err != nil {
		return err
	}
	s.addr = addr
	if err := s.exec(); err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		_ = s.proc.stop() // what counts is why it did not start
		return err
	}
	s.cfg.Logger.InfoContext(ctx, "postgres started", "version", s.cfg.Binaries.Version, "dir", s.dir.path,
		"pid", s.PID(), "user", s.User())
	return nil
}

// exec runs postgres itself: pg_ctl would put it out of our reach.
func (s *Server) exec() error {
	log, err := os.OpenFile(s.dir.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("postgres: open log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(s.cfg.Binaries.Postgres(), s.args()...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, s.dir.path
	if s.proc, err = launch(cmd, s.run, s.cfg.Env...); err != nil {
		return fmt.Errorf("postgres: start: %w", err)
	}
	return nil
}

func (s *Server) args() []string {
	args := []string{"-D", s.dir.data()}
	set := func(name, value string) { args = append(args, "-c", name+"="+value) }
	set("max_connections", fmt.Sprint(s.cfg.MaxConnections))
	if s.cfg.NoSync {
		set("fsync", "off")
		set("synchronous_commit", "off")
		set("full_page_writes", "off")
	}
	for name, value := range s.cfg.Settings {
		set(name, value)
	}
	for name, value := range s.addr.settings(s.dir) { // Debian's default socket directory is closed to us
		set(name, value)
	}
	return args
}

// await returns when the server answers, has died or is late.
func (s *Server) await(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ping(ctx, s.DSN(superuser))
		if err == nil {
			return nil
		}
		select {
		case <-s.proc.done:
			return fmt.Errorf("postgres: server ended during its start (%v)\n%s", s.proc.err, s.LogTail(10))
		case <-ctx.Done():
			return fmt.Errorf("postgres: server does not answer: %w, last %w\n%s", ctx.Err(), err, s.LogTail(10))
		case <-tick.C:
		}
	}
}

// Halt stops the server and keeps its data for Launch. A server that is down already is no error.
func (s *Server) Halt() error { return s.proc.stop() }

// Stop stops the server (fast shutdown, after 15 s immediate) and removes its directory if that is temporary.
// Stop may be called twice.
func (s *Server) Stop() (err error) {
	s.stop.Do(func() {
		err = s.Halt()
		s.dir.close()
		s.cfg.Logger.InfoContext(context.Background(), "postgres stopped", "dir", s.dir.path)
	})
	return err
}

// Done is closed when the process of the last Launch has ended, whoever ended it.
func (s *Server) Done() <-chan struct{} { return s.proc.done }

// PID is the process id of the server's first process.
func (s *Server) PID() int { return s.proc.cmd.Process.Pid }

// Dir is the directory that holds everything of this server.
func (s *Server) Dir() string { return s.dir.path }

// User is the account the server was switched to, empty if it runs as we do.
func (s *Server) User() string { return s.run.name }

// Version is the server's version, for example "15.18".
func (s *Server) Version() string { return s.cfg.Binaries.Version }

// LogTail is the last n lines of the server's log, empty if there is none.
func (s *Server) LogTail(n int) string {
	raw, _ := os.ReadFile(s.dir.logFile())
	return string(lastLines(raw, n))
}

// freePort asks the kernel for a port. Another process can take it before the server does; the start then fails.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("postgres: find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// socketFile is what the server makes in its socket directory; clients add the name by themselves.
func (l layout) socketFile() string { return filepath.Join(l.sock(), ".s.PGSQL.5432") }
