package pgtest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/nsqrelayer/relayer/internal/postgres"
)

// Clock is the clock of a server that goes wrong on purpose.
type Clock struct {
	tb   testing.TB
	file string
}

// Set puts the clock off by an offset such as "+300" or "-3600", in seconds.
func (c *Clock) Set(offset string) {
	c.tb.Helper()
	draft := c.file + ".new" // so that nobody reads half of it
	if err := errors.Join(os.WriteFile(draft, []byte(offset+"\n"), 0o644), os.Rename(draft, c.file)); err != nil {
		c.tb.Fatalf("pgtest: clock: %v", err)
	}
}

// ServerWithClock is [Server] with a clock of its own.
func ServerWithClock(tb testing.TB, offset string, settings ...string) (*postgres.Server, *Clock) {
	tb.Helper()
	preload, lib := "LD_PRELOAD", ""
	patterns := []string{"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib64/faketime/libfaketime.so.1"}
	if runtime.GOOS == "darwin" {
		preload = "DYLD_INSERT_LIBRARIES"
		patterns = []string{"/opt/homebrew/opt/libfaketime/lib/faketime/libfaketime.1.dylib", "/usr/local/opt/libfaketime/lib/faketime/libfaketime.1.dylib"}
	}
	for _, p := range patterns {
		if found, _ := filepath.Glob(p); len(found) > 0 { // the only error is a bad pattern
			lib = found[0]
		}
	}
	if lib == "" {
		tb.Fatal("no libfaketime found, and a test needs it: run make faults, or apt-get install libfaketime, or brew install libfaketime")
	}
	dir, err := os.MkdirTemp("/tmp", "relayer-clock-") // where a server of another user can read it
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		tb.Fatalf("pgtest: clock: %v", err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	c := &Clock{tb, filepath.Join(dir, "offset")}
	c.Set(offset)
	env := []string{preload + "=" + lib, "FAKETIME_TIMESTAMP_FILE=" + c.file, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1"}
	return serve(tb, env, settings), c
}
