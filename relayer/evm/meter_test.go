package evm_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/relayer/evm"
)

// meter is charged, and does something first.
type meter struct {
	mu      sync.Mutex
	charged int
	first   func(ctx context.Context) error
}

func (m *meter) Spend(ctx context.Context, units int) error {
	m.mu.Lock()
	first := m.first
	m.mu.Unlock()
	if first != nil {
		if err := first(ctx); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.charged += units
	return nil
}

func (m *meter) does(first func(ctx context.Context) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.first = first
}

func (m *meter) sum() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.charged
}

var costs = evm.Units{"eth_sendRawTransaction": 40, "eth_getTransactionReceipt": 15, "eth_estimateGas": 87, "eth_chainId": 1, evm.UnitsDefault: 20}

// counted is a config whose reads are charged to m.
func counted(t *testing.T, url string, m evm.Meter) evm.Config {
	cfg := config(t, url)
	cfg.Units, cfg.Meter = costs, m
	return cfg
}

// Every call but a send is charged for before it leaves, and nothing else is.
func TestMeterIsChargedForWhatLeaves(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	front, m := newFront(t, c.URL), new(meter)
	var seen, sends int
	front.says(func(c call) string {
		if c.Method == "eth_sendRawTransaction" {
			sends++
			return ""
		}
		if seen += costs.Of(c.Method); seen > m.sum() {
			t.Errorf("%s came before it was paid for", c.Method)
		}
		return ""
	})
	s := open(t, counted(t, front.URL, m))
	if _, err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	in, a := prepared(t, s, 0)
	if p, err := s.Plan(t.Context(), in); err != nil || p.Weight != 40 {
		t.Errorf("a send weighs %d (%v), want 40", p.Weight, err)
	}
	if r := s.Submit(t.Context(), a); r.Verdict != accepted {
		t.Fatalf("Submit = %v: %s", r.Verdict, r.Evidence)
	}
	observe(t, s, watch(in, a))
	c.Mine()
	c.Mine()
	observe(t, s, watch(in, a))
	if _, err := s.Numbers(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	front.says(nil)
	if charged := m.sum(); charged != seen || seen < 500 || sends != 1 {
		t.Errorf("%d units charged for %d seen and %d sends", charged, seen, sends)
	}
}

// A route without units charges nothing, and its sends weigh what the route says.
func TestMeterIsNotNeeded(t *testing.T) {
	t.Parallel()
	m := new(meter)
	cfg := config(t, newStand(t, quiet()).URL)
	cfg.Meter = m
	if p, err := open(t, cfg).Plan(t.Context(), payment(0)); err != nil || p.Weight != 0 || m.sum() != 0 {
		t.Errorf("weight %d and %d units charged (%v), want none", p.Weight, m.sum(), err)
	}
}

// Who waits for units and gives up has called nobody, and who gets them too late has left the node no time: neither is
// the node's fault, whether the caller left or its time ran out.
func TestMeterWaitIsNotTheNodesFault(t *testing.T) {
	t.Parallel()
	gone := errors.New("the line is long")
	for name, wait := range map[string]func(ctx context.Context) error{
		"gives up": func(ctx context.Context) error { <-ctx.Done(); return gone },
		"too late": func(ctx context.Context) error { <-ctx.Done(); return nil },
	} {
		node, m := newStand(t, quiet()), new(meter)
		s := open(t, counted(t, node.URL, m))
		m.does(wait)
		for what, ask := range map[string]func(context.Context) error{
			"numbers": func(ctx context.Context) error { _, err := s.Numbers(ctx); return err },
			"plan":    func(ctx context.Context) error { _, err := s.Plan(ctx, payment(0)); return err },
		} {
			for range 5 {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				err := ask(ctx)
				cancel()
				told := what == "plan" || errors.Is(err, gone) // a plan is in a call with others: its own end may come first
				if err == nil || name == "gives up" && !told || isLimited(err) {
					t.Errorf("%s: %s = %v", name, what, err)
				}
			}
		}
		if n := node.http(); n != 0 {
			t.Errorf("%s: %d calls left", name, n)
		}
		m.does(nil)
		if _, err := s.Plan(t.Context(), payment(0)); err != nil {
			t.Errorf("%s: then Plan = %v, want nothing held against the node", name, err)
		}
	}
}

// A node that does not answer within the time that it had is at fault, units or not; and the wait for units does not come
// out of that time.
func TestMeterLeavesTheNodeItsTime(t *testing.T) {
	t.Parallel()
	hangs, well, m := newStand(t, quiet()), newStand(t, quiet()), new(meter)
	hangs.wait = make(chan struct{})
	t.Cleanup(func() { close(hangs.wait) })
	cfg := counted(t, "", m)
	cfg.Endpoints = []evm.Endpoint{{URL: hangs.URL}, {URL: well.URL}}
	s := open(t, cfg)
	plan := func(n int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		end, _ := ctx.Deadline()
		m.does(func(ctx context.Context) error {
			if d, ok := ctx.Deadline(); !ok || !d.Equal(end) {
				t.Errorf("the wait for units ends at %v, want the caller's %v", d, end)
			}
			return nil
		})
		_, err := s.Plan(ctx, payment(n))
		return err
	}
	for n := range 8 {
		if err := plan(n); err != nil {
			t.Errorf("Plan = %v", err)
		}
	}
	if n := hangs.http(); n < 3 || n > 4 {
		t.Errorf("%d calls to the node that hangs, want 3 until it is out", n)
	}
}
