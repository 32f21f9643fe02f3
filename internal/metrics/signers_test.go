package metrics_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/metrics"
)

// slow is a store that counts who asks, and answers late, wrong, or never.
type slow struct {
	asked atomic.Int64
	after time.Duration // zero: at once
	err   error
}

func (s *slow) Signers(ctx context.Context) ([]intents.Signer, error) {
	n := s.asked.Add(1)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(s.after):
	}
	return []intents.Signer{{Scope: ours, Next: n}}, s.err
}

func slowRegistry(t *testing.T, s metrics.Signers, routes ...metrics.Route) *prometheus.Registry {
	t.Helper()
	return registry(t, metrics.Config{Routes: routes, Signers: s, Fresh: 5 * time.Second, Timeout: 2 * time.Second})
}

// TestScrapesShareARead: however often and from however many it is scraped, the store is asked once in five seconds.
func TestScrapesShareARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{after: time.Second}
		reg := slowRegistry(t, s, evm("r"))
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { scrape(t, reg) })
		}
		all.Wait()
		time.Sleep(5*time.Second - 1)
		if text := scrape(t, reg); s.asked.Load() != 1 || !strings.Contains(text, `source="db"} 1`) {
			t.Errorf("asked %d times within five seconds, want once:\n%s", s.asked.Load(), text)
		}
		time.Sleep(time.Nanosecond)
		if text := scrape(t, reg); s.asked.Load() != 2 || !strings.Contains(text, `source="db"} 2`) {
			t.Errorf("asked %d times after five seconds, want twice:\n%s", s.asked.Load(), text)
		}
	})
}

// TestStoreIsAway: signers are not shown as they were, everything else is shown, and scrapes do not fall upon a store
// that is down. Once it is back, they are shown again.
func TestStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		reg := slowRegistry(t, s, evm("r"))
		scrape(t, reg)
		s.err = intents.ErrUnavailable
		time.Sleep(5 * time.Second)
		for range 3 {
			text := scrape(t, reg)
			if strings.Contains(text, "relayer_signer_") {
				t.Errorf("what was is shown as what is:\n%s", text)
			}
			if !strings.Contains(text, "relayer_throttle_waiting") {
				t.Errorf("the rest is missing:\n%s", text)
			}
		}
		if got := s.asked.Load(); got != 2 {
			t.Errorf("asked %d times, want 2: once before, once since", got)
		}
		if text := scrape(t, reg); !strings.Contains(text, `promhttp_metric_handler_errors_total{cause="gathering"} 3`) {
			t.Errorf("failures are not counted:\n%s", text)
		}
		s.err = nil
		time.Sleep(5 * time.Second)
		if text := scrape(t, reg); !strings.Contains(text, "relayer_signer_nonce") {
			t.Errorf("it is back, and nothing is shown:\n%s", text)
		}
	})
}

// TestStoreHangs: a scrape answers before Prometheus gives up.
func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := slowRegistry(t, &slow{after: time.Hour}, evm("r"))
		began := time.Now()
		if text := scrape(t, reg); strings.Contains(text, "relayer_signer_") || !strings.Contains(text, "relayer_throttle_waiting") {
			t.Errorf("got\n%s", text)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("took %s, want the timeout", took)
		}
	})
}

// TestWithoutSignersNobodyAsks: a process whose routes number nothing leaves the store alone.
func TestWithoutSignersNobodyAsks(t *testing.T) {
	s := &slow{}
	r := evm("webhooks")
	r.Scopes = nil
	if text := scrape(t, slowRegistry(t, s, r)); strings.Contains(text, "relayer_signer_") || s.asked.Load() != 0 {
		t.Errorf("asked %d times:\n%s", s.asked.Load(), text)
	}
}
