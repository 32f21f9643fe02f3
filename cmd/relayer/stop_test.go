package main

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// saidAt is when the first line of the log with a message was written.
func (p *program) saidAt(msg string) time.Time {
	p.t.Helper()
	for text := range strings.Lines(p.stderr.String()) {
		var l struct {
			Time time.Time
			Msg  string
		}
		if json.Unmarshal([]byte(text), &l) == nil && l.Msg == msg {
			return l.Time
		}
	}
	p.t.Fatalf("the log has no line %q", msg)
	return time.Time{}
}

// ownerOf is how a program is called in timelines.
func ownerOf(p *program) string {
	own := instanceName() // of this process, on the same host
	return strings.TrimSuffix(own, pid(os.Getpid())) + pid(p.cmd.Process.Pid)
}

// waiting is a world whose provider has been sent the first four and answers none of them; others wait for their permits.
func (w *world) waiting(p *program, ins []intents.Intent) {
	w.t.Helper()
	w.stored(ins)
	until(w.t, "four are sent, without an answer", func() bool { return len(w.sink.Effects()) == 4 })
	until(w.t, "the others are in its hands", func() bool {
		return w.nsqd.Stats("intents.webhooks", "relayer").InFlight > 4
	})
	if p.ended() {
		w.t.Fatal("it has ended")
	}
}

// silent has a provider that does what each first call asks and never answers it.
func silent() site {
	return site{nsqd: true, faults: "commit-timeout=100%:10m", maxFaults: 1}
}

// few lets four sends go at a time, each for as long as said.
func few(timeout string, more ...string) []string {
	return shortTerms(append([]string{"--set", "routes.webhooks.throttle.in-flight=4", "--set", "routes.webhooks.submit-timeout=" + timeout}, more...)...)
}

// Case 84: after the first signal nothing is claimed: what waits is let go, begun sends end, and the exit code is 0. A process
// that comes later settles the rest.
func TestDrainClaimsNothing(t *testing.T) {
	t.Parallel()
	w := newSite(t, silent())
	p := w.start(few("6s", "--drain-timeout", "60s")...)
	ins := ofRoute("webhooks", "drain", 20)
	w.waiting(p, ins)
	p.drains()
	owner := ownerOf(p)
	if n := w.claimsSince(ins, time.Time{}, owner); n < 4 {
		t.Errorf("%s claimed %d before, want 4: does the test look for the right name?", owner, n)
	}
	if n := w.claimsSince(ins, p.saidAt("draining"), owner); n != 0 {
		t.Errorf("%d claims after the signal", n)
	}
	next := w.start(shortTerms()...)
	w.settles(ins)
	next.drains()
	w.once(ins)
}

// Case 84: a drain does not outlast its deadline. Postgres hears nothing of the results; they are in the log, counted as
// abandoned, and the exit code is 1. The next process settles the same intents, once.
func TestDrainIsCutByItsDeadline(t *testing.T) {
	t.Parallel()
	w := newSite(t, site{nsqd: true, faults: "slow=100%:500ms"})
	proxy, dsn := w.postgresProxy()
	p := w.start(few("1s", "--database-url", dsn)...)
	ins := ofRoute("webhooks", "cut", 12)
	w.stored(ins)
	until(t, "some are sent", func() bool { return len(w.sink.Effects()) > 0 })
	proxy.Freeze()
	p.signal(syscall.SIGTERM)
	p.exits(exitFailed)
	for _, text := range []string{"drain timeout", "result cannot be written", `"msg":"pool stopped"`} {
		if p.said(text) == 0 {
			t.Errorf("the log says nothing of %q", text)
		}
	}
	w.expire()
	next := w.start(shortTerms()...)
	w.settles(ins)
	next.drains()
	w.once(ins)
}

// Case 84: a second signal, and SIGKILL, end a drain at once. Sends are cut anywhere; a process that comes later sends the same
// bytes again, and the other side counts one effect. Ten signals at once are one drain or its end, whichever the kernel
// makes of them.
func TestDrainIsEndedAtOnce(t *testing.T) {
	t.Parallel()
	w := newSite(t, silent())
	var all []intents.Intent
	for _, c := range []struct {
		name    string
		signals []syscall.Signal
	}{
		{"second", []syscall.Signal{syscall.SIGTERM}},
		{"int", []syscall.Signal{syscall.SIGINT}},
		{"kill", []syscall.Signal{syscall.SIGKILL}},
	} {
		p := w.start(few("12s", "--drain-timeout", "60s")...)
		before := len(w.sink.Effects())
		ins := ofRoute("webhooks", c.name, 4)
		w.stored(ins)
		until(t, "they are sent, without an answer", func() bool { return len(w.sink.Effects()) == before+4 })
		p.signal(syscall.SIGTERM)
		p.says(`"msg":"draining"`, 1)
		for _, s := range c.signals {
			p.signal(s)
		}
		p.exits(-1)
		all = append(all, ins...)
	}
	all = append(all, w.tenSignals()...)
	w.expire()
	next := w.start(shortTerms()...)
	w.settles(all)
	next.drains()
	w.once(all)
}

func (w *world) tenSignals() []intents.Intent {
	w.t.Helper()
	p := w.start(few("5s", "--drain-timeout", "60s")...)
	before, ins := len(w.sink.Effects()), ofRoute("webhooks", "ten", 4)
	w.stored(ins)
	until(w.t, "they are sent, without an answer", func() bool { return len(w.sink.Effects()) == before+4 })
	for range 10 {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended
	}
	if code := p.ends(); code != -1 && code != exitOK {
		w.t.Errorf("exit code %d, want 0 or the signal's", code)
	}
	return ins
}

// Case 84: a signal that comes before the start has ended ends it, and nothing was consumed: with a database, and with a
// node, that accepts and never answers.
func TestStopBeforeStartHasEnded(t *testing.T) {
	t.Parallel()
	w := newSite(t, site{nsqd: true})
	proxy, dsn := w.postgresProxy()
	proxy.Freeze()
	p := w.start("run", "--database-url", dsn)
	until(t, "it asks the database", func() bool { return proxy.Conns() > 0 || p.ended() })
	p.signal(syscall.SIGTERM)
	p.exits(exitDown) // the database has not answered, whatever ended the waiting
	node := w.nodeProxy()
	node.Freeze()
	p = w.startIn([]string{rpcEnv(node)}, shortTerms()...)
	ins := ofRoute("payouts", "early", 2)
	w.stored(ins)
	until(t, "it asks the node", func() bool { return node.Conns() > 0 || p.ended() })
	p.drains()
	if got := w.states()[intents.Authorized]; got != len(ins) {
		t.Errorf("%d authorized, want %d", got, len(ins))
	}
}
