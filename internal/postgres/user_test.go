package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func needRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("about what root does")
	}
}

func TestRootRunsItAsAnother(t *testing.T) {
	t.Parallel()
	needRoot(t)
	cfg := config(t)
	cfg.User = "nobody"
	s := start(t, cfg)
	info, err := os.Stat(filepath.Join(s.Dir(), "data/postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != a.uid || s.User() != "nobody" {
		t.Errorf("server of user %q wrote its file as uid %d, want %d", s.User(), uid, a.uid)
	}
}

func TestRunnerDefaults(t *testing.T) {
	t.Parallel()
	needRoot(t)
	a, err := runner("")
	if err != nil || a.uid == 0 || (a.name != "postgres" && a.name != "nobody") {
		t.Errorf("root runs it as %+v, %v", a, err)
	}
}

func TestClosedParentIsNamed(t *testing.T) {
	t.Parallel()
	needRoot(t)
	cfg := config(t)
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg.Dir = filepath.Join(closed, "dev")
	_, err := Start(t.Context(), cfg)
	if e, ok := errors.AsType[*ClosedDirError](err); !ok || e.Closed != closed {
		t.Errorf("start below a closed directory: %v", err)
	}
}

func TestClosedTempDirIsAvoided(t *testing.T) {
	needRoot(t)
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", closed)
	if s := start(t, config(t)); !strings.HasPrefix(s.Dir(), "/tmp/") {
		t.Errorf("server in %s, which its user cannot reach", s.Dir())
	}
}

func TestUnknownUser(t *testing.T) {
	t.Parallel()
	needRoot(t)
	cfg := config(t)
	cfg.User = "no-such-user"
	_, err := Start(t.Context(), cfg)
	if e, ok := errors.AsType[*SwitchUserError](err); !ok || e.User != "no-such-user" {
		t.Errorf("error is %v", err)
	}
}

func TestRefusedSwitch(t *testing.T) {
	t.Parallel()
	a := account{name: "postgres", uid: 101}
	for _, errno := range []syscall.Errno{syscall.EPERM, syscall.EINVAL} {
		err := a.explain(&os.PathError{Op: "fork/exec", Path: "postgres", Err: errno})
		if _, ok := errors.AsType[*SwitchUserError](err); !ok || !errors.Is(err, errno) {
			t.Errorf("%v becomes %v", errno, err)
		}
	}
	if err := (account{}).explain(syscall.EPERM); err != syscall.EPERM {
		t.Errorf("without a switch EPERM becomes %v", err)
	}
}
