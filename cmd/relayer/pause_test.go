package main

import (
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/nsqtest"
)

// Case 31: a pause stands in Postgres, so it holds for an nsqd that joins later, which knows nothing of it: what that delivers is
// stored, and nothing is sent until the route is resumed.
func TestPauseHoldsForANewNSQD(t *testing.T) {
	t.Parallel()
	w := newSite(t, site{nsqd: true})
	lookupd := nsqtest.StartLookupd(t)
	old := nsqtest.StartProcess(t, lookupd.Register())
	w.start("pause", "webhooks").exits(exitOK)
	p := w.start(shortTerms("--nsqlookupd-http-address", lookupd.HTTP())...)
	ins := ofRoute("webhooks", "pause", 6)
	publish := func(d *nsqtest.Process, ins []intents.Intent) {
		for _, in := range ins {
			body, err := intents.Encode(in)
			w.must(err)
			d.Publish("intents.webhooks", string(body))
		}
	}
	publish(old, ins[:3])
	until(t, "the first are stored", func() bool { return w.states()[intents.Authorized] == 3 })
	joined := nsqtest.StartProcess(t, lookupd.Register())
	publish(joined, ins[3:])
	until(t, "all are stored", func() bool { return w.states()[intents.Authorized] == len(ins) })
	until(t, "no message is left", func() bool {
		for _, d := range []*nsqtest.Process{old, joined} {
			if s := d.Stats("intents.webhooks", "relayer"); s.Messages != 3 || s.Depth+int64(s.InFlight+s.Deferred) > 0 {
				return false
			}
		}
		return true
	})
	if got := w.sink.Effects(); len(got) != 0 || w.states()[intents.Authorized] != len(ins) {
		t.Errorf("paused, with effects %v and states %v", got, w.states())
	}
	w.start("resume", "webhooks").exits(exitOK)
	w.settles(ins)
	p.drains()
	w.once(ins)
}

// Case 25: start-up says that there are fewer slots than nsqds need.
func TestStartSaysThatNSQDsTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	args := []string{"run", "--set", "routes.webhooks.concurrency=4"}
	for range 5 {
		args = append(args, "--nsqd-tcp-address", w.queue.tcp)
	}
	p := w.start(args...)
	p.says("routes.webhooks.concurrency: 4 is under 4 for each of 5 nsqds: they take turns", 1)
	p.says("relayer started", 1)
	p.drains()
}

// Case 29: the nsqlookupds are gone under a relayer that consumes. It goes on with the nsqds it knows.
func TestLookupdsGone(t *testing.T) {
	t.Parallel()
	w := newSite(t, site{nsqd: true})
	lookupds := []*nsqtest.Lookupd{nsqtest.StartLookupd(t), nsqtest.StartLookupd(t)}
	d := nsqtest.StartProcess(t, lookupds[0].Register(), lookupds[1].Register())
	d.CreateChannel("intents.webhooks", "relayer")
	p := w.start(shortTerms("--nsqlookupd-http-address", lookupds[0].HTTP(), "--nsqlookupd-http-address", lookupds[1].HTTP(),
		"--set", "nsq.nsqd-tcp-address=")...)
	until(t, "it consumes", func() bool { return len(d.Stats("intents.webhooks", "relayer").Clients) == 1 })
	for _, l := range lookupds {
		l.Stop()
	}
	p.says("nsqlookupd does not answer", 2)
	ins := ofRoute("webhooks", "alone", 6)
	for _, in := range ins {
		body, err := intents.Encode(in)
		w.must(err)
		d.Publish("intents.webhooks", string(body))
	}
	until(t, "all are settled", func() bool { return w.states()[intents.Settled] == len(ins) })
	p.drains()
	w.once(ins)
}
