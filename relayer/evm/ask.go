package evm

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// ask quotes a payment. A token's balance is asked for before the estimate: a transfer of more than there is reverts too,
// and there may be more tomorrow. One node is asked for all of it. Errors as [Sender.quote].
func (s *Sender) ask(ctx context.Context, acct *account, in intents.Intent, t transfer) (q quote, err error) {
	err = s.somewhere(ctx, func(ctx context.Context) (err error) {
		if err = s.funded(ctx, acct, in); err == nil {
			q, err = s.excusing(ctx, acct, in, t, s.cfg.GasLimit)
		}
		return err
	})
	if err == nil && !s.isToken(in) {
		s.recent.put(acct.scope+in.ID, q, time.Now())
	}
	return q, err
}

// requote quotes an attempt. A first one of the native coin takes what Plan was told a moment ago. A token's asks again:
// the payments before it may have taken the tokens.
func (s *Sender) requote(ctx context.Context, acct *account, in intents.Intent, t transfer, kind intents.Kind, gas uint64) (q quote, err error) {
	if kind == intents.First && !s.isToken(in) {
		if q, ok := s.recent.take(acct.scope+in.ID, time.Now()); ok {
			return q, nil
		}
	}
	err = s.somewhere(ctx, func(ctx context.Context) (err error) {
		q, err = s.excusing(ctx, acct, in, t, gas)
		return err
	})
	return q, err
}

// excusing quotes, and takes a refusal back where the signer lacks the tokens by now: a payment before this one took them.
func (s *Sender) excusing(ctx context.Context, acct *account, in intents.Intent, t transfer, gas uint64) (quote, error) {
	q, err := s.quote(ctx, acct, t, gas)
	if _, refused := errors.AsType[*intents.RefusedError](err); refused {
		err = cmp.Or(s.funded(ctx, acct, in), err)
	}
	return q, err
}

// cost is what is held above the amount: the gas at the cap. It is held in the intent's asset, so a token's is 0: its gas
// is paid in the native coin, from no account.
func (s *Sender) cost(in intents.Intent, gas uint64) intents.Amount {
	if s.isToken(in) {
		return intents.Amount{}
	}
	return intents.AmountOf(times(s.cfg.MaxFeePerGas, gas))
}
