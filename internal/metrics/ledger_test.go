package metrics_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/metrics"
	"github.com/nsqrelayer/relayer/nsqworker"
	"github.com/nsqrelayer/relayer/relayer"
)

type (
	consumer nsqworker.Stats
	loop     relayer.LoopStats
)

func (c consumer) Stats() nsqworker.Stats { return nsqworker.Stats(c) }
func (l loop) Stats() relayer.LoopStats   { return relayer.LoopStats(l) }

// shelf is a store of which somebody counts how often it is asked.
type shelf struct {
	asked     atomic.Int64
	err, lost error
	all       []intents.Standing
}

func (s *shelf) Standing(context.Context, []string) ([]intents.Standing, error) {
	s.asked.Add(1)
	return s.all, s.err
}
func (s *shelf) Lost(context.Context) error { return s.lost }

const standingText = `
# HELP relayer_database_up 1 when Postgres answered what metrics ask it, at most 15 s ago.
# TYPE relayer_database_up gauge
relayer_database_up 1
# HELP relayer_oldest_pending_age_seconds How long the oldest of these has waited.
# TYPE relayer_oldest_pending_age_seconds gauge
relayer_oldest_pending_age_seconds{route="payouts"} 90
# HELP relayer_pending Intents that wait to be sent, of the 5000 that are due next.
# TYPE relayer_pending gauge
relayer_pending{route="payouts"} 3
# HELP relayer_recovery_needed 1 while the database has forgotten what it had committed: nothing is claimed until a person says relayer recover.
# TYPE relayer_recovery_needed gauge
relayer_recovery_needed 1
# HELP relayer_review Intents that wait for a person; no more than 5000 are counted.
# TYPE relayer_review gauge
relayer_review{route="payouts"} 2
# HELP relayer_review_oldest_age_seconds How long the one longest in review has been there.
# TYPE relayer_review_oldest_age_seconds gauge
relayer_review_oldest_age_seconds{route="payouts"} 3600
`

func TestStandingIsShown(t *testing.T) {
	s := &shelf{lost: &intents.LostError{}, all: []intents.Standing{{Route: "payouts", Waiting: 3, Oldest: 90 * time.Second, Reviews: 2, Review: time.Hour}}}
	reg := registry(t, metrics.Config{Routes: []metrics.Route{evm("payouts")}, Signers: book{}, Ledger: s})
	if err := testutil.GatherAndCompare(reg, strings.NewReader(standingText), "relayer_database_up", "relayer_oldest_pending_age_seconds",
		"relayer_pending", "relayer_recovery_needed", "relayer_review", "relayer_review_oldest_age_seconds"); err != nil {
		t.Error(err)
	}
}

// Case 110: however often it is scraped, the store is asked for what waits once in 15 s, also while it cannot be read; then
// nothing is shown as it was.
func TestStandingIsReadSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{all: []intents.Standing{{Route: "r", Waiting: 1}}}
		reg := registry(t, metrics.Config{Routes: []metrics.Route{evm("r")}, Signers: book{}, Ledger: s})
		scrape(t, reg)
		time.Sleep(15*time.Second - 1)
		scrape(t, reg)
		if got := s.asked.Load(); got != 1 {
			t.Errorf("asked %d times in 15 s, want once", got)
		}
		s.err = intents.ErrUnavailable
		time.Sleep(time.Nanosecond)
		for range 3 {
			text := scrape(t, reg)
			if strings.Contains(text, "relayer_pending") || !strings.Contains(text, "relayer_database_up 0\n") {
				t.Errorf("the store is away:\n%s", text)
			}
		}
		if got := s.asked.Load(); got != 2 {
			t.Errorf("asked %d times, want 2", got)
		}
	})
}

// What routes tell is counted from 0 on; a clock that is behind makes no negative time, and what is unknown is left out.
func TestMeter(t *testing.T) {
	m := metrics.NewMeter()
	r := m.Route("payouts")
	r.Took(t.Context(), relayer.StageSend, 3*time.Millisecond)
	r.Took(t.Context(), relayer.StageQueue, -time.Hour)
	r.Took(t.Context(), "lunch", time.Hour)
	r.Attempted(intents.Unknown)
	r.Attempted(99)
	r.Moved(intents.Settled)
	r.Moved(99)
	r.Buried(intents.DeadInvalid)
	m.Called("rpc.example", "eth_call", "429", time.Second)
	text := scrape(t, registry(t, metrics.Config{Signers: book{}, Meter: m}))
	for _, line := range []string{
		`relayer_stage_duration_seconds_bucket{route="payouts",stage="send",le="0.005"} 1`,
		`relayer_stage_duration_seconds_sum{route="payouts",stage="queue"} 0`,
		`relayer_stage_duration_seconds_count{route="payouts",stage="confirm"} 0`,
		`relayer_stage_duration_seconds_bucket{route="payouts",stage="confirm",le="43200"} 0`,
		`relayer_attempts_total{route="payouts",verdict="unknown"} 1`, `relayer_attempts_total{route="payouts",verdict="declined"} 0`,
		`relayer_intents_total{route="payouts",state="settled"} 1`, `relayer_intents_total{route="payouts",state="needs_review"} 0`,
		`relayer_dead_letters_total{reason="invalid",route="payouts"} 1`,
		`relayer_rpc_requests_total{code="429",host="rpc.example",method="eth_call"} 1`,
		`relayer_rpc_request_duration_seconds_count{host="rpc.example",method="eth_call"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	if strings.Contains(text, "lunch") || strings.Contains(text, "state(") {
		t.Errorf("what is unknown has a label:\n%s", text)
	}
}

// Two keys at one host are one endpoint: its label must not tell the keys.
func TestNodesOfOneHost(t *testing.T) {
	r := evm("payouts")
	r.Nodes = func() []metrics.Node {
		return []metrics.Node{{Host: "a", Out: true, Head: 7}, {Host: "a", Head: 9}, {Host: "b", Out: true}}
	}
	text := scrape(t, registry(t, metrics.Config{Routes: []metrics.Route{r}, Signers: book{}}))
	for _, line := range []string{`relayer_rpc_endpoint_out{host="a",route="payouts"} 0`, `relayer_rpc_endpoint_head{host="a",route="payouts"} 9`,
		`relayer_rpc_endpoint_out{host="b",route="payouts"} 1`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
}
