package evm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// ask quotes a payment. A token's balance is asked for before the estimate: a transfer of more than there is reverts too,
// and there may be more tomorrow. One node is asked for all of it. Payments of the native coin share calls. Errors as
// [Sender.quote].
func (s *Sender) ask(ctx context.Context, in intents.Intent, t transfer) (q quote, err error) {
	if !s.isToken(in) {
		if q, err = s.together(ctx, t, s.cfg.GasLimit); err == nil {
			s.recent.put(in.ID, q, time.Now())
		}
		return q, err
	}
	err = s.somewhere(ctx, func(ctx context.Context) (err error) {
		if err = s.funded(ctx, in); err == nil {
			q, err = s.excusing(ctx, in, t, s.cfg.GasLimit)
		}
		return err
	})
	return q, err
}

// together is quote, but in a call with those of others.
func (s *Sender) together(ctx context.Context, t transfer, gas uint64) (quote, error) {
	q, err := s.gather.quote(ctx, &question{from: s.from, transfer: t, gas: gas})
	if err != nil && err == ctx.Err() {
		err = fmt.Errorf("no quote: %w", err)
	}
	return q, err
}

// requote quotes an attempt. A first one of the native coin takes what Plan was told a moment ago. A token's asks again:
// the payments before it may have taken the tokens.
func (s *Sender) requote(ctx context.Context, in intents.Intent, t transfer, kind intents.Kind, gas uint64) (q quote, err error) {
	if kind == intents.First && !s.isToken(in) {
		if q, ok := s.recent.take(in.ID, time.Now()); ok {
			return q, nil
		}
		return s.together(ctx, t, gas)
	}
	err = s.somewhere(ctx, func(ctx context.Context) (err error) {
		q, err = s.excusing(ctx, in, t, gas)
		return err
	})
	return q, err
}

// excusing quotes, and takes a refusal back where the signer lacks the tokens by now: a payment before this one took them.
func (s *Sender) excusing(ctx context.Context, in intents.Intent, t transfer, gas uint64) (quote, error) {
	q, err := s.quote(ctx, t, gas)
	if _, refused := errors.AsType[*intents.RefusedError](err); refused {
		err = cmp.Or(s.funded(ctx, in), err)
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
