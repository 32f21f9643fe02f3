package metrics_test

import (
	"context"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/metrics"
	"github.com/nsqrelayer/relayer/relayer"
)

const (
	ours   = "evm:1:0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
	theirs = "evm:1:0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
)

// The fakes are what the process brings: each only gives what it is told.
type (
	stats    relayer.Stats
	throttle relayer.ThrottleState
	purse    map[string]*big.Int
	book     []intents.Signer
)

func (s stats) Stats() relayer.Stats                             { return relayer.Stats(s) }
func (t throttle) State() relayer.ThrottleState                  { return relayer.ThrottleState(t) }
func (p purse) Balances() map[string]*big.Int                    { return p }
func (b book) Signers(context.Context) ([]intents.Signer, error) { return b, nil }

// wei reads an amount.
func wei(t *testing.T, text string) *big.Int {
	t.Helper()
	i, ok := new(big.Int).SetString(text, 10)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return i
}

// evm is a route of ours at rest.
func evm(name string) metrics.Route {
	return metrics.Route{Name: name, Scopes: []string{ours}, Worker: stats{}, Throttle: throttle{}}
}

func registry(t *testing.T, cfg metrics.Config) *prometheus.Registry {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	if err := metrics.Register(reg, cfg); err != nil {
		t.Fatal(err)
	}
	return reg
}

// full is a process of which everything can be told.
func full(t *testing.T) metrics.Config {
	payouts, webhooks := evm("payouts"), evm("webhooks")
	payouts.Worker = stats{Sent: 11, Retry: 12, Abandoned: 13, Panics: 14}
	payouts.Throttle = throttle{Waiting: 3, WaitingReads: 5, InFlight: 7, Breaker: relayer.BreakerState{Gate: relayer.GateProbing}}
	payouts.Purse = purse{ours: wei(t, "1250000000000000000"), theirs: wei(t, "1"), "evm:2:0xnever": nil}
	webhooks.Scopes = nil
	return metrics.Config{
		Version: "v1.2.3", Commit: "abc", GoVersion: "go1.26", Routes: []metrics.Route{payouts, webhooks},
		Signers: book{
			{Scope: ours, Next: 21, Window: 16, Open: 9, Ahead: 6, Seen: 15, Frozen: "key rotation (alice)"},
			{Scope: theirs, Next: 1, Window: 1},
		},
	}
}

const fullText = `
# HELP relayer_breaker_open 1 while the breaker holds sends back, after five results in a row that were unknown or not sent; one probe at a time goes out.
# TYPE relayer_breaker_open gauge
relayer_breaker_open{route="payouts"} 1
relayer_breaker_open{route="webhooks"} 0
# HELP relayer_build_info What is running; always 1.
# TYPE relayer_build_info gauge
relayer_build_info{commit="abc",go_version="go1.26",version="v1.2.3"} 1
# HELP relayer_deliveries_total Deliveries by what they came to: sent (accepted or done, and written), retry (left for another look), abandoned (cut by the drain), panics. Those that changed nothing count in none.
# TYPE relayer_deliveries_total counter
relayer_deliveries_total{result="abandoned",route="payouts"} 13
relayer_deliveries_total{result="abandoned",route="webhooks"} 0
relayer_deliveries_total{result="panics",route="payouts"} 14
relayer_deliveries_total{result="panics",route="webhooks"} 0
relayer_deliveries_total{result="retry",route="payouts"} 12
relayer_deliveries_total{result="retry",route="webhooks"} 0
relayer_deliveries_total{result="sent",route="payouts"} 11
relayer_deliveries_total{result="sent",route="webhooks"} 0
# HELP relayer_signer_ahead Open nonces that the chain has not used yet; no more are given out at the window.
# TYPE relayer_signer_ahead gauge
relayer_signer_ahead{chain="1",signer="0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"} 6
# HELP relayer_signer_balance_ether The chain's coin that the signer held when a sender of this process last looked, in units of 1e18 wei.
# TYPE relayer_signer_balance_ether gauge
relayer_signer_balance_ether{chain="1",signer="0x70997970C51812dc3A010C7d01b50e0d17dc79C8"} 1e-18
relayer_signer_balance_ether{chain="1",signer="0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"} 1.25
# HELP relayer_signer_frozen 1 while the signer gives out no nonce, until a person lets it go on.
# TYPE relayer_signer_frozen gauge
relayer_signer_frozen{chain="1",signer="0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"} 1
# HELP relayer_signer_nonce Next nonce: db, the next to give out; chain, the chain's own count when last looked at. Chain above db: somebody else sends with the key.
# TYPE relayer_signer_nonce gauge
relayer_signer_nonce{chain="1",signer="0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",source="chain"} 15
relayer_signer_nonce{chain="1",signer="0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",source="db"} 21
# HELP relayer_signer_open Nonces given out that are not final yet.
# TYPE relayer_signer_open gauge
relayer_signer_open{chain="1",signer="0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"} 9
# HELP relayer_signer_window How many nonces may be given out that the chain has not used yet.
# TYPE relayer_signer_window gauge
relayer_signer_window{chain="1",signer="0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"} 16
# HELP relayer_throttle_in_flight Sends that have a permit and have not returned.
# TYPE relayer_throttle_in_flight gauge
relayer_throttle_in_flight{route="payouts"} 7
relayer_throttle_in_flight{route="webhooks"} 0
# HELP relayer_throttle_waiting Deliveries that wait for a permit; they have written nothing.
# TYPE relayer_throttle_waiting gauge
relayer_throttle_waiting{route="payouts"} 3
relayer_throttle_waiting{route="webhooks"} 0
`

// TestEveryMetric holds each name, label and value to what the process brings. The signers of others are not shown.
func TestEveryMetric(t *testing.T) {
	reg := registry(t, full(t))
	if err := testutil.GatherAndCompare(reg, strings.NewReader(fullText), names(t, reg)...); err != nil {
		t.Error(err)
	}
}

// names lists the metrics of ours in a registry.
func names(t *testing.T, reg *prometheus.Registry) []string {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, f := range all {
		if strings.HasPrefix(f.GetName(), "relayer_") {
			ours = append(ours, f.GetName())
		}
	}
	return ours
}

// TestNamesFollowPrometheus: promlint finds nothing, in our own metrics or in those of the runtime.
func TestNamesFollowPrometheus(t *testing.T) {
	reg := registry(t, full(t))
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, name := range []string{"relayer_build_info", "go_goroutines", "process_open_fds"} {
		if n, err := testutil.GatherAndCount(reg, name); err != nil || n != 1 {
			t.Errorf("%d of %s, error %v; want 1", n, name, err)
		}
	}
}

// TestOperationsNamesEveryMetric: who looks one up finds it.
func TestOperationsNamesEveryMetric(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names(t, registry(t, full(t))) {
		if !strings.Contains(string(page), "`"+name) {
			t.Errorf("docs/operations.md says nothing of %s", name)
		}
	}
}

// TestRoutesMayShareASigner: it is shown once.
func TestRoutesMayShareASigner(t *testing.T) {
	a, b := evm("a"), evm("b")
	a.Purse, b.Purse = purse{ours: big.NewInt(1)}, purse{ours: big.NewInt(1)}
	reg := registry(t, metrics.Config{Routes: []metrics.Route{a, b}, Signers: book{{Scope: ours}}})
	if n, err := testutil.GatherAndCount(reg, "relayer_signer_frozen", "relayer_signer_balance_ether"); err != nil || n != 2 {
		t.Errorf("%d, error %v; want one of each", n, err)
	}
}

// TestScopeOfAnotherForm: a signer that is not of the form kind:chain:signer has a name all the same.
func TestScopeOfAnotherForm(t *testing.T) {
	r := metrics.Route{Name: "r", Scopes: []string{"wallet"}, Worker: stats{}, Throttle: throttle{}}
	reg := registry(t, metrics.Config{Routes: []metrics.Route{r}, Signers: book{{Scope: "wallet", Frozen: "x"}}})
	const want = `
# HELP relayer_signer_frozen 1 while the signer gives out no nonce, until a person lets it go on.
# TYPE relayer_signer_frozen gauge
relayer_signer_frozen{chain="",signer="wallet"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "relayer_signer_frozen"); err != nil {
		t.Error(err)
	}
}

// TestRegisterTwice: two processes in one registry would hide each other.
func TestRegisterTwice(t *testing.T) {
	reg := registry(t, metrics.Config{})
	if err := metrics.Register(reg, metrics.Config{}); err == nil {
		t.Error("no error")
	}
}

// scrape asks as Prometheus does.
func scrape(t *testing.T, reg *prometheus.Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	metrics.Handler(reg, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("status %d, type %q", w.Code, w.Header().Get("Content-Type"))
	}
	return w.Body.String()
}
