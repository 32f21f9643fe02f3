package evm

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"pgregory.net/rapid"
)

// TestFeesProperty: no fee is above the cap, no tip above its fee, and each bump is what a pool asks for above every
// attempt before it, or there is none.
func TestFeesProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		wei := func(name string) *big.Int {
			return new(big.Int).SetUint64(rapid.Uint64Range(0, 1<<rapid.IntRange(0, 50).Draw(t, "bits")).Draw(t, name))
		}
		limit, percent := wei("limit"), rapid.Uint64Range(10, 1000).Draw(t, "percent")
		var prior []*types.Transaction
		for range rapid.IntRange(1, 12).Draw(t, "attempts") {
			q := quote{market: market{base: wei("base"), tip: wei("tip")}}
			f, err := new(Sender).fees(q, limit)
			if (err != nil) != (q.base.Cmp(limit) > 0) {
				t.Fatalf("base %v, limit %v: %v", q.base, limit, err)
			}
			if err == nil {
				f, err = f.above(prior, percent, limit)
			}
			if err != nil {
				continue
			}
			if f.cap.Cmp(limit) > 0 || f.tip.Cmp(f.cap) > 0 || f.cap.Cmp(q.base) < 0 {
				t.Fatalf("fee %v, tip %v with base %v and limit %v", f.cap, f.tip, q.base, limit)
			}
			for _, tx := range prior {
				if !replaces(tx.GasFeeCap(), f.cap, percent) || !replaces(tx.GasTipCap(), f.tip, percent) {
					t.Fatalf("%v/%v after %v/%v at %d%%", f.cap, f.tip, tx.GasFeeCap(), tx.GasTipCap(), percent)
				}
			}
			prior = append(prior, types.NewTx(&types.DynamicFeeTx{GasFeeCap: f.cap, GasTipCap: f.tip}))
		}
	})
}

// replaces says whether a pool takes fee for old, the strictest way: percent more, in exact numbers, and above that.
func replaces(old, fee *big.Int, percent uint64) bool {
	need := new(big.Int).Mul(old, new(big.Int).SetUint64(100+percent))
	return new(big.Int).Mul(fee, big.NewInt(100)).Cmp(need) > 0
}
