package main

import (
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/nsqtest"
)

// kind is how a network fails: connections are reset and refused, or nothing is heard any more.
type kind struct {
	name      string
	cut, mend func(*nsqtest.Proxy)
}

func kinds() []kind {
	return []kind{
		{"refused", (*nsqtest.Proxy).Refuse, (*nsqtest.Proxy).Accept},
		{"silent", (*nsqtest.Proxy).Freeze, (*nsqtest.Proxy).Thaw},
	}
}

// pair is relayer and one of the others, with a proxy between.
type pair struct {
	name    string
	proxy   *nsqtest.Proxy
	noticed func(p *program) bool // that it is cut, by what can be seen outside
}

// The network between relayer and each of the others fails in the middle of sends, by resets and as a black hole, and comes
// back. Nothing goes to a person, each effect happens once, and the drain at the end has nothing to cut.
func TestPartitionFromEach(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, site{nsqd: true, faults: "slow=100%:200ms"})
			pairs, p := w.apart()
			var all []intents.Intent
			for _, q := range pairs {
				ins := demoIntents("part_"+q.name, 24)
				w.stored(ins)
				all = append(all, ins...)
				until(t, "sends are under way", func() bool { return w.begun(ins) })
				k.cut(q.proxy)
				until(t, "it is cut from "+q.name, func() bool { return q.noticed(p) })
				k.mend(q.proxy)
				w.settles(all)
			}
			p.drains()
			w.once(all)
		})
	}
}

// apart starts a relayer with a proxy before everything it talks to.
func (w *world) apart() ([]pair, *program) {
	w.t.Helper()
	postgres, dsn := w.postgresProxy()
	nsqd, node := nsqtest.StartProxy(w.t, w.queue.tcp), w.nodeProxy()
	hook := nsqtest.StartProxy(w.t, hostOf(w.sink.URL))
	env := append(hookEnv(hook), rpcEnv(node))
	p := w.startIn(env, shortTerms("--database-url", dsn, "--nsqd-tcp-address", nsqd.Addr(),
		"--set", "nsq.nsqd-http-address="+w.queue.http)...)
	timedOut := func() uint64 { return w.nsqd.Stats("intents.webhooks", "relayer").TimedOut }
	return []pair{
		{"nsqd", nsqd, func(p *program) bool { return timedOut() > 0 || p.said("cannot connect") > 0 }},
		{"postgres", postgres, saying("store cannot be reached, consumer paused")},
		{"node", node, sayingOf("payouts", `"open":false`)},
		{"provider", hook, sayingOf("webhooks", `"open":false`)},
	}, p
}

func saying(text string) func(*program) bool {
	return func(p *program) bool { return p.said(text) > 0 }
}

// sayingOf looks for a text in a line of one route.
func sayingOf(route, text string) func(*program) bool {
	return func(p *program) bool { return p.saidOf(route, text) > 0 }
}

// Of two relayers one is cut from Postgres while it has claims: its begun sends end, it claims nothing more. The other takes over
// when the claims have ended, with the same bytes. Each effect happens once.
func TestPartitionOfOneFromPostgres(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, site{nsqd: true, faults: "slow=100%:700ms"})
			proxy, dsn := w.postgresProxy()
			cut := w.start(few("2s", "--drain-timeout", "10s", "--database-url", dsn)...)
			ins := demoIntents("claims", 24)
			w.stored(ins)
			until(t, "it has claims and sends", func() bool { return len(w.sink.Effects()) > 0 })
			k.cut(proxy)
			cut.says("store cannot be reached, consumer paused", 1)
			at := time.Now()
			whole := w.start(shortTerms()...)
			w.settles(ins)
			if n := w.claimsSince(ins, at, ownerOf(cut)); n != 0 {
				t.Errorf("it claimed %d intents without Postgres", n)
			}
			k.mend(proxy)
			cut.says("store is back, consumer resumed", 1)
			cut.drains()
			whole.drains()
			w.once(ins)
		})
	}
}
