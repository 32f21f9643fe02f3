package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nsqrelayer/relayer/intents"
)

// quote is what the node says before a transfer.
type quote struct {
	market
	gas     uint64
	balance *big.Int // the signer's
}

// callArgs is the transfer as eth_estimateGas wants it.
type callArgs struct {
	From  common.Address `json:"from"`
	To    common.Address `json:"to"`
	Value *hexutil.Big   `json:"value"`
	Data  hexutil.Bytes  `json:"data,omitempty"`
}

// quote asks in one call, for prices too where none are fresh. A gas above 0 is taken, not asked for: after bytes were
// exposed an estimate proves nothing, since a sibling that landed makes it fail. Errors: *intents.RefusedError where the
// recipient reverts, those of batch, others.
func (s *Sender) quote(ctx context.Context, acct *account, t transfer, gas uint64) (quote, error) {
	q := &question{from: acct.from, transfer: t, gas: gas}
	s.quoteAll(ctx, []*question{q})
	return s.noted(ctx, acct, q.answer, q.err)
}

// refused turns a revert of the estimate into a refusal. Text before code: nodes agree on neither.
func refused(err error) error {
	if e, ok := errors.AsType[*callError](err); ok && e.method == "eth_estimateGas" && strings.Contains(strings.ToLower(e.text), "revert") {
		return &intents.RefusedError{Why: "the recipient does not take it: " + e.text}
	}
	return err
}

// withMargin adds a fifth to the estimate for a recipient with code, whose need may grow until inclusion.
func withMargin(estimate uint64) uint64 {
	if estimate <= params.TxGas {
		return estimate
	}
	return estimate + estimate/5
}

// fees are per gas, in wei.
type fees struct{ cap, tip *big.Int }

// fees gives twice the base fee and the tip, at most limit. A limit under the base fee means not now.
func (s *Sender) fees(q quote, limit *big.Int) (fees, error) {
	if limit.Cmp(q.base) < 0 {
		return fees{}, fmt.Errorf("base fee of %v wei is above the cap of %v", q.base, limit)
	}
	want := new(big.Int).Lsh(q.base, 1)
	want.Add(want, q.tip)
	f := fees{cap: least(want, limit)}
	f.tip = least(q.tip, f.cap)
	return f, nil
}

// above raises fees to what replaces every prior attempt in a pool. A limit under that means: not now.
func (f fees) above(prior []*types.Transaction, percent uint64, limit *big.Int) (fees, error) {
	for _, tx := range prior {
		f.cap, f.tip = most(f.cap, bumped(tx.GasFeeCap(), percent)), most(f.tip, bumped(tx.GasTipCap(), percent))
	}
	if f.cap.Cmp(limit) > 0 {
		return f, fmt.Errorf("replacing takes a fee of %v wei, above the cap of %v", f.cap, limit)
	}
	return fees{f.cap, least(f.tip, f.cap)}, nil
}

// bumped is a fee by so many percent higher, rounded up, and one: pools differ in how they round.
func bumped(fee *big.Int, percent uint64) *big.Int {
	up := new(big.Int).Mul(fee, new(big.Int).SetUint64(100+percent))
	up.Add(up, big.NewInt(99)).Div(up, big.NewInt(100))
	return up.Add(up, big.NewInt(1))
}

func times(fee *big.Int, gas uint64) *big.Int {
	return new(big.Int).Mul(fee, new(big.Int).SetUint64(gas))
}

func least(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func most(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}
