package evm

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// ask quotes a payment. A token's balance is asked for before the estimate: a transfer of more than there is reverts too,
// and there may be more tomorrow. Errors as [Sender.quote].
func (s *Sender) ask(ctx context.Context, in intents.Intent, t transfer) (quote, error) {
	if err := s.funded(ctx, in); err != nil {
		return quote{}, err
	}
	q, err := s.quote(ctx, t, s.cfg.GasLimit)
	if err == nil && !s.isToken(in) {
		s.recent.put(in.ID, q, time.Now())
	}
	return q, s.excused(ctx, in, err)
}

// requote quotes an attempt. A first one of the native coin takes what Plan was told a moment ago. A token's asks again:
// the payments before it may have taken the tokens.
func (s *Sender) requote(ctx context.Context, in intents.Intent, t transfer, kind intents.Kind, gas uint64) (quote, error) {
	if kind == intents.First && !s.isToken(in) {
		if q, ok := s.recent.take(in.ID, time.Now()); ok {
			return q, nil
		}
	}
	q, err := s.quote(ctx, t, gas)
	return q, s.excused(ctx, in, err)
}

// excused takes a refusal back where the signer lacks the tokens by now: a payment before this one took them.
func (s *Sender) excused(ctx context.Context, in intents.Intent, err error) error {
	if _, refused := errors.AsType[*intents.RefusedError](err); refused {
		return cmp.Or(s.funded(ctx, in), err)
	}
	return err
}

// cost is what is held above the amount: the gas at the cap. It is held in the intent's asset, so a token's is 0: its gas
// is paid in the native coin, from no account.
func (s *Sender) cost(in intents.Intent, gas uint64) intents.Amount {
	if s.isToken(in) {
		return intents.Amount{}
	}
	return intents.AmountOf(times(s.cfg.MaxFeePerGas, gas))
}
