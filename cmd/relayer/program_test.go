package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is a running relayer.
type program struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr *output
	done           chan struct{}
	err            error
}

// start runs the program with the world's settings.
func (w *world) start(args ...string) *program {
	w.t.Helper()
	return startProgram(w.t, append(args, "--config", w.config)...)
}

// startProgram runs this test binary as relayer: see TestMain.
func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	return startProgramIn(t, nil, args...)
}

// startProgramIn does so with more in the environment.
func startProgramIn(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "relayer")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return startCommand(t, env, exec.Command(link, args...))
}

// startCommand runs what runs relayer. It and all it starts ends with the test, and with the test's process.
func startCommand(t *testing.T, env []string, cmd *exec.Cmd) *program {
	t.Helper()
	held, tie, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	p := &program{t: t, cmd: cmd, stdout: new(output), stderr: new(output), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.Env = append(os.Environ(), "RELAYER_DATABASE_URL=", "TMPDIR="+tempDir(t), "XDG_CACHE_HOME="+t.TempDir())
	p.cmd.Env = append(append(p.cmd.Env, tiedEnv+"=3"), env...)
	p.cmd.ExtraFiles = []*os.File{held} // number 3
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(p.done); p.err = p.cmd.Wait() }()
	t.Cleanup(func() {
		tie.Close()
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("%v\nstdout:\n%s\nstderr:\n%s", cmd.Args, p.stdout, p.stderr)
		}
	})
	return p
}

// tiedEnv tells relayer to end with the test's process, which holds the other end of file 3.
const tiedEnv = "RELAYER_TEST_TIED"

// tied ends this process when nobody holds the other end any more.
func tied() {
	if os.Getenv(tiedEnv) == "" {
		return
	}
	go func() {
		_, _ = os.NewFile(3, "tie").Read(make([]byte, 1))
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}()
}

// tempDir is a short directory that a Postgres of another user can reach.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "relayer-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// exits waits for the end and wants an exit code.
func (p *program) exits(want int) {
	p.t.Helper()
	if got := p.ends(); got != want {
		p.t.Fatalf("exit code %d, want %d", got, want)
	}
}

// ends waits for the end and tells the exit code, -1 after a signal.
func (p *program) ends() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatal("the program does not end")
	}
	if bad, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return bad.ExitCode()
	}
	return 0
}

// output is what a program prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// last is the last line.
func (o *output) last() string {
	text := strings.TrimRight(o.String(), "\n")
	return text[strings.LastIndex(text, "\n")+1:]
}
