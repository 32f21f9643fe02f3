package evm

import (
	"context"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// lookup asks one node after the other for a transaction, until one knows it. unknown: every node that may be called
// answered, and none does.
func (s *Sender) lookup(ctx context.Context, hash string) (known, unknown bool) {
	r := s.round()
	for failed := false; ; {
		n := s.pool.take(time.Now(), r.asked)
		if n == nil {
			return false, !failed && len(r.asked) > 0
		}
		r.asked = append(r.asked, n)
		err := r.askOne(ctx, n, func(ctx context.Context) (err error) {
			known, err = s.knows(ctx, hash)
			return err
		})
		if known {
			return true, false
		}
		failed = failed || err != nil
	}
}

// knows asks the node under ctx, for the pool and for blocks. Errors: *callError, *ChainError.
func (s *Sender) knows(ctx context.Context, hash string) (bool, error) {
	var tx *struct{}
	var r *receipt
	err := s.batch(ctx, []rpc.BatchElem{
		{Method: "eth_getTransactionByHash", Args: []any{hash}, Result: &tx},
		{Method: "eth_getTransactionReceipt", Args: []any{hash}, Result: &r},
	})
	return err == nil && (tx != nil || r.mined()), err
}

// refusals remembers bytes that a node would not take because there were too many calls. "Refused" is what the edge says;
// before the same bytes go out again we look whether they did not get through all the same.
type refusals struct {
	mu sync.Mutex
	of map[string]bool // by attempt's name
}

// mostRefusals bounds the memory. What is forgotten costs a call: the same bytes again are harmless.
const mostRefusals = 4096

// note keeps whether bytes were refused by the last call with them.
func (r *refusals) note(name string, refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !refused {
		delete(r.of, name)
		return
	}
	if r.of == nil || len(r.of) >= mostRefusals {
		r.of = make(map[string]bool)
	}
	r.of[name] = true
}

func (r *refusals) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[name]
}
