package evm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// ask quotes a payment of each account, with one error of each. Payments of the native coin share calls with those of
// others. Errors as [Sender.quote].
func (s *Sender) ask(ctx context.Context, in intents.Intent, t transfer) ([]quote, []error) {
	if s.isToken(in) {
		return s.askTokens(ctx, in, t)
	}
	qs, errs := s.together(ctx, t, s.cfg.GasLimit, s.accounts...)
	for i, a := range s.accounts {
		if errs[i] == nil {
			s.recent.put(a.scope+in.ID, qs[i], time.Now())
		}
	}
	return qs, errs
}

// askTokens asks for the tokens before the estimate: a transfer of more than there is reverts too, and there may be more
// tomorrow. One node is asked for all of one account.
func (s *Sender) askTokens(ctx context.Context, in intents.Intent, t transfer) ([]quote, []error) {
	qs, errs := make([]quote, len(s.accounts)), make([]error, len(s.accounts))
	var wait sync.WaitGroup
	for i, a := range s.accounts {
		wait.Go(func() {
			defer func() {
				if v := recover(); v != nil { // nobody above this goroutine would
					errs[i] = fmt.Errorf("panic: %v", v)
				}
			}()
			errs[i] = s.somewhere(ctx, func(ctx context.Context) (err error) {
				if err = s.funded(ctx, a, in); err == nil {
					qs[i], err = s.excusing(ctx, a, in, t, s.cfg.GasLimit)
				}
				return err
			})
		})
	}
	wait.Wait()
	return qs, errs
}

// together is quote of several accounts, in a call with those of others.
func (s *Sender) together(ctx context.Context, t transfer, gas uint64, accts ...*account) ([]quote, []error) {
	questions, quotes := make([]*question, len(accts)), make([]quote, len(accts))
	for i, a := range accts {
		questions[i] = &question{from: a.from, transfer: t, gas: gas}
	}
	errs := s.plans.all(ctx, questions)
	for i, a := range accts {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("no quote: %w", errs[i])
			continue
		}
		quotes[i], errs[i] = s.noted(ctx, a, questions[i].answer, questions[i].err)
	}
	return quotes, errs
}

// noted keeps the balance that a quote tells.
func (s *Sender) noted(ctx context.Context, a *account, q quote, err error) (quote, error) {
	if err == nil {
		s.holds(ctx, a, q.balance)
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
		qs, errs := s.together(ctx, t, gas, acct)
		return qs[0], errs[0]
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
