package main

import (
	"syscall"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
)

// Case 92: all workers die with fifty intents between their claims and their ends. One that starts later resolves all of them.
func TestAllWorkersDie(t *testing.T) {
	t.Parallel()
	w := newSite(t, site{nsqd: true, faults: "slow=60%:900ms,accept-202=40%:1s"})
	args := shortTerms("--set", "routes.webhooks.throttle.in-flight=2", "--set", "nsq.nsqd-http-address="+w.queue.http)
	fleet := []*program{w.start(args...), w.start(args...)}
	ins := demoIntents("rescue", 50)
	w.stored(ins)
	until(t, "some are claimed, some sent, some still wait", func() bool {
		s := w.states()
		return s[intents.Settling] > 0 && s[intents.Confirming] > 0 && s[intents.Authorized] > 0
	})
	for _, p := range fleet {
		p.signal(syscall.SIGKILL)
	}
	for _, p := range fleet {
		p.exits(-1)
	}
	w.expire()
	late := w.start(args...)
	w.settles(ins)
	late.drains()
	w.once(ins)
}
