package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	devnsq "github.com/nsqrelayer/relayer/internal/devstack/nsq"
	"github.com/nsqrelayer/relayer/internal/devstack/sink"
	"github.com/nsqrelayer/relayer/internal/pgtest"
	"github.com/nsqrelayer/relayer/nsqworker"
)

// world is everything outside of relayer processes: a real nsqd, Postgres, chain and payment provider.
type world struct {
	t      *testing.T
	nsq    *devnsq.NSQ
	dsn    string
	store  *pgstore.Store
	pub    *nsqworker.Publisher
	chain  *chain.Chain
	sink   *sink.Sink
	dir    string
	config string // path of relayer.toml
}

// patience is for one step on a slow, busy machine.
const patience = 3 * time.Minute

func newWorld(t *testing.T, faults string) *world {
	t.Helper()
	return newWorldOn(t, faults, pgtest.New(t, migrated))
}

// newWorldAt is a world on a server of its own, whose database is not migrated yet.
func newWorldAt(t *testing.T, faults, dsn string) *world {
	t.Helper()
	if err := migrated(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	return newWorldOn(t, faults, dsn)
}

func newWorldOn(t *testing.T, faults, dsn string) *world {
	t.Helper()
	w := &world{t: t, dsn: dsn, dir: t.TempDir()}
	spec, err := sink.ParseFaults(faults)
	w.must(err)
	w.nsq, err = devnsq.Start(t.Context(), devnsq.Config{})
	w.must(err)
	t.Cleanup(func() { _ = w.nsq.Stop() })
	w.sink, err = sink.Start(t.Context(), sink.Config{Faults: spec})
	w.must(err)
	t.Cleanup(func() { _ = w.sink.Stop() })
	w.chain, err = chain.Start(t.Context(), chain.Config{BlockTime: 250 * time.Millisecond})
	w.must(err)
	t.Cleanup(func() { _ = w.chain.Close() })
	w.store, err = pgstore.Open(t.Context(), pgstore.Config{DSN: w.dsn, Actor: "test"})
	w.must(err)
	t.Cleanup(w.store.Close)
	w.pub, err = nsqworker.NewPublisher(nsqworker.PublisherConfig{NSQDs: []string{w.nsq.NSQDTCP}})
	w.must(err)
	t.Cleanup(w.pub.Close)
	w.configure()
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// configure writes the settings that relayer dev uses, too.
func (w *world) configure() {
	key, err := chain.WriteKeystore(w.dir, chain.DevKey(), devPassphrase)
	w.must(err)
	text := fmt.Sprintf(devConfig, w.dsn, w.nsq.NSQDTCP, w.chain.URL, chain.ID, key, devPassphrase, devWindow, w.sink.URL, w.sink.URL)
	w.config = filepath.Join(w.dir, "relayer.toml")
	w.must(os.WriteFile(w.config, []byte(text), 0o600))
}

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
	p := &program{t: t, cmd: exec.Command(link, args...), stdout: new(output), stderr: new(output), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.Env = append(os.Environ(), "RELAYER_DATABASE_URL=", "TMPDIR="+tempDir(t), "XDG_CACHE_HOME="+t.TempDir())
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(p.done); p.err = p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("%v\nstdout:\n%s\nstderr:\n%s", args, p.stdout, p.stderr)
		}
	})
	return p
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
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatal("the program does not end")
	}
	got := 0
	if bad, ok := errors.AsType[*exec.ExitError](p.err); ok {
		got = bad.ExitCode()
	}
	if got != want {
		p.t.Fatalf("exit code %d, want %d", got, want)
	}
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

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited %s for: %s", patience, what)
		}
	}
}

// publish sends full intents to their routes' topics.
func (w *world) publish(ins []intents.Intent) {
	w.t.Helper()
	for _, in := range ins {
		body, err := intents.Encode(in)
		w.must(err)
		w.must(w.pub.Publish(w.t.Context(), "intents."+in.Route, body))
	}
}

// states counts all intents by state.
func (w *world) states() map[intents.State]int {
	w.t.Helper()
	counts, err := w.store.Count(w.t.Context(), "")
	w.must(err)
	return counts
}

// effects counts what happened outside: each intent must be there once.
func (w *world) effects(ins []intents.Intent) (effects, twice int) {
	w.t.Helper()
	var dests []string
	for _, in := range ins {
		if in.Route == "payouts" {
			dests = append(dests, in.Destination)
		}
	}
	counts, err := w.chain.Effects(context.WithoutCancel(w.t.Context()), dests)
	w.must(err)
	maps.Copy(counts, w.sink.Effects())
	for _, n := range counts {
		effects += n
		if n > 1 {
			twice++
		}
	}
	return effects, twice
}

// audited wants the sums to add up.
func (w *world) audited() {
	w.t.Helper()
	wrong, err := w.store.Audit(w.t.Context())
	w.must(err)
	for _, line := range wrong {
		w.t.Errorf("audit: %s", line)
	}
}

// post sends a body as curl would.
func (w *world) post(topic, body string) {
	w.t.Helper()
	resp, err := http.Post(fmt.Sprintf("http://%s/pub?topic=%s", w.nsq.NSQDHTTP, topic), "application/json", strings.NewReader(body))
	w.must(err)
	defer resp.Body.Close()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		w.t.Fatalf("pub: %s %s", resp.Status, answer)
	}
}
