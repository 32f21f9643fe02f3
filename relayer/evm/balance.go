package evm

import (
	"context"
	"math/big"
	"time"
)

// lowEvery is how often a low balance is told.
const lowEvery = time.Minute

// low warns, now and then, of a balance under Config.LowBalance.
func (s *Sender) low(ctx context.Context, balance *big.Int) {
	if s.cfg.LowBalance == nil || balance.Cmp(s.cfg.LowBalance) >= 0 {
		return
	}
	now, last := time.Now().UnixNano(), s.toldLow.Load()
	if last != 0 && now-last < int64(lowEvery) || !s.toldLow.CompareAndSwap(last, now) {
		return
	}
	s.log.WarnContext(ctx, "signer's balance is low", "signer", s.from, "balance", balance, "low", s.cfg.LowBalance)
}
