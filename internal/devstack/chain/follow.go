package chain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// Follow starts a second node with the same genesis. It hears of nothing: it has the blocks that [Chain.Feed] brings, and
// what is sent to it stays in its own pool. Mine it and it is another chain.
func (c *Chain) Follow() (*Chain, error) {
	f := &Chain{stop: make(chan struct{}), alloc: c.alloc}
	if err := f.open("127.0.0.1:0", 0, "admin"); err != nil {
		return nil, fmt.Errorf("chain: follow: %w", err)
	}
	return f, nil
}

// Feed brings a node that follows the blocks from 1 up to a height; those that it has it leaves alone.
func (c *Chain) Feed(ctx context.Context, f *Chain, height uint64) error {
	from, err := rpc.DialContext(ctx, c.URL)
	if err != nil {
		return fmt.Errorf("chain: feed: %w", err)
	}
	defer from.Close()
	var blocks []byte
	for n := uint64(1); n <= height; n++ {
		var block hexutil.Bytes
		if err := from.CallContext(ctx, &block, "debug_getRawBlock", hexutil.Uint64(n)); err != nil {
			return fmt.Errorf("chain: feed block %d: %w", n, err)
		}
		blocks = append(blocks, block...)
	}
	if err := f.take(ctx, blocks); err != nil {
		return fmt.Errorf("chain: feed: %w", err)
	}
	return nil
}

// take has the node import blocks, which it does from files only.
func (c *Chain) take(ctx context.Context, blocks []byte) error {
	dir, err := os.MkdirTemp("", "chain")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "blocks")
	if err := os.WriteFile(file, blocks, 0o600); err != nil {
		return err
	}
	client, err := rpc.DialContext(ctx, c.URL)
	if err != nil {
		return err
	}
	defer client.Close()
	var ok bool
	if err := client.CallContext(ctx, &ok, "admin_importChain", file); err != nil {
		return err
	}
	if !ok {
		return errors.New("the node takes no blocks")
	}
	return nil
}
