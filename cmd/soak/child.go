package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// program is how a child is run.
type program struct {
	args []string // the first is the binary
	log  string   // what it prints is added to this file
}

// child is a running program. It dies with us.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start runs the program.
func (p program) start() (*child, error) {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c := &child{cmd: exec.Command(p.args[0], p.args[1:]...), done: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.SysProcAttr, c.cmd.Env = log, log, childAttr(), childEnv()
	started := make(chan error)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", p.args[0], err)
	}
	return c, nil
}

// run starts the child and waits for it on one thread: the kernel sends the parent death signal when the thread that
// started the child ends.
func (c *child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = c.cmd.Wait() // how it ended stands in ProcessState
	close(c.done)
}

// childEnv is our environment without what would change a relayer's settings.
func childEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "PG") || strings.HasPrefix(kv, "RELAYER_")
	})
}

func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) } // one that has ended needs none

// kill ends it as a power cut would, and returns when it is gone.
func (c *child) kill() {
	c.signal(syscall.SIGKILL)
	<-c.done
}

// stop asks it to end. One that has not ended within the time prints what it does, and is gone; then stop says false.
func (c *child) stop(within time.Duration) bool {
	c.signal(syscall.SIGTERM)
	if c.ends(within) {
		return true
	}
	c.signal(syscall.SIGQUIT)
	if !c.ends(10 * time.Second) {
		c.kill()
	}
	return false
}

func (c *child) ends(within time.Duration) bool {
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-c.done:
		return true
	case <-late.C:
		return false
	}
}

// code is the exit code of one that has ended, -1 after a signal.
func (c *child) code() int { return c.cmd.ProcessState.ExitCode() }

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
