package nsqtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// diskEnv makes a child mount a disk of that size on its data path, and fill it.
const diskEnv = "RELAYER_TEST_NSQD_DISK"

// StartOnFullDisk is StartProcess with a data path on which nothing more can be written. It needs root or a kernel that
// lets users mount in namespaces of their own.
func StartOnFullDisk(tb testing.TB, opts ...Option) *Process {
	tb.Helper()
	p := &Process{tb: tb, opts: *newOptions(tb, opts), disk: "64k"}
	p.first()
	return p
}

// apart gives the child mounts of its own.
func apart(a *syscall.SysProcAttr) {
	if os.Geteuid() == 0 {
		a.Unshareflags = syscall.CLONE_NEWNS
		return
	}
	a.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
}

func fullDisk(path string) error {
	size := os.Getenv(diskEnv)
	if size == "" {
		return nil
	}
	if err := syscall.Mount("none", path, "tmpfs", 0, "size="+size); err != nil {
		return fmt.Errorf("mount a small disk on %s (root, or user namespaces, are needed): %w", path, err)
	}
	err := os.WriteFile(filepath.Join(path, "ballast"), make([]byte, 1<<20), 0o600)
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk of %s is not full: %w", size, err)
	}
	return nil
}
