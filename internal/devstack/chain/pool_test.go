package chain

import (
	"context"
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum"
)

func TestDropPool(t *testing.T) {
	c, client := start(t, Config{})
	mined := send(t, client, signed(t, 0, alice, 1, nil))
	c.Mine()
	next, after := signed(t, 1, bob, 1, nil), signed(t, 3, bob, 1, nil)
	send(t, client, next)
	send(t, client, after) // waits for 2
	if pending, queued, err := c.PoolSize(t.Context()); pending != 1 || queued != 1 || err != nil {
		t.Fatalf("pool of %d and %d, %v; want 1 and 1", pending, queued, err)
	}
	if err := c.DropPool(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pending, queued, err := c.PoolSize(t.Context()); pending != 0 || queued != 0 || err != nil {
		t.Errorf("pool of %d and %d, %v; want none", pending, queued, err)
	}
	if _, _, err := client.TransactionByHash(t.Context(), next.Hash()); !errors.Is(err, ethereum.NotFound) {
		t.Errorf("a dropped transaction: %v, want not found", err)
	}
	if n, err := client.PendingNonceAt(t.Context(), DevAddress()); n != 1 || err != nil {
		t.Errorf("pending nonce %d, %v; want 1", n, err)
	}
	c.Mine()
	if r, err := client.TransactionReceipt(t.Context(), mined); err != nil || r.Status != 1 {
		t.Errorf("what was mined before: %v", err)
	}
	send(t, client, next) // the same bytes are taken again
	c.Mine()
	if r, err := client.TransactionReceipt(t.Context(), next.Hash()); err != nil || r.Status != 1 {
		t.Errorf("the same bytes again: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.DropPool(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// TestForkAfterDrop: go-ethereum forks only while its pool is empty.
func TestForkAfterDrop(t *testing.T) {
	c, client := start(t, Config{})
	c.Mine()
	send(t, client, signed(t, 0, alice, 1, nil))
	if err := c.DropPool(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Reorg(t.Context(), 1, false); err != nil {
		t.Error(err)
	}
	if got, err := c.Effects(t.Context(), []string{alice.Hex()}); err != nil || got[alice.Hex()] != 0 {
		t.Errorf("effects %v, %v; want none", got, err)
	}
}
