package evm

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// Numbers tells how many nonces of the signer are used up by blocks, the pool left aside. Where nodes that are not as high
// as the best are all that can be asked, the highest they tell counts.
func (s *Sender) Numbers(ctx context.Context) (map[string]int64, error) {
	r := s.round()
	count, behind, err := s.number(ctx, r)
	for err == nil && behind {
		var n int64
		if n, behind, err = s.number(ctx, r); err != nil { // nobody else can be asked
			return map[string]int64{s.scope: count}, nil
		}
		count = max(count, n)
	}
	return map[string]int64{s.scope: count}, err
}

// number asks the next node that can answer. behind: others have shown higher blocks.
func (s *Sender) number(ctx context.Context, r *round) (n int64, behind bool, err error) {
	var height, count hexutil.Uint64
	err = r.ask(ctx, func(ctx context.Context) error {
		err := s.batch(ctx, []rpc.BatchElem{
			{Method: "eth_blockNumber", Result: &height},
			{Method: "eth_getTransactionCount", Args: []any{s.from, "latest"}, Result: &count},
		})
		if err == nil {
			s.pool.sawHead(nodeOf(ctx), uint64(height))
			behind = uint64(height) < s.pool.best(time.Now())
		}
		return err
	})
	return int64(count), behind, err
}
