package evm

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nsqrelayer/relayer/intents"
)

// Prepare prices and signs a transaction with the slot's number as nonce. First gives what is stored already if something
// is: the first bytes are the only ones. Bump repeats the payment; Cancel and Fill send nothing to ourselves. Each of them
// pays a fee that replaces every prior attempt.
//
// The fee never goes above what the intent's hold covers. Errors as Plan.
func (s *Sender) Prepare(ctx context.Context, in intents.Intent, slot intents.Slot, kind intents.Kind, prior []intents.Attempt) (intents.Attempt, error) {
	acct, err := s.owner(slot)
	if err != nil {
		return intents.Attempt{}, err
	}
	if len(prior) > 0 && kind == intents.First {
		return prior[0], nil
	}
	tx, err := s.build(ctx, acct, in, slot, kind, prior)
	if err != nil {
		return intents.Attempt{}, err
	}
	signed, err := acct.sign(ctx, types.NewTx(tx), s.chain)
	if err != nil {
		return intents.Attempt{}, err
	}
	raw, err := signed.MarshalBinary()
	if err != nil {
		return intents.Attempt{}, fmt.Errorf("encode transaction: %w", err)
	}
	return intents.Attempt{Slot: slot, No: len(prior) + 1, Kind: kind, Bytes: raw, Name: signed.Hash().Hex()}, nil
}

func (s *Sender) build(ctx context.Context, acct *account, in intents.Intent, slot intents.Slot, kind intents.Kind, prior []intents.Attempt) (*types.DynamicFeeTx, error) {
	t, gas, err := s.task(acct, in, kind)
	if err != nil {
		return nil, err
	}
	before, err := transactions(prior)
	if err != nil {
		return nil, err
	}
	if kind != intents.Cancel && len(before) > 0 {
		gas = before[0].Gas() // the first attempt is the same, but for its fees
	}
	q, err := s.requote(ctx, acct, in, t, kind, gas)
	if err != nil {
		return nil, err
	}
	limit := s.limit(in, q.gas)
	f, err := s.fees(q, limit)
	if err == nil {
		f, err = f.above(before, s.cfg.BumpPercent, limit)
	}
	if err != nil {
		return nil, err
	}
	return &types.DynamicFeeTx{
		ChainID: s.chain, Nonce: uint64(slot.Number), GasTipCap: f.tip, GasFeeCap: f.cap, Gas: q.gas, To: &t.to, Value: t.value, Data: t.data,
	}, nil
}

// task gives what an attempt of a kind does, and its gas if that is not to be estimated.
func (s *Sender) task(acct *account, in intents.Intent, kind intents.Kind) (transfer, uint64, error) {
	switch kind {
	case intents.First, intents.Bump:
		t, err := s.payment(in)
		return t, s.cfg.GasLimit, err
	case intents.Cancel, intents.Fill:
		return acct.empty(), s.cfg.GasLimit, nil
	}
	return transfer{}, 0, fmt.Errorf("no attempt of %v is known", kind)
}

// limit is the highest fee: the cap, and what the hold covers. A filler has no hold.
func (s *Sender) limit(in intents.Intent, gas uint64) *big.Int {
	if in.Cost.Sign() <= 0 || gas == 0 {
		return s.cfg.MaxFeePerGas
	}
	held := in.Cost.Big()
	return least(held.Div(held, new(big.Int).SetUint64(gas)), s.cfg.MaxFeePerGas)
}

func transactions(as []intents.Attempt) ([]*types.Transaction, error) {
	var txs []*types.Transaction
	for _, a := range as {
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(a.Bytes); err != nil {
			return nil, fmt.Errorf("stored bytes of attempt %d: %w", a.No, err)
		}
		txs = append(txs, tx)
	}
	return txs, nil
}
