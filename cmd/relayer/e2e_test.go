package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Two processes on one channel share the work. One is told to stop in the middle: that changes nothing but who finishes.
func TestTwoProcessesShareAChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	first, second := w.start("run"), w.start("run")
	const n = 2000
	ins := demoIntents("two", n)
	w.publish(ins)
	until(t, "a part is settled", func() bool { return w.states()[intents.Settled] > n/10 })
	first.signal(syscall.SIGTERM)
	first.exits(exitOK)
	until(t, "all are settled", func() bool { return w.states()[intents.Settled] == n })
	second.signal(syscall.SIGTERM)
	second.exits(exitOK)
	if effects, twice := w.effects(ins); effects != n || twice != 0 {
		t.Errorf("effects %d, twice %d, want %d and 0", effects, twice, n)
	}
	for _, p := range []*program{first, second} {
		if !strings.Contains(p.stderr.String(), "pool stopped") {
			t.Error("a process says nothing of its end")
		}
	}
	w.audited()
}

// Cases 93 and 102: a provider that misbehaves in every way it knows, also after the effect, sees each intent once.
func TestFaultyProviderSeesEachOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "commit-timeout=4%:10s,commit-500=6%,commit-reset=6%,refuse-503=6%,refuse-429=2%,reset=4%,accept-202=8%:300ms,slow=4%:200ms")
	p := w.start("run", "--set", "routes.webhooks.submit-timeout=1s")
	ins := demoIntents("faulty", 200)
	w.publish(ins)
	until(t, "all are settled", func() bool { return w.states()[intents.Settled] == len(ins) })
	p.signal(syscall.SIGTERM)
	p.exits(exitOK)
	if effects, twice := w.effects(ins); effects != len(ins) || twice != 0 {
		t.Errorf("effects %d, twice %d, want %d and 0", effects, twice, len(ins))
	}
	w.audited()
}

// A message published by curl moves a real effect, and relayer get tells the story.
func TestCurlMovesAnEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.start("run")
	w.post("intents.webhooks", `{"v":1,"id":"pi_x1","account":"acct_1","destination":"you","asset":"USD","amount":"100"}`)
	until(t, "it settles", func() bool { return w.states()[intents.Settled] == 1 })
	if got := w.sink.Effects()["pi_x1"]; got != 1 {
		t.Errorf("%d effects, want 1", got)
	}
	get := w.start("get", "pi_x1")
	get.exits(exitOK)
	for _, word := range []string{"pi_x1", "created", "authorized", "settling", "settled", "pay_", "webhooks"} {
		if !strings.Contains(get.stdout.String(), word) {
			t.Errorf("relayer get says nothing of %q:\n%s", word, get.stdout)
		}
	}
	p.signal(syscall.SIGINT)
	p.exits(exitOK)
}

// Scheduled intents run when they are due, not before; what is canceled until then never runs; the expired one fails.
func TestScheduledIntentsRunWhenDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.start("run")
	until(t, "it has started", func() bool { return strings.Contains(p.stderr.String(), "relayer started") })
	due := time.Now().Add(6 * time.Second).UTC().Truncate(time.Second)
	body := func(id, times string) string {
		return fmt.Sprintf(`{"v":1,"id":%q,"account":"acct_1","destination":"you","asset":"USD","amount":"100",%s}`, id, times)
	}
	w.post("intents.webhooks", body("pi_due", fmt.Sprintf(`"not_before":%q`, due.Format(time.RFC3339))))
	w.post("intents.webhooks", body("pi_off", fmt.Sprintf(`"not_before":%q`, due.Format(time.RFC3339))))
	w.post("intents.webhooks", body("pi_late", `"expires_at":"2026-01-01T00:00:00Z"`))
	until(t, "two wait and one failed", func() bool {
		s := w.states()
		return s[intents.Authorized] == 2 && s[intents.Failed] == 1
	})
	w.start("cancel", "pi_off").exits(exitOK)
	until(t, "it settles", func() bool { return w.states()[intents.Settled] == 1 })
	events, err := w.store.Events(t.Context(), "pi_due")
	w.must(err)
	for _, e := range events {
		if late := e.At.Sub(due); e.To == intents.Settling && (late < 0 || late > 10*time.Second) {
			t.Errorf("claimed %s after it was due", late)
		}
	}
	if got := w.sink.Effects(); got["pi_due"] != 1 || got["pi_off"] != 0 || got["pi_late"] != 0 {
		t.Errorf("effects %v", got)
	}
	p.signal(syscall.SIGTERM)
	p.exits(exitOK)
}

// A paused route claims nothing, whoever delivers; resumed, it goes on with what waited.
func TestPauseStopsEveryProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start("pause", "webhooks").exits(exitOK)
	first, second := w.start("run"), w.start("run")
	w.post("intents.webhooks", `{"v":1,"id":"pi_p1","account":"acct_1","destination":"you","asset":"USD","amount":"100"}`)
	w.post("intents.payouts", fmt.Sprintf(`{"v":1,"id":"pi_p2","account":"acct_1","destination":%q,"asset":"ETH","amount":"100"}`, demoIntents("p", 1)[0].Destination))
	until(t, "the other route works", func() bool { return w.states()[intents.Settled] == 1 })
	if got := w.states()[intents.Authorized]; got != 1 || len(w.sink.Effects()) != 0 {
		t.Errorf("paused: %d authorized, effects %v", got, w.sink.Effects())
	}
	w.start("resume", "webhooks").exits(exitOK)
	until(t, "it settles", func() bool { return w.states()[intents.Settled] == 2 })
	for _, p := range []*program{first, second} {
		p.signal(syscall.SIGTERM)
		p.exits(exitOK)
	}
}
