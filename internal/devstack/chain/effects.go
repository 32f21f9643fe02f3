package chain

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
)

// Effects counts the value transfers that reached each destination, read from the blocks over HTTP as a stranger would
// read them. Transactions that failed or moved nothing do not count, nor do transfers made inside a contract. The keys
// are the destinations as given; one without a transfer has 0.
func (c *Chain) Effects(ctx context.Context, dests []string) (map[string]int, error) {
	client, err := ethclient.DialContext(ctx, c.URL)
	if err != nil {
		return nil, fmt.Errorf("chain: count effects: %w", err)
	}
	defer client.Close()
	head, err := client.BlockNumber(ctx)
	if err != nil {
		return nil, fmt.Errorf("chain: count effects: %w", err)
	}
	seen := map[common.Address]int{}
	for n := uint64(1); n <= head; n++ {
		if err := count(ctx, client, n, seen); err != nil {
			return nil, fmt.Errorf("chain: count effects in block %d: %w", n, err)
		}
	}
	effects := make(map[string]int, len(dests))
	for _, d := range dests {
		effects[d] = seen[common.HexToAddress(d)]
	}
	return effects, nil
}

func count(ctx context.Context, client *ethclient.Client, number uint64, seen map[common.Address]int) error {
	block, err := client.BlockByNumber(ctx, new(big.Int).SetUint64(number))
	if err != nil || len(block.Transactions()) == 0 {
		return err
	}
	receipts, err := client.BlockReceipts(ctx, rpc.BlockNumberOrHashWithHash(block.Hash(), true))
	if err != nil {
		return err
	}
	ok := map[common.Hash]bool{}
	for _, r := range receipts {
		ok[r.TxHash] = r.Status == types.ReceiptStatusSuccessful
	}
	for _, tx := range block.Transactions() {
		if tx.To() != nil && tx.Value().Sign() > 0 && ok[tx.Hash()] {
			seen[*tx.To()]++
		}
	}
	return nil
}
