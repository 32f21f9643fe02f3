package chain

import (
	"context"
	"testing"

	"github.com/ethereum/go-ethereum/ethclient"
)

func heightOf(t *testing.T, c *Chain) (uint64, string) {
	t.Helper()
	client, err := ethclient.DialContext(t.Context(), c.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	h, err := client.HeaderByNumber(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return h.Number.Uint64(), h.Hash().Hex()
}

// TestFollow: a node that follows is as high as it was fed, and on the same chain.
func TestFollow(t *testing.T) {
	t.Parallel()
	c, err := Start(t.Context(), Config{BlockTime: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	f, err := c.Follow()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	for range 4 {
		c.Mine()
	}
	if n, _ := heightOf(t, f); n != 0 {
		t.Errorf("before it is fed it is at %d", n)
	}
	for _, height := range []uint64{2, 5} {
		if err := c.Feed(t.Context(), f, height); err != nil {
			t.Fatal(err)
		}
		if n, _ := heightOf(t, f); n != height {
			t.Errorf("fed to %d it is at %d", height, n)
		}
	}
	_, have := heightOf(t, f)
	if _, want := heightOf(t, c); have != want {
		t.Errorf("it is at block %s, want %s", have, want)
	}
}
