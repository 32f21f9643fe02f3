package memstore_test

import (
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/relayer/memstore"
	"github.com/nsqrelayer/relayer/relayer/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness { return storetest.Harness{Store: memstore.New(memstore.Config{})} })
}

// TestModelAgrees runs the model against itself: what the comparison wants does not depend on clocks.
func TestModelAgrees(t *testing.T) {
	t.Parallel()
	open := func(*testing.T) storetest.Harness { return storetest.Harness{Store: ticking(time.Millisecond)} }
	storetest.RunModel(t, open, func() storetest.Store { return ticking(time.Second / 100) })
}

// ticking is a store whose clock moves on by a step at each look.
func ticking(step time.Duration) *memstore.Store {
	var mu sync.Mutex
	now := time.Now()
	return memstore.New(memstore.Config{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(step)
		return now
	}})
}
