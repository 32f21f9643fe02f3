package main

import (
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
)

// address waits for a program to say where it serves.
func (p *program) address() string {
	p.t.Helper()
	var found []string
	until(p.t, "it listens", func() bool {
		found = regexp.MustCompile(`"http listening","address":"([^"]+)"`).FindStringSubmatch(p.stderr.String())
		return found != nil
	})
	return found[1]
}

// get gives the body of a page that must be there.
func get(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %v", url, resp.Status, err)
	}
	return string(body)
}

// contains wants lines, each whole.
func contains(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
}

// devSigner is the labels of the signer of the development chain.
var devSigner = `chain="1337",signer="` + chain.DevAddress().Hex() + `"`

// A process that works is scraped: what it counts is what happened. It stops answering only after it has stopped working.
func TestRunServesMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.start("run", "--http-address", "127.0.0.1:0")
	url := "http://" + p.address()
	if got := get(t, url+"/livez"); got != "ok\n" {
		t.Errorf("livez: %q", got)
	}
	const n = 20
	w.publish(demoIntents("scraped", n))
	until(t, "all are settled", func() bool { return w.states()[intents.Settled] == n })
	until(t, "it is shown", func() bool {
		return strings.Contains(get(t, url+"/metrics"), "relayer_signer_nonce{"+devSigner+`,source="chain"} 10`)
	})
	contains(t, get(t, url+"/metrics"),
		`relayer_deliveries_total{result="sent",route="payouts"} 10`, `relayer_deliveries_total{result="sent",route="webhooks"} 10`,
		`relayer_deliveries_total{result="panics",route="webhooks"} 0`, `relayer_throttle_in_flight{route="webhooks"} 0`,
		`relayer_breaker_open{route="payouts"} 0`, `relayer_signer_nonce{`+devSigner+`,source="db"} 10`,
		`relayer_intents_total{route="webhooks",state="settled"} 10`, `relayer_attempts_total{route="payouts",verdict="accepted"} 10`,
		`relayer_stage_duration_seconds_count{route="webhooks",stage="send"} 10`, `relayer_nsq_messages_total{action="finished",route="webhooks"} 10`,
		`relayer_nsq_connections{route="payouts"} 1`, `relayer_draining{route="payouts"} 0`, `relayer_database_up 1`, `relayer_recovery_needed 0`,
		`relayer_leads{loop="sweeper",route="payouts"} 1`, `relayer_review{route="payouts"} 0`,
		`relayer_signer_ahead{`+devSigner+`} 0`, `relayer_signer_frozen{`+devSigner+`} 0`)
	p.signal(syscall.SIGTERM)
	p.exits(exitOK)
	if _, err := http.Get(url + "/livez"); err == nil {
		t.Error("somebody answers")
	}
}

// While it drains, a process can be looked at.
func TestDrainIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "slow=100%:40s")
	p := w.start("run", "--http-address", "127.0.0.1:0", "--set", "routes.webhooks.submit-timeout=35s")
	url := "http://" + p.address()
	w.publish(demoIntents("drain", 4)[1:2])
	const sending = `relayer_throttle_in_flight{route="webhooks"} 1`
	until(t, "it is under way", func() bool { return strings.Contains(get(t, url+"/metrics"), sending) })
	p.signal(syscall.SIGTERM)
	until(t, "it drains", func() bool { return strings.Contains(p.stderr.String(), `"draining"`) })
	contains(t, get(t, url+"/metrics"), sending)
	if got := get(t, url+"/livez"); got != "ok\n" {
		t.Errorf("livez: %q", got)
	}
	p.signal(syscall.SIGTERM)
	p.exits(-1) // killed by the signal
}

// Without an address nothing listens; two processes on one machine need no thought.
func TestRunServesNothingByDefault(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load("", nil)
	if err != nil || cfg.HTTPAddress != "" {
		t.Fatalf("address %q, %v", cfg.HTTPAddress, err)
	}
	if web, err := listenHTTP(t.Context(), cfg, slog.New(slog.DiscardHandler)); web != nil || err != nil {
		t.Errorf("got %v, %v", web, err)
	}
}

// rich is a sender that has looked at its signer's balance.
type rich struct{ way }

func (rich) Scopes() []string { return []string{"evm:1337:" + chain.DevAddress().Hex()} }
func (r rich) Balances() map[string]*big.Int {
	return map[string]*big.Int{r.Scopes()[0]: big.NewInt(2.5e18)}
}

// What a sender says of its signers is shown; it need not say anything.
func TestBalancesAreShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	cfg, err := config.Load(w.config, nil)
	w.must(err)
	log := slog.New(slog.DiscardHandler)
	p, err := openProcess(t.Context(), cfg, log, noSeams())
	w.must(err)
	t.Cleanup(p.close)
	for _, r := range p.routes {
		if r.name == "payouts" {
			r.way = rich{r.way}
		}
	}
	h, err := p.handler(log)
	w.must(err)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	contains(t, rec.Body.String(), `relayer_signer_balance_ether{`+devSigner+`} 2.5`)
	rec = httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/metrics", nil))
	if rec.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", rec.Code)
	}
}

// Profiles are served where that is wanted, and nowhere else.
func TestProfilesAreServedWhereWanted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	log := slog.New(slog.DiscardHandler)
	for wanted, code := range map[string]int{"true": http.StatusOK, "false": http.StatusNotFound} {
		cfg, err := config.Load(w.config, []string{"RELAYER_HTTP_ADDRESS=127.0.0.1:0", "RELAYER_HTTP_PPROF=" + wanted})
		w.must(errors.Join(err, cfg.Validate()))
		p, err := openProcess(t.Context(), cfg, log, noSeams())
		w.must(err)
		t.Cleanup(p.close)
		h, err := p.handler(log)
		w.must(err)
		for _, page := range []string{"heap", "profile?seconds=1", "trace?seconds=1"} {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/debug/pprof/"+page, nil))
			if rec.Code != code {
				t.Errorf("%s with http-pprof %s: %d, want %d", page, wanted, rec.Code, code)
			}
		}
	}
}

// The dev stack prints where its metrics are, and serves them.
func TestDevServesMetrics(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--intents", "2")
	var found []string
	until(t, "it says where", func() bool {
		found = regexp.MustCompile(`\n  metrics   (http://\S+/metrics)\n`).FindStringSubmatch(p.stdout.String())
		return found != nil
	})
	until(t, "the demo is counted", func() bool {
		text := get(t, found[1])
		return strings.Contains(text, `relayer_deliveries_total{result="sent",route="webhooks"} 1`) && strings.Contains(text, "relayer_signer_window{"+devSigner) &&
			strings.Contains(text, "relayer_signer_balance_ether{"+devSigner)
	})
	p.signal(syscall.SIGINT)
	p.exits(exitOK)
}
