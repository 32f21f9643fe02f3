package evm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nsqrelayer/relayer/intents"
)

// Refer says what a transaction is, of whoever: final when it pays exactly what the intent asks for and is beyond recall,
// dead when it is something else. Where no node knows it nothing is seen. Errors: *intents.InvalidError when the reference is
// no hash; look later.
func (s *Sender) Refer(ctx context.Context, in intents.Intent, ref string) (intents.Observation, error) {
	if raw, err := hexutil.Decode(ref); err != nil || len(raw) != common.HashLength {
		return intents.Observation{}, &intents.InvalidError{Field: "ref", Value: ref, Want: "a transaction hash, 0x and 64 hex digits"}
	}
	tx, err := s.transaction(ctx, ref)
	if err != nil {
		return intents.Observation{}, err
	}
	if tx == nil {
		return intents.Observation{Evidence: remark("no node knows the transaction")}, nil
	}
	w, err := s.watchOf(in, tx)
	if err != nil {
		return intents.Observation{}, err
	}
	if why := s.foreign(s.account(w.Slot.Scope), in, w.Attempts[0]); why != "" {
		return intents.Observation{Fact: intents.Dead, No: 1, Ref: ref, Evidence: remark(why)}, nil
	}
	g, err := s.glance(ctx, []intents.Watch{w})
	if err != nil {
		return intents.Observation{}, err
	}
	return g.seen[0], nil
}

// watchOf takes a transaction for the only attempt in a slot of its sender.
func (s *Sender) watchOf(in intents.Intent, tx *types.Transaction) (intents.Watch, error) {
	from, err := types.Sender(types.LatestSignerForChainID(s.chain), tx)
	if err != nil {
		return intents.Watch{}, fmt.Errorf("the transaction's sender: %w", err)
	}
	raw, err := tx.MarshalBinary()
	slot := intents.Slot{Kind: intents.Counter, Scope: fmt.Sprintf("evm:%d:%s", s.cfg.ChainID, from), Number: int64(tx.Nonce())}
	a := intents.Attempt{Slot: slot, No: 1, Kind: intents.First, Name: tx.Hash().Hex(), Bytes: raw}
	return intents.Watch{Intent: in, Slot: slot, Attempts: []intents.Attempt{a}}, err
}

// transaction asks one node after the other for a transaction, until one knows it; nil: none does. It is believed by its
// hash. Errors: not one node answered.
func (s *Sender) transaction(ctx context.Context, hash string) (found *types.Transaction, err error) {
	r, answered := s.round(), false
	for found == nil {
		n := s.pool.take(time.Now(), r.asked)
		if n == nil {
			break
		}
		r.asked = append(r.asked, n)
		var raw json.RawMessage
		failed := r.askOne(ctx, n, func(ctx context.Context) error {
			return s.batch(ctx, []rpc.BatchElem{{Method: "eth_getTransactionByHash", Args: []any{hash}, Result: &raw}})
		})
		if failed != nil {
			err = failed
			continue
		}
		answered = true
		tx := new(types.Transaction)
		if tx.UnmarshalJSON(raw) == nil && tx.Hash() == common.HexToHash(hash) {
			found = tx
		}
	}
	if answered {
		return found, nil
	}
	return nil, s.pool.none(err)
}

// remark is evidence in words.
func remark(note string) []byte {
	b, _ := json.Marshal(map[string]string{"note": note}) // strings always marshal
	return b
}
