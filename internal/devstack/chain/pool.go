package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/ethclient"
)

// DropPool has the node forget every transaction that is in no block, those that wait for an earlier number too, as a
// restart does. Blocks stay. Errors: the context's.
func (c *Chain) DropPool(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("chain: drop pool: %w", err)
	}
	c.backend.Rollback()
	return nil
}

// PoolSize is how many transactions the node's pool holds: those for the next blocks, and those that wait for an earlier
// number.
func (c *Chain) PoolSize(ctx context.Context) (pending, queued int, err error) {
	client, err := ethclient.DialContext(ctx, c.URL)
	if err != nil {
		return 0, 0, fmt.Errorf("chain: pool: %w", err)
	}
	defer client.Close()
	var size struct{ Pending, Queued hexutil.Uint64 }
	if err := client.Client().CallContext(ctx, &size, "txpool_status"); err != nil {
		return 0, 0, fmt.Errorf("chain: pool: %w", err)
	}
	return int(size.Pending), int(size.Queued), nil
}
