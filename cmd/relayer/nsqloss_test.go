package main

import (
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/nsqtest"
)

// Case 27: nsqd is killed with its memory, while messages are in flight, deferred and queued. It comes back empty, or never:
// then the sweeper uses another one. The rows are enough.
func TestNSQDKilledWithItsMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		back bool
	}{{"back", true}, {"gone", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, site{nsqd: true, faults: "slow=100%:300ms"})
			w.killNSQD(c.back)
		})
	}
}

func (w *world) killNSQD(back bool) {
	w.t.Helper()
	args := shortTerms("--set", "routes.webhooks.concurrency=4", "--set", "nsq.nsqd-http-address="+w.queue.http)
	if !back {
		other := nsqtest.StartProcess(w.t)
		both := "nsq.nsqd-http-address=" + w.queue.http + "," + other.HTTP()
		args = shortTerms("--set", "routes.webhooks.concurrency=4", "--set", both,
			"--nsqd-tcp-address", w.queue.tcp, "--nsqd-tcp-address", other.TCP())
	}
	p := w.start(args...)
	ins, late := demoIntents("lost", 60), ofRoute("webhooks", "late", 5)
	w.deferred(late)
	w.stored(ins)
	until(w.t, "messages to be in flight, deferred and queued", func() bool {
		s := w.nsqd.Stats("intents.webhooks", "relayer")
		return s.InFlight > 0 && s.Deferred >= len(late) && s.Depth > 0
	})
	w.nsqd.Kill()
	if back {
		w.nsqd.Restart()
		if s := w.nsqd.Stats("intents.webhooks", "relayer"); s.Deferred > 0 {
			w.t.Fatalf("nsqd remembers %d deferred messages", s.Deferred)
		}
	}
	all := append(ins, late...)
	w.settles(all)
	w.once(all)
	p.drains()
}

// deferred stores intents whose references nsqd keeps for half an hour, in memory alone.
func (w *world) deferred(ins []intents.Intent) {
	w.t.Helper()
	w.nsqd.CreateChannel("intents.webhooks", "relayer")
	for _, in := range ins {
		w.create(in)
		body, err := intents.EncodeReference(in.ID)
		w.must(err)
		w.nsqd.Defer("intents.webhooks", 30*time.Minute, string(body))
	}
}
