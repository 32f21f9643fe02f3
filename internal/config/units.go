package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nsqrelayer/relayer/relayer"
)

// What is counted of a route of sender evm. The other methods are those of one look at a payment, and of a plan.
const (
	sendMethod  = "eth_sendRawTransaction"
	otherMethod = "default"
)

// of is what a call costs.
func (u Units) of(method string) int {
	if n, ok := u[method]; ok {
		return n
	}
	return u[otherMethod]
}

func (u Units) sum(methods ...string) (sum int) {
	for _, m := range methods {
		sum += u.of(m)
	}
	return sum
}

// look is what the observer asks for one payment at most, fixed what it asks however many there are.
func (u Units) look() (fixed, each int) {
	fixed = u.sum("eth_chainId", "eth_chainId", "eth_blockNumber", "eth_getBlockByNumber", "eth_getTransactionCount")
	each = u.of("eth_getTransactionReceipt") + max(u.of("eth_getTransactionByHash"), u.of("eth_getBlockByNumber"))
	return fixed, each
}

// plan is what planning a payment asks for, of so many signers.
func (u Units) plan(signers int) int {
	return u.sum("eth_getBlockByNumber", "eth_feeHistory", "eth_maxPriorityFeePerGas") + signers*u.sum("eth_chainId", "eth_getBalance", "eth_estimateGas")
}

// metered says whether reads are counted in units.
func (r *Route) metered() bool { return len(r.EVM.Units) > 0 }

// sendCost is how many tokens of the throttle one send takes.
func (r *Route) sendCost() int {
	if r.metered() {
		return r.EVM.Units.of(sendMethod)
	}
	return r.Throttle.Cost
}

// Limits gives the settings as a throttle takes them. Where reads are counted, sends and reads share the burst, so that
// both at once are no more than one: a send must fit, reads get what is left, at most their share, and at least what comes
// in 10 ms, or late timers would cost them their rate.
func (r *Route) Limits() relayer.ThrottleConfig {
	c := r.Throttle.Config()
	if !r.metered() || c.PerSecond == relayer.Unlimited {
		return c
	}
	sends := max(int(float64(c.Burst)*(1-c.ReadShare)), r.sendCost())
	c.Burst, c.ReadBurst = sends, max(c.Burst-sends, int(r.reads()/100), 1)
	return c
}

// reads is how many units a second reads may use.
func (r *Route) reads() float64 { return float64(r.Throttle.PerSecond) * r.Throttle.ReadShare }

// observeMost is how many slots one look may have: where reads are counted, as many as can be paid in a third of the
// time that it has. 0: the engine's default.
func (r *Route) observeMost() int {
	if !r.metered() || r.Throttle.Config().PerSecond == relayer.Unlimited {
		return 0
	}
	fixed, each := r.EVM.Units.look()
	patience := (r.SubmitTimeout + r.StoreTimeout).Seconds() / 3
	most := (r.reads()*patience - float64(fixed)) / float64(max(each, 1))
	return int(min(max(most, 1), relayer.DefaultObserveMost))
}

// units checks compute units against the throttle they are counted by.
func (v *validator) units(at string, r *Route) {
	u := r.EVM.Units
	if u == nil {
		return
	}
	path := at + "compute-units"
	for _, method := range slices.Sorted(maps.Keys(u)) {
		v.check(u[method] > 0, path, fmt.Sprintf("%s = %d", method, u[method]), "at least 1")
	}
	_, others := u[otherMethod]
	v.check(others, path, u, otherMethod+", what methods cost that are not named")
	v.check(v.cfg.from[at+"throttle.cost"] == "", at+"throttle.cost", r.Throttle.Cost, "nothing beside compute-units, which say what a send costs")
	if c := r.Throttle.Config(); c.PerSecond == relayer.Unlimited || c.Validate() != nil {
		return
	}
	v.check(r.sendCost() <= r.Throttle.Burst, path, fmt.Sprintf("%s = %d", sendMethod, r.sendCost()),
		fmt.Sprintf("at most throttle.burst (%d), or it can never pass", r.Throttle.Burst))
	v.check(r.Throttle.ReadShare > 0, at+"throttle.read-share", r.Throttle.ReadShare, "above 0 where compute-units count reads")
	fixed, each := u.look()
	need := float64(max(fixed+each, u.plan(max(1, len(r.EVM.Keystore)+len(r.EVM.SignerAddress))))) / r.PlanTimeout.Seconds()
	v.check(r.Throttle.ReadShare == 0 || r.reads() >= need, at+"throttle.read-share", r.Throttle.ReadShare,
		fmt.Sprintf("enough for one question within plan-timeout: %.3g units a second, not %.3g", need, r.reads()))
}
