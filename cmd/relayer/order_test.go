package main

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
)

// part is one of the three that go down and come up in every order.
type part struct {
	name     string
	down, up func()
}

// orders are all ways to order three.
func orders() [][]int {
	return [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
}

// nsqd, Postgres and relayer go down and come up in every order, in the middle of sends. A relayer that finds no Postgres
// says so and ends, exit code 5; whoever supervises it starts it again. Each intent is settled once.
func TestPartsStopAndStartInEveryOrder(t *testing.T) {
	t.Parallel()
	w := newSite(t, site{nsqd: true, postgres: true, faults: "slow=100%:200ms"})
	r := &restarts{w: w}
	r.start()
	parts := []part{
		{"nsqd", func() { r.nsqdDown() }, func() { w.nsqd.Restart() }},
		{"postgres", func() { w.must(w.pg.Halt()) }, func() { w.must(w.pg.Launch(t.Context())) }},
		{"relayer", r.stop, r.start},
	}
	var all []intents.Intent
	ups := orders()
	slices.Reverse(ups) // so that each order of going down meets another of coming up
	for round, down := range orders() {
		ins := demoIntents(fmt.Sprintf("round%d", round), 16)
		w.stored(ins)
		all = append(all, ins...)
		until(t, "the round is under way", func() bool { return w.begun(ins) })
		for _, i := range down {
			parts[i].down()
		}
		for _, i := range ups[round] {
			parts[i].up()
		}
		r.startIfEnded()
	}
	w.settles(all)
	r.p.drains()
	w.once(all)
}

// restarts keeps one relayer.
type restarts struct {
	w      *world
	p      *program
	rounds int
}

// start starts relayer. Without Postgres it must say so and end.
func (r *restarts) start() {
	r.w.t.Helper()
	r.p = r.w.start(shortTerms("--set", "nsq.nsqd-http-address="+r.w.queue.http)...)
	select {
	case <-r.w.pg.Done(): // it is down
		r.p.exits(exitDown)
		if r.p.said("relayer: store is unavailable") == 0 {
			r.w.t.Error("it does not say that Postgres is down")
		}
	default:
		r.p.says("relayer started", 1)
	}
}

// startIfEnded is the supervisor.
func (r *restarts) startIfEnded() {
	r.w.t.Helper()
	if r.p.ended() {
		r.start()
	}
}

// stop drains it, whatever is left; what Postgres cannot be told is cut.
func (r *restarts) stop() {
	r.w.t.Helper()
	r.p.signal(syscall.SIGTERM)
	if code := r.p.ends(); code != exitOK && code != exitFailed {
		r.w.t.Errorf("exit code %d after a drain, want 0 or 1", code)
	}
}

// nsqdDown ends nsqd, in turn as it should be and with its memory.
func (r *restarts) nsqdDown() {
	if r.rounds++; r.rounds%2 == 0 {
		r.w.nsqd.Kill()
		return
	}
	r.w.nsqd.Stop()
}
