package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nsqrelayer/relayer/internal/postgres"
)

// Disk is a small disk, which can be filled.
type Disk struct {
	Dir string // belongs to the server's account
	tb  testing.TB
	at  string // where it is mounted
}

// NewDisk mounts a disk in memory for as long as the test runs. It takes root, or sudo without a password: without these
// the test is skipped, but never in CI.
func NewDisk(tb testing.TB, srv *postgres.Server, megabytes int) *Disk {
	tb.Helper()
	at, err := os.MkdirTemp(srv.Dir(), "disk-")
	if err != nil {
		tb.Fatalf("pgtest: disk: %v", err)
	}
	options := fmt.Sprintf("size=%dm,mode=1777", megabytes)
	if said, err := asRoot("mount", "-t", "tmpfs", "-o", options, "tmpfs", at).CombinedOutput(); err != nil {
		impossible(tb, "no disk can be mounted to be filled (%v: %s): run as root, in a container say, or with sudo without a password", err, said)
	}
	tb.Cleanup(unmountAtExit(tb, at))
	d := &Disk{Dir: filepath.Join(at, "space"), tb: tb, at: at}
	err = errors.Join(os.Chmod(at, 0o755), os.Mkdir(d.Dir, 0o700))
	if err == nil && srv.User() != "" {
		err = give(d.Dir, srv.User())
	}
	if err != nil {
		tb.Fatalf("pgtest: disk: %v", err)
	}
	return d
}

func impossible(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if os.Getenv("CI") == "" {
		tb.Skipf("pgtest: "+format, args...)
	}
	tb.Fatalf("pgtest: "+format, args...)
}

func asRoot(args ...string) *exec.Cmd {
	if os.Geteuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	return exec.Command(args[0], args[1:]...)
}

// unmountAtExit leaves nothing mounted, whoever still has files on it and whatever ends this process: as leash.
func unmountAtExit(tb testing.TB, at string) (now func()) {
	tb.Helper()
	cmd := asRoot("/bin/sh", "-c", `read -r _; umount -l "$1"`, "sh", at)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		tb.Fatalf("pgtest: disk: %v", err)
	}
	return func() {
		pipe.Close()
		if err := cmd.Wait(); err != nil {
			tb.Errorf("pgtest: disk stays mounted: %v", err)
		}
	}
}

func (d *Disk) filler() string { return filepath.Join(d.at, "filler") }

// Fill leaves no room on the disk.
func (d *Disk) Fill() {
	d.tb.Helper()
	f, err := os.OpenFile(d.filler(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.tb.Fatalf("pgtest: disk: %v", err)
	}
	defer f.Close()
	for page := make([]byte, 4096); err == nil; {
		_, err = f.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.tb.Fatalf("pgtest: disk: %v", err)
	}
}

// Free gives the room back.
func (d *Disk) Free() {
	d.tb.Helper()
	if err := os.Remove(d.filler()); err != nil {
		d.tb.Fatalf("pgtest: disk: %v", err)
	}
}
