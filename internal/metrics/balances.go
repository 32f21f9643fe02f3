package metrics

import (
	"maps"
	"math/big"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// balances shows what senders last saw of their signers' coin.
type balances struct {
	purses  []Purse
	balance *prometheus.Desc
}

func newBalances(all []Route) *balances {
	c := &balances{balance: signerDesc("relayer_signer_balance_ether",
		"The chain's coin that the signer held when a sender of this process last looked, in units of 1e18 wei.")}
	for _, r := range all {
		if r.Purse != nil {
			c.purses = append(c.purses, r.Purse)
		}
	}
	return c
}

// Describe lists what Collect shows.
func (c *balances) Describe(out chan<- *prometheus.Desc) { out <- c.balance }

// Collect shows each scope once, also where routes share it.
func (c *balances) Collect(out chan<- prometheus.Metric) {
	seen := map[string]*big.Int{}
	for _, p := range c.purses {
		maps.Copy(seen, p.Balances())
	}
	for scope, wei := range seen {
		if wei == nil {
			continue
		}
		chain, signer := labels(scope)
		gauge(out, c.balance, ether(wei), chain, signer)
	}
}

// ether is an amount of wei, to the nearest that a float64 can be.
func ether(wei *big.Int) float64 {
	f, _ := new(big.Float).Quo(new(big.Float).SetInt(wei), big.NewFloat(1e18)).Float64()
	return f
}

// labels takes a scope apart: "evm:1:0xabc" is signer 0xabc of chain 1. A scope of another form is a signer of no chain.
func labels(scope string) (chain, signer string) {
	parts := strings.SplitN(scope, ":", 3)
	if len(parts) < 3 {
		return "", scope
	}
	return parts[1], parts[2]
}
