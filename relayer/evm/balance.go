package evm

import (
	"context"
	"math/big"
	"time"
)

// lowEvery is how often a low balance is told.
const lowEvery = time.Minute

// holds notes the balance of a signer, and warns, now and then, of one under Config.LowBalance.
func (s *Sender) holds(ctx context.Context, a *account, balance *big.Int) {
	a.has.Store(balance)
	if s.cfg.LowBalance == nil || balance.Cmp(s.cfg.LowBalance) >= 0 {
		return
	}
	now, last := time.Now().UnixNano(), a.told.Load()
	if last != 0 && now-last < int64(lowEvery) || !a.told.CompareAndSwap(last, now) {
		return
	}
	s.log.WarnContext(ctx, "signer's balance is low", "signer", a.from, "balance", balance, "low", s.cfg.LowBalance)
}

// Balances are those of the signers, in wei by scope, as a node last told them. One that was never told is missing.
func (s *Sender) Balances() map[string]*big.Int {
	all := map[string]*big.Int{}
	for _, a := range s.accounts {
		if b := a.has.Load(); b != nil {
			all[a.scope] = new(big.Int).Set(b)
		}
	}
	return all
}
