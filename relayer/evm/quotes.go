package evm

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nsqrelayer/relayer/intents"
)

// question is one quote that is asked for, and what came of it.
type question struct {
	from common.Address
	transfer
	gas uint64 // above 0: it is taken, not asked for

	answer quote
	err    error
	told   bool // no other node need be asked
	at     int  // where its estimate stands among the calls
}

// quoteAll asks for quotes in one call. What a node cannot tell of some the next one is asked, and of those alone. Each
// question has its answer or its error then; for errors see [Sender.quote].
func (s *Sender) quoteAll(ctx context.Context, qs []*question) {
	err := s.somewhere(ctx, func(ctx context.Context) error { return s.quoteAt(ctx, untold(qs)) })
	limit, limited := errors.AsType[*intents.LimitedError](err)
	for _, q := range untold(qs) {
		q.err = cmp.Or(q.err, err)
		if limited && q.err != err {
			q.err = &intents.LimitedError{After: limit.After, Known: limit.Known, Err: q.err}
		}
	}
}

func untold(qs []*question) []*question {
	return slices.DeleteFunc(slices.Clone(qs), func(q *question) bool { return q.told })
}

// quoteAt asks the node of ctx. Its error is that of the last question of which another node may know better.
func (s *Sender) quoteAt(ctx context.Context, qs []*question) (err error) {
	i := inquire(qs)
	m, fresh := s.prices.get(time.Now())
	if !fresh {
		i.calls = append(i.calls, i.survey.calls(s.cfg.FeePercentile)...)
		defer func() { s.prices.put(m, time.Now()) }()
	}
	if err = s.batchAt(ctx, nodeOf(ctx), i.calls); err != nil {
		for _, q := range qs {
			q.err = err
		}
		return err
	}
	var unpriced error
	if !fresh {
		m, unpriced = s.priced(ctx, i)
	}
	for _, q := range qs {
		q.err = cmp.Or(s.ownError(ctx, i, q), unpriced)
		if q.told = !elsewhere(q.err); !q.told {
			err = q.err
		}
		q.err = refused(q.err)
		q.answer = i.quote(q, m)
	}
	return err
}

// inquiry is the calls that questions come to: each signer's balance once, what each transfer takes, then prices.
type inquiry struct {
	calls    []rpc.BatchElem
	balances map[common.Address]int // where among the calls
	asked    int                    // calls before those of the survey
	survey   survey
}

func inquire(qs []*question) *inquiry {
	i := &inquiry{balances: map[common.Address]int{}}
	for _, q := range qs {
		if _, asked := i.balances[q.from]; !asked {
			i.balances[q.from] = i.add("eth_getBalance", new(hexutil.Big), q.from, "latest")
		}
		if q.gas == 0 {
			q.at = i.add("eth_estimateGas", new(hexutil.Uint64), callArgs{q.from, q.to, (*hexutil.Big)(q.value), q.data})
		}
	}
	i.asked = len(i.calls)
	return i
}

func (i *inquiry) add(method string, result any, args ...any) int {
	i.calls = append(i.calls, rpc.BatchElem{Method: method, Args: args, Result: result})
	return len(i.calls) - 1
}

// quote reads the answers to a question; without error only.
func (i *inquiry) quote(q *question, m market) quote {
	if q.err != nil {
		return quote{}
	}
	balance, gas := i.calls[i.balances[q.from]].Result.(*hexutil.Big), q.gas
	if gas == 0 {
		gas = withMargin(uint64(*i.calls[q.at].Result.(*hexutil.Uint64)))
	}
	return quote{m, gas, balance.ToInt()}
}

// ownError is what went wrong with a question's own calls.
func (s *Sender) ownError(ctx context.Context, i *inquiry, q *question) error {
	if c := i.calls[i.balances[q.from]]; c.Error != nil {
		return s.elemError(ctx, c)
	}
	if q.gas == 0 && i.calls[q.at].Error != nil {
		return s.elemError(ctx, i.calls[q.at])
	}
	return nil
}

// priced reads the answers to the survey.
func (s *Sender) priced(ctx context.Context, i *inquiry) (market, error) {
	calls := i.calls[i.asked:]
	if calls[0].Error != nil {
		return market{}, s.elemError(ctx, calls[0])
	}
	m, err := i.survey.market(calls, s.cfg.Tip)
	if err != nil {
		return market{}, s.callError(ctx, calls[0].Method, err, true)
	}
	return m, nil
}
