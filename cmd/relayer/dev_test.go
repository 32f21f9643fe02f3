//go:build !lean

package main

import (
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// ports are flags that do not get in the way of another dev stack on this machine. Nothing is given: defaults move on.
func startDev(t *testing.T, args ...string) *program {
	t.Helper()
	return startProgram(t, append([]string{"dev", "--block-time", "250ms"}, args...)...)
}

func TestDevSettlesEachOnce(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--intents", "20", "--exit")
	p.exits(exitOK)
	const want = "dev: 20 intents: 20 settled, 0 failed, 0 in review; effects 20, twice 0"
	if got := p.stdout.last(); got != want {
		t.Errorf("last line %q, want %q", got, want)
	}
	for _, word := range []string{"nsqadmin", "psql", "settled", "confirming", "curl"} {
		if !strings.Contains(p.stdout.String(), word) {
			t.Errorf("nothing of %q", word)
		}
	}
}

// TestDevRPCFaults: answers of the node are lost, cut, refused and wrong, and each intent settles once.
func TestDevRPCFaults(t *testing.T) {
	t.Parallel()
	for told, flag := range map[string][]string{
		"rpc faults: ":  {"--rpc-faults"},
		"accept-reset ": {"--rpc-faults", "accept-reset=50%,wrong-hash=10%,null-receipt=30%,null-tx=30%,json-429=2%"},
	} {
		p := startDev(t, append(flag, "--intents", "30", "--exit")...)
		p.exits(exitOK)
		const want = "dev: 30 intents: 30 settled, 0 failed, 0 in review; effects 30, twice 0"
		if got := p.stdout.last(); got != want {
			t.Errorf("%v: last line %q, want %q", flag, got, want)
		}
		if !strings.Contains(p.stdout.String(), told) {
			t.Errorf("%v: %q is not told", flag, told)
		}
	}
}

func TestDevUsesWhatRuns(t *testing.T) {
	t.Parallel()
	nsqd := nsqtest.Start(t)
	p := startDev(t, "--intents", "6", "--exit", "--database-url", pgtest.New(t, nil), "--nsqd-tcp-address", nsqd.TCP())
	p.exits(exitOK)
	if got, want := p.stdout.last(), "dev: 6 intents: 6 settled, 0 failed, 0 in review; effects 6, twice 0"; got != want {
		t.Errorf("last line %q, want %q", got, want)
	}
	if !strings.Contains(p.stdout.String(), "already running") {
		t.Error("nothing is said to run already")
	}
}

// The variables of libpq say where the database is, as for psql.
func TestDevUsesTheDatabaseOfLibpq(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(pgtest.New(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	env := []string{"PGHOST=" + q.Get("host"), "PGUSER=" + q.Get("user"), "PGDATABASE=" + strings.TrimPrefix(u.Path, "/"), "PGSSLMODE=disable"}
	p := startProgramIn(t, env, "dev", "--block-time", "250ms", "--intents", "4", "--exit")
	p.exits(exitOK)
	if !strings.Contains(p.stdout.String(), "where PGHOST and its like say, already running") {
		t.Error("the database is not said to run already")
	}
}

func TestDevDrainsOnInterrupt(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--intents", "30")
	until(t, "something settles", func() bool { return strings.Contains(p.stdout.String(), "settled") })
	p.signal(syscall.SIGINT)
	p.exits(exitOK)
}

func TestDevStopsAtOnceOnASecondSignal(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--intents", "200", "--sink-faults", "slow=100%:30s")
	until(t, "something is under way", func() bool { return strings.Contains(p.stdout.String(), "settling") })
	p.signal(syscall.SIGINT)
	until(t, "it drains", func() bool { return strings.Contains(p.stdout.String(), "draining") })
	p.signal(syscall.SIGINT)
	p.exits(-1) // killed by the signal
}

func TestDevRefusesATakenPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for flag, value := range map[string]string{"--nsqd-tcp-port": port, "--http-address": l.Addr().String()} {
		p := startDev(t, "--exit", flag, value)
		p.exits(exitUsage)
		if !strings.Contains(p.stderr.String(), flag) {
			t.Errorf("%s is not named", flag)
		}
	}
}

func TestDevWithoutPostgres(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	p := startDev(t, "--exit", "--pg-bin", empty)
	p.exits(exitDown)
	for _, word := range []string{empty, "apt-get install postgresql", "--database-url"} {
		if !strings.Contains(p.stderr.String(), word) {
			t.Errorf("nothing of %q", word)
		}
	}
}

func TestDevRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--sink-faults", "explode=5%"}, {"--rpc-faults", "explode=5%"}, {"--rpc-faults=explode"}, {"--intents", "-1"}, {"--intents", "many"}} {
		p := startDev(t, args...)
		p.exits(exitUsage)
		if flag, _, _ := strings.Cut(args[0], "="); !strings.Contains(p.stderr.String(), flag) {
			t.Errorf("%v: the flag is not named", args)
		}
	}
}

// TestMain's program leaves no directory behind.
func TestDevCleansUp(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--intents", "2", "--exit")
	p.exits(exitOK)
	var tmp string
	for _, kv := range p.cmd.Env {
		if dir, ok := strings.CutPrefix(kv, "TMPDIR="); ok {
			tmp = dir
		}
	}
	left, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("left behind: %s", f.Name())
	}
}
