package evm

import (
	"context"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nsqrelayer/relayer/intents"
)

// Meter is charged for what reads cost, before they leave. A send is not charged here: it has a permit of that weight.
type Meter interface {
	// Spend waits until units are there, which are above 0. Errors: ctx ended first, or there never are any; then nothing
	// leaves.
	Spend(ctx context.Context, units int) error
}

// Units is what a provider counts for each method. It needs the key [UnitsDefault], for all methods that are not named.
type Units map[string]int

// UnitsDefault is the key of Units for methods that are not named.
const UnitsDefault = "default"

// Of is what a call costs; 0 where nothing is counted.
func (u Units) Of(method string) int {
	if n, ok := u[method]; ok {
		return n
	}
	return u[UnitsDefault]
}

func (u Units) of(calls []rpc.BatchElem) (sum int) {
	for _, c := range calls {
		sum += u.Of(c.Method)
	}
	return sum
}

// validateUnits wants whole costs, and somebody to charge them to.
func (c Config) validateUnits() error {
	if c.Units == nil {
		return nil
	}
	for method, n := range c.Units {
		if n < 1 {
			return &intents.InvalidError{Field: "compute-units", Value: fmt.Sprintf("%s = %d", method, n), Want: "at least 1"}
		}
	}
	if c.Units[UnitsDefault] == 0 || c.Meter == nil {
		return &intents.InvalidError{Field: "compute-units", Want: "the units of " + UnitsDefault + ", and a meter"}
	}
	return nil
}

// charge pays for a batch and says how long that took. Meanwhile the call is none that finds out how the node is: others
// may do so.
func (s *Sender) charge(ctx context.Context, n *node, calls []rpc.BatchElem) (waited time.Duration, err error) {
	if s.cfg.Units == nil {
		return 0, nil
	}
	start := time.Now()
	probing := s.pool.lend(n)
	if err := s.cfg.Meter.Spend(ctx, s.cfg.Units.of(calls)); err != nil {
		return 0, fmt.Errorf("no compute units for %s: %w", named(calls), err)
	}
	s.pool.back(n, probing)
	return time.Since(start), nil
}

// lend takes the mark off a node that one call is finding out how it is; back puts it on again.
func (p *pool) lend(n *node) (probing bool) {
	p.note(n, func(h *health) { probing, h.probing = h.probing, false })
	return probing
}

func (p *pool) back(n *node, probing bool) {
	if probing {
		p.note(n, func(h *health) { h.probing = h.delay > 0 || h.limits > 0 })
	}
}

type halfKey struct{}

// withHalf has each call under ctx take half of the time at most. It is for calls that wait for units: that must not be
// taken from the node's time.
func withHalf(ctx context.Context) context.Context { return context.WithValue(ctx, halfKey{}, true) }

// most is how long a call under ctx may take.
func (s *Sender) most(ctx context.Context) time.Duration {
	if half, _ := ctx.Value(halfKey{}).(bool); half {
		return share(ctx, s.cfg.Timeout)
	}
	return s.cfg.Timeout
}
