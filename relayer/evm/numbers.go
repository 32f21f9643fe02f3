package evm

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// Numbers tells how many nonces of each signer are used up by blocks, the pool left aside. Where nodes that are not as high
// as the best are all that can be asked, the highest they tell counts.
func (s *Sender) Numbers(ctx context.Context) (map[string]int64, error) {
	r, counts := s.round(), make(map[string]int64)
	behind, err := s.number(ctx, r, counts)
	if err != nil {
		return nil, err
	}
	for err == nil && behind { // an error: nobody else can be asked
		behind, err = s.number(ctx, r, counts)
	}
	return counts, nil
}

// number asks the next node that can answer. behind: others have shown higher blocks.
func (s *Sender) number(ctx context.Context, r *round, counts map[string]int64) (behind bool, err error) {
	err = r.ask(ctx, func(ctx context.Context) error {
		var height hexutil.Uint64
		next, calls := s.nonces("latest")
		err := s.batch(ctx, append([]rpc.BatchElem{{Method: "eth_blockNumber", Result: &height}}, calls...))
		if err == nil {
			s.pool.sawHead(nodeOf(ctx), uint64(height))
			behind = uint64(height) < s.pool.best(time.Now())
			s.raise(counts, next)
		}
		return err
	})
	return behind, err
}

// nonces gives the calls for the next nonce of each signer at a block, and where the answers will be.
func (s *Sender) nonces(at string) (next []hexutil.Uint64, calls []rpc.BatchElem) {
	next = make([]hexutil.Uint64, len(s.accounts))
	for i, a := range s.accounts {
		calls = append(calls, rpc.BatchElem{Method: "eth_getTransactionCount", Args: []any{a.from, at}, Result: &next[i]})
	}
	return next, calls
}

// raise lifts counts to those told, which stand as the accounts do.
func (s *Sender) raise(counts map[string]int64, next []hexutil.Uint64) {
	for i, n := range next {
		scope := s.accounts[i].scope
		counts[scope] = max(counts[scope], int64(n))
	}
}
