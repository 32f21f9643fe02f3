package evm_test

import (
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/evm"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// bill is what a provider counts, call by call.
type bill struct {
	mu    sync.Mutex
	calls []item
}

type item struct {
	at     time.Time
	method string
	units  int
}

func (b *bill) add(method string, units int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, item{time.Now(), method, units})
}

// busiest is the most units of any second.
func (b *bill) busiest() (most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, first := range b.calls {
		units := 0
		for _, c := range b.calls[i:] {
			if c.at.Sub(first.at) < time.Second {
				units += c.units
			}
		}
		most = max(most, units)
	}
	return most
}

// before counts the calls of a method that came before the last of another.
func (b *bill) before(method, last string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := 0
	for _, c := range b.calls {
		switch c.method {
		case method:
			seen++
		case last:
			n = seen
		}
	}
	return n
}

// newCase60 is a route of 200 units a second with a burst of 300, of which reads have two fifths and 50.
func newCase60(t *testing.T, url string, units evm.Units) *route {
	throttle := relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: 200, Burst: 250, ReadBurst: 50, ReadShare: 0.4, InFlight: 16})
	cfg := config(t, url)
	cfg.Units, cfg.Meter = units, throttle
	metered := func(c *relayer.Config) {
		c.Metered, c.Weight, c.ObserveMost = true, units.Of("eth_sendRawTransaction"), 4
	}
	return newThrottled(t, memstore.New(memstore.Config{}), throttle, cfg, metered)
}

// TestCase60: a provider counts units; sends of 250 and polled receipts of 15 go on side by side, and in no second does
// it count more than the rate and one burst.
func TestCase60(t *testing.T) {
	t.Parallel()
	units := evm.Units{"eth_sendRawTransaction": 250, evm.UnitsDefault: 15}
	c := startChain(t, nil)
	front := newFront(t, c.URL)
	bill := new(bill)
	front.says(func(c call) string { bill.add(c.Method, units.Of(c.Method)); return "" })
	r := newCase60(t, front.URL, units)
	const payments = 4
	var wait sync.WaitGroup
	r.pay(0, 1)
	for n := 1; n < payments; n++ {
		id := r.create(n)
		wait.Go(func() { r.deliver(id) })
	}
	r.until("all are sent while receipts are polled", nothing, r.all(payments, intents.Confirming))
	wait.Wait()
	polled := bill.before("eth_getTransactionReceipt", "eth_sendRawTransaction")
	c.Mine()
	c.Mine()
	r.until("all are settled", nothing, r.all(payments, intents.Settled))
	r.once(c, payments)
	if polled == 0 {
		t.Errorf("%d receipts polled before the last send, want some", polled)
	}
	t.Logf("%d receipts polled before the last send, at most %d units in one second", polled, bill.busiest())
	if most := bill.busiest(); most > 200+300 {
		t.Errorf("%d units in one second, want 500 at most", most)
	}
}
