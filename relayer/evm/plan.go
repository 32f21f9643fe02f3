package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/nsqrelayer/relayer/intents"
)

// Plan checks the intent, and for each signer estimates its gas and prices it at the cap. The claim picks one of those that
// can pay. It returns a *intents.RefusedError for an asset, destination, amount or data that no transaction of the route
// can carry, and where the token or the recipient reverts for all of them. A node of another chain, a base fee above the
// cap and no signer with the funds or tokens mean: not now.
func (s *Sender) Plan(ctx context.Context, in intents.Intent) (intents.Plan, error) {
	p, err := s.payment(in)
	if err != nil {
		return intents.Plan{}, err
	}
	offers := s.offers(ctx, in, p)
	plan := intents.Plan{Slot: intents.Counter, Weight: s.cfg.Weight, Again: intents.Always, Seen: true}
	for _, o := range offers {
		switch {
		case o.err != nil:
			continue
		case plan.Scope == "":
			plan.Scope = o.scope
		default:
			plan.Others = append(plan.Others, o.scope)
		}
		if plan.Cost.Cmp(o.cost) < 0 { // whoever it will be, the hold covers it
			plan.Cost = o.cost
		}
	}
	if plan.Scope == "" {
		return intents.Plan{}, refusal(offers)
	}
	return plan, nil
}

// offer is what a payment would take of one signer, or why that one cannot make it.
type offer struct {
	scope string
	cost  intents.Amount
	err   error
}

// offers prices a payment for each signer.
func (s *Sender) offers(ctx context.Context, in intents.Intent, t transfer) []offer {
	offers := make([]offer, len(s.accounts))
	quotes, errs := s.ask(ctx, in, t)
	for i, a := range s.accounts {
		if offers[i].err = errs[i]; errs[i] == nil {
			offers[i] = s.offer(a, in, t, quotes[i])
		}
	}
	return offers
}

func (s *Sender) offer(a *account, in intents.Intent, t transfer, q quote) offer {
	f, err := s.fees(q, s.cfg.MaxFeePerGas)
	if err != nil {
		return offer{err: err}
	}
	if need := new(big.Int).Add(t.value, times(f.cap, q.gas)); q.balance.Cmp(need) < 0 {
		return offer{err: fmt.Errorf("signer %s has %v wei and needs %v", a.from, q.balance, need)}
	}
	return offer{scope: a.scope, cost: s.cost(in, q.gas)}
}

// refusal is why no signer can pay: a *intents.RefusedError only where none of them ever could.
func refusal(offers []offer) error {
	var first error
	for _, o := range offers {
		_, refused := errors.AsType[*intents.RefusedError](o.err)
		if !refused {
			return o.err
		}
		first = o.err
	}
	return first
}
