package postgres

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// process is a child that is started and waited for on one thread: the kernel sends the parent death signal when the
// thread that started the child ends, not when the process does.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has exited
	err  error         // of Wait; to be read after done
}

func launch(cmd *exec.Cmd, run account, env ...string) (*process, error) {
	cmd.SysProcAttr = procAttr(run.credential())
	cmd.Env = append(serverEnv(), env...)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.wait(started)
	if err := <-started; err != nil {
		return nil, run.explain(err)
	}
	return p, nil
}

func (p *process) wait(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	close(p.done)
}

// serverEnv is our environment without libpq's variables, which the server programs read too (PGDATA, PGPORT), in
// plain English.
func serverEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "PG") })
	return append(env, "LC_ALL=C")
}

// stop ends the process: fast shutdown, then immediate, then none at all.
func (p *process) stop() error {
	steps := []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGINT, 15 * time.Second}, {syscall.SIGQUIT, 5 * time.Second}, {syscall.SIGKILL, 5 * time.Second}}
	for _, step := range steps {
		if err := p.cmd.Process.Signal(step.sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(step.wait):
		}
	}
	return errors.New("postgres: server does not end")
}
