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
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/metrics"
	"github.com/nsqrelayer/relayer/nsqworker"
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
	payouts.Consumer = consumer{Received: 9, Finished: 8, Requeued: 7, Refused: 6, Touched: 5, Left: 4, Lapsed: 3, Redelivered: 2, Panics: 1,
		InFlight: 3, MaxInFlight: 8, Paused: "away", Draining: true, NSQDs: []nsqworker.NSQDStatus{{Connected: true}, {}}}
	payouts.Sweeper, payouts.Observer = loop{Leads: true, Done: 12, At: time.Unix(1700000000, 5e8)}, loop{Done: 13}
	payouts.Nodes = func() []metrics.Node { return []metrics.Node{{Host: "rpc.example:8545", Out: true, Head: 77}} }
	webhooks.Scopes = nil
	m := metrics.NewMeter()
	m.Route("payouts").Buried("invalid")
	m.Called("rpc.example:8545", "eth_call", "200", time.Second)
	return metrics.Config{
		Ledger: &shelf{all: []intents.Standing{{Route: "payouts"}}}, Meter: m,
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
# HELP relayer_draining 1 while the process ends what it has begun and takes nothing more.
# TYPE relayer_draining gauge
relayer_draining{route="payouts"} 1
# HELP relayer_leads 1 where this process works the loop for all.
# TYPE relayer_leads gauge
relayer_leads{loop="observer",route="payouts"} 0
relayer_leads{loop="sweeper",route="payouts"} 1
# HELP relayer_loop_success_timestamp_seconds When a round of the loop last ended without an error.
# TYPE relayer_loop_success_timestamp_seconds gauge
relayer_loop_success_timestamp_seconds{loop="sweeper",route="payouts"} 1.7000000005e+09
# HELP relayer_nsq_connections nsqds that messages come from now.
# TYPE relayer_nsq_connections gauge
relayer_nsq_connections{route="payouts"} 1
# HELP relayer_nsq_in_flight Messages that nsqd has in flight with this process.
# TYPE relayer_nsq_in_flight gauge
relayer_nsq_in_flight{route="payouts"} 3
# HELP relayer_nsq_known nsqds that are known for the topic, connected or not.
# TYPE relayer_nsq_known gauge
relayer_nsq_known{route="payouts"} 2
# HELP relayer_nsq_max_in_flight Messages that nsqd may have in flight with this process.
# TYPE relayer_nsq_max_in_flight gauge
relayer_nsq_max_in_flight{route="payouts"} 8
# HELP relayer_nsq_messages_total Messages by what was done: received, finished, requeued, refused (given back unseen), touched, left (not answered), lapsed (lease lost), redelivered, panics.
# TYPE relayer_nsq_messages_total counter
relayer_nsq_messages_total{action="finished",route="payouts"} 8
relayer_nsq_messages_total{action="lapsed",route="payouts"} 3
relayer_nsq_messages_total{action="left",route="payouts"} 4
relayer_nsq_messages_total{action="panics",route="payouts"} 1
relayer_nsq_messages_total{action="received",route="payouts"} 9
relayer_nsq_messages_total{action="redelivered",route="payouts"} 2
relayer_nsq_messages_total{action="refused",route="payouts"} 6
relayer_nsq_messages_total{action="requeued",route="payouts"} 7
relayer_nsq_messages_total{action="touched",route="payouts"} 5
# HELP relayer_observed_total Slots that the observer of this process looked at.
# TYPE relayer_observed_total counter
relayer_observed_total{route="payouts"} 13
# HELP relayer_paused 1 while this process takes no messages because Postgres cannot be reached.
# TYPE relayer_paused gauge
relayer_paused{route="payouts"} 1
# HELP relayer_rpc_endpoint_head The highest block that an endpoint showed.
# TYPE relayer_rpc_endpoint_head gauge
relayer_rpc_endpoint_head{host="rpc.example:8545",route="payouts"} 77
# HELP relayer_rpc_endpoint_out 1 while an endpoint is not used: it failed, asked for fewer calls, or is of another chain.
# TYPE relayer_rpc_endpoint_out gauge
relayer_rpc_endpoint_out{host="rpc.example:8545",route="payouts"} 1
# HELP relayer_swept_total Messages that the sweeper of this process published.
# TYPE relayer_swept_total counter
relayer_swept_total{route="payouts"} 12
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
	if err := testutil.GatherAndCompare(reg, strings.NewReader(fullText), namesIn(fullText)...); err != nil {
		t.Error(err)
	}
}

// namesIn lists the metrics that a text shows.
func namesIn(text string) (all []string) {
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			all = append(all, strings.Fields(name)[0])
		}
	}
	return all
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
