package main

import (
	"syscall"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
)

// Case 83: a process is killed in the middle of its sends. What it had claimed is taken over when its claims have ended, with the
// same bytes; each effect happens once.
func TestKilledProcessIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "slow=100%:300ms")
	short := []string{"run", "--set", "routes.webhooks.prepare-timeout=1s", "--set", "routes.webhooks.submit-timeout=1s",
		"--set", "routes.payouts.prepare-timeout=1s", "--set", "routes.payouts.submit-timeout=1s"}
	first, second := w.start(short...), w.start(short...)
	ins := demoIntents("kill", 300)
	w.publish(ins)
	until(t, "both work", func() bool { return w.states()[intents.Settled] > 40 })
	first.signal(syscall.SIGKILL)
	first.exits(-1)
	until(t, "all are settled", func() bool { return w.states()[intents.Settled] == len(ins) })
	if effects, twice := w.effects(ins); effects != len(ins) || twice != 0 {
		t.Errorf("effects %d, twice %d, want %d and 0", effects, twice, len(ins))
	}
	second.signal(syscall.SIGTERM)
	second.exits(exitOK)
	w.audited()
}
