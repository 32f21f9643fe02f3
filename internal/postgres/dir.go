package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	tempPrefix = "relayer-pg-"
	tempAge    = time.Minute // a younger directory may be one whose owner is about to lock it
)

// InUseError says that another process runs a server in the directory.
type InUseError struct {
	Dir string
	PID int // of that process, 0 if unknown
}

func (e *InUseError) Error() string { return fmt.Sprintf("%s is in use by process %d", e.Dir, e.PID) }

// layout is a server's directory. It is ours; the cluster and the socket in it belong to the account that runs the
// server. The lock is held as long as this process lives, so a free lock means that the owner is gone.
type layout struct {
	path string
	temp bool
	lock *os.File
}

func (l layout) data() string     { return filepath.Join(l.path, "data") }
func (l layout) sock() string     { return filepath.Join(l.path, "sock") }
func (l layout) logFile() string  { return filepath.Join(l.path, "postgres.log") }
func (l layout) password() string { return filepath.Join(l.path, "password") }

func openDir(path string, run account) (layout, error) {
	l, err := makeDir(path, run)
	if err != nil {
		return l, fmt.Errorf("postgres: make directory: %w", err)
	}
	if err := run.reach(l.path); err != nil {
		l.close()
		return l, err
	}
	if l.lock, err = lockFile(l.path); err != nil {
		return l, err // it is not ours to remove
	}
	if err := l.fill(run); err != nil {
		l.close()
		return l, err
	}
	return l, nil
}

func makeDir(path string, run account) (layout, error) {
	if path == "" {
		return makeTemp(run)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return layout{}, err
	}
	return layout{path: path}, os.MkdirAll(path, 0o711)
}

// makeTemp makes a directory where the account can reach it: TMPDIR may lie in a home that is closed.
// MkdirTemp makes it 0700; the account must pass through.
func makeTemp(run account) (layout, error) {
	base := os.TempDir()
	if err := run.reach(base); err != nil {
		base = "/tmp"
	}
	removeStale(base)
	path, err := os.MkdirTemp(base, tempPrefix)
	if err != nil {
		return layout{}, err
	}
	return layout{path: path, temp: true}, os.Chmod(path, 0o711)
}

// fill makes what the account owns.
func (l layout) fill(run account) error {
	for dir, mode := range map[string]os.FileMode{l.data(): 0o700, l.sock(): 0o711} {
		if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("postgres: make directory: %w", err)
		}
		if err := run.give(dir); err != nil {
			return err
		}
	}
	return nil
}

// close lets go of the directory and removes it if it is temporary.
func (l layout) close() {
	if l.temp {
		os.RemoveAll(l.path)
	}
	if l.lock != nil {
		l.lock.Close()
	}
}

func lockFile(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("postgres: lock directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		return nil, &InUseError{Dir: dir, PID: firstNumber(f.Name())}
	}
	err = errors.Join(f.Truncate(0), writePID(f))
	return f, err
}

func writePID(f *os.File) error {
	_, err := f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	return err
}

// removeStale removes the temporary directories of processes that died without removing theirs.
func removeStale(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, tempPrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < tempAge {
			continue
		}
		lock, err := lockFile(dir)
		if err != nil {
			continue // alive, or another user's
		}
		l := layout{path: dir, temp: true, lock: lock}
		l.settleOrphan(context.Background())
		l.close()
	}
}

// settleOrphan waits for a server that outlived its owner, and tells it to stop. Nothing is signaled on the word of a
// pid file alone, since numbers are used again: the server must answer at its own socket.
func (l layout) settleOrphan(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		pid := firstNumber(filepath.Join(l.data(), "postmaster.pid"))
		if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		if l.answers(ctx) {
			_ = syscall.Kill(pid, syscall.SIGINT)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func firstNumber(file string) int {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(string(trimLine(raw)))
	return n
}

// trimLine is the first line of b.
func trimLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return bytes.TrimSpace(line)
}
