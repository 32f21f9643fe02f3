package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nsqio/nsq/nsqd"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/nsqtest"
)

// Case 87: two processes are replaced one after the other, twice, under load; the new one starts before the old one stops. No
// nonce is used twice or left out.
func TestRollingDeploy(t *testing.T) {
	t.Parallel()
	w := newSite(t, site{nsqd: true, faults: "slow=100%:100ms"})
	args := []string{"run", "--set", "nsq.nsqd-http-address=" + w.queue.http}
	fleet := []*program{w.start(args...), w.start(args...)}
	var all []intents.Intent
	for round := range 4 {
		ins := demoIntents(fmt.Sprintf("roll%d", round), 60)
		w.stored(ins)
		all = append(all, ins...)
		until(t, "the round is under way", func() bool { return w.begun(ins) })
		next := w.start(args...)
		next.says("relayer started", 1)
		until(t, "both consume", func() bool { return len(w.nsqd.Stats("intents.payouts", "relayer").Clients) >= 3 })
		fleet[0].drains()
		fleet = append(fleet[1:], next)
	}
	w.settles(all)
	for _, p := range fleet {
		p.drains()
	}
	w.once(all)
	w.nonces(len(all) / 2)
}

// nonces wants the signer to have given out so many numbers, all of them used by our payments alone.
func (w *world) nonces(want int) {
	w.t.Helper()
	signers, err := w.store.Signers(w.t.Context())
	w.must(err)
	if len(signers) != 1 {
		w.t.Fatalf("%d signers, want 1", len(signers))
	}
	if s := signers[0]; s.Next != int64(want) || s.Frozen != "" {
		w.t.Errorf("next nonce %d, frozen %q, want %d", s.Next, s.Frozen, want)
	}
}

// Case 18: a send outlasts the lease and its cap, and nsqd gives the message out again to the other process, which finds a claim
// that runs and sends nothing.
func TestSendOutlastsItsLease(t *testing.T) {
	t.Parallel()
	w := newSite(t, site{
		nsqd: true, faults: "slow=100%:6s",
		options: []nsqtest.Option{func(o *nsqd.Options) { o.MaxMsgTimeout = 2 * time.Second }},
	})
	args := []string{"run", "--set", "nsq.nsqd-http-address=" + w.queue.http, "--set", "routes.payouts.msg-timeout=1s",
		"--set", "routes.webhooks.msg-timeout=1s", "--set", "routes.webhooks.submit-timeout=60s", "--drain-timeout", "90s"}
	first, second := w.start(args...), w.start(args...)
	ins := ofRoute("webhooks", "long", 6)
	w.stored(ins)
	until(t, "nsqd has given messages out again", func() bool {
		return w.nsqd.Stats("intents.webhooks", "relayer").TimedOut >= uint64(len(ins))
	})
	w.settles(ins)
	first.drains()
	second.drains()
	w.once(ins)
	for _, in := range ins {
		now, err := w.store.Get(t.Context(), in.ID)
		w.must(err)
		if now.Calls != 1 {
			t.Errorf("%s was sent %d times, want once", in.ID, now.Calls)
		}
	}
}

// A node that accepts and never answers, from the start on: its route consumes nothing and says so, the other one works.
func TestNodeHangsFromTheStart(t *testing.T) {
	t.Parallel()
	w := newSite(t, site{nsqd: true})
	node := w.nodeProxy()
	node.Freeze()
	p := w.startIn([]string{rpcEnv(node)}, shortTerms()...)
	ins := demoIntents("hang", 10)
	w.stored(ins)
	until(t, "the other route's are settled", func() bool { return w.states()[intents.Settled] == len(ins)/2 })
	until(t, "it says so", func() bool { return p.saidOf("payouts", "sender cannot be opened yet, nothing is consumed") > 0 })
	if n := strings.Count(p.stderr.String(), `"route":"payouts","nsqd"`); n > 0 {
		t.Errorf("it consumes")
	}
	node.Thaw()
	w.settles(ins)
	p.drains()
	w.once(ins)
}
