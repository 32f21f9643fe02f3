package evm

import (
	"context"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

type spend func(ctx context.Context, units int) error

func (f spend) Spend(ctx context.Context, units int) error { return f(ctx, units) }

// The call that is to find out how a node is does not keep others from it while it waits for units.
func TestChargeLendsTheProbe(t *testing.T) {
	t.Parallel()
	p := nodes(1)
	n := p.nodes[0]
	n.limits = 1 // it asked for fewer calls, and its time is over
	calls := []rpc.BatchElem{{Method: "eth_chainId"}, {Method: "eth_call"}}
	var units int
	s := &Sender{pool: p, cfg: Config{Units: Units{"eth_chainId": 1, UnitsDefault: 20}, Meter: spend(func(_ context.Context, sum int) error {
		units = sum
		if p.take(time.Now(), nil) == nil {
			t.Error("nobody may call while one waits")
		}
		p.release(n)
		return nil
	})}}
	if p.take(time.Now(), nil) != n || p.take(time.Now(), nil) != nil {
		t.Fatal("the node is not being probed")
	}
	if _, err := s.charge(t.Context(), n, calls); err != nil || units != 21 {
		t.Errorf("charged %d units (%v), want 21", units, err)
	}
	if p.take(time.Now(), nil) != nil {
		t.Error("two find out at once after the wait")
	}
}
