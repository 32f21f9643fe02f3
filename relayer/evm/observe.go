package evm

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nsqrelayer/relayer/intents"
)

// Observe looks for the receipts of all attempts, in batches. A receipt is final when it stands at the configured depth
// in a block that is the canonical one of its height, and its transaction is the intent's. One less deep is included; a
// transaction without receipt that the node knows is pending. Nothing else proves anything.
//
// A counter slot without an intent is a filler: without bytes, and while its bytes are nowhere to be seen, Fill is wanted.
// It returns an error when the node cannot be asked: look later.
//
// All that is said of one look comes from one node. Where that is not as high as the best, what it did not see is asked
// of others too, and what nobody so high could see proves nothing.
func (s *Sender) Observe(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	r := s.round()
	seen, behind, err := s.observeOnce(ctx, r, ws)
	for err == nil && behind {
		if behind, err = s.observeAgain(ctx, r, ws, seen); err != nil {
			disbelieve(seen)
			return seen, nil
		}
	}
	return seen, err
}

// observeAgain asks the next node for what was not seen yet, and keeps what says more.
func (s *Sender) observeAgain(ctx context.Context, r *round, ws []intents.Watch, seen []intents.Observation) (behind bool, err error) {
	var left []intents.Watch
	var at []int
	for i, o := range seen {
		if o.Fact == intents.NotSeen || o.Fact == intents.Dead {
			left, at = append(left, ws[i]), append(at, i)
		}
	}
	if len(left) == 0 {
		return false, nil
	}
	again, behind, err := s.observeOnce(ctx, r, left)
	for i, o := range again {
		if old := seen[at[i]]; !behind || weight(o.Fact) > weight(old.Fact) {
			seen[at[i]] = o
		}
	}
	return behind, err
}

// disbelieve leaves no proof of absence that came from nodes behind.
func disbelieve(seen []intents.Observation) {
	for i, o := range seen {
		if o.Fact == intents.Dead {
			seen[i] = intents.Observation{Slot: o.Slot, After: o.After, Evidence: o.Evidence}
		}
	}
}

// observeOnce asks the next node that can answer. behind: others have shown higher blocks.
func (s *Sender) observeOnce(ctx context.Context, r *round, ws []intents.Watch) (seen []intents.Observation, behind bool, err error) {
	err = r.ask(ctx, func(ctx context.Context) error {
		looks, all := lookFor(ws)
		head, err := s.receipts(ctx, all)
		if err == nil {
			err = s.blocks(ctx, all, head)
		}
		if err != nil {
			return err
		}
		if len(all) > 0 {
			s.pool.sawHead(nodeOf(ctx), head)
			behind = head < s.pool.best(time.Now())
		}
		seen = make([]intents.Observation, len(ws))
		for i, w := range ws {
			seen[i] = s.observation(ctx, w, looks[i], head)
		}
		return nil
	})
	return seen, behind, err
}

// look is one attempt and what the node showed of it.
type look struct {
	attempt intents.Attempt
	receipt *receipt
	block   *block    // the canonical one of the receipt's height, where the receipt is deep enough to be final
	tx      *struct{} // not nil: the node knows the transaction, but no receipt
}

type receipt struct {
	Hash    common.Hash     `json:"transactionHash"`
	Block   common.Hash     `json:"blockHash"`
	Number  *hexutil.Uint64 `json:"blockNumber"`
	Status  *hexutil.Uint64 `json:"status"` // nil where a node leaves it out
	GasUsed hexutil.Uint64  `json:"gasUsed"`
}

type block struct {
	Hash common.Hash `json:"hash"`
}

// lookFor gives the looks of each watch, and all of them in one row.
func lookFor(ws []intents.Watch) (of [][]*look, all []*look) {
	of = make([][]*look, len(ws))
	for i, w := range ws {
		for _, a := range w.Attempts {
			l := &look{attempt: a}
			of[i], all = append(of[i], l), append(all, l)
		}
	}
	return of, all
}

// receipts asks for all receipts and for the height of the chain, which is asked for first: a receipt that comes in
// between counts as less deep than it is.
func (s *Sender) receipts(ctx context.Context, all []*look) (head uint64, err error) {
	if len(all) == 0 {
		return 0, nil
	}
	var height hexutil.Uint64
	calls := []rpc.BatchElem{{Method: "eth_blockNumber", Result: &height}}
	for _, l := range all {
		calls = append(calls, rpc.BatchElem{Method: "eth_getTransactionReceipt", Args: []any{l.attempt.Name}, Result: &l.receipt})
	}
	if err := s.batchEach(ctx, calls); err != nil {
		return 0, err
	}
	failed := 0
	for i, c := range calls {
		if c.Error == nil {
			continue
		}
		failed++
		if i > 0 {
			all[i-1].receipt = nil // half an answer is none
		}
		if err == nil {
			err = s.elemError(ctx, c)
		}
	}
	if calls[0].Error != nil || failed == len(all) {
		return 0, err
	}
	return uint64(height), nil
}

// blocks asks for the canonical blocks of receipts that are deep enough, and for transactions without receipt. What
// cannot be told stays open.
func (s *Sender) blocks(ctx context.Context, all []*look, head uint64) error {
	var calls []rpc.BatchElem
	at := make(map[uint64]**block)
	for _, l := range all {
		switch {
		case !l.receipt.mined():
			calls = append(calls, rpc.BatchElem{Method: "eth_getTransactionByHash", Args: []any{l.attempt.Name}, Result: &l.tx})
		case l.receipt.depth(head) >= s.cfg.Confirmations && at[uint64(*l.receipt.Number)] == nil:
			at[uint64(*l.receipt.Number)] = &l.block
			calls = append(calls, rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{l.receipt.Number, false}, Result: &l.block})
		}
	}
	if len(calls) == 0 {
		return nil
	}
	err := s.batchEach(ctx, calls)
	for _, l := range all {
		if l.receipt.mined() && at[uint64(*l.receipt.Number)] != nil {
			l.block = *at[uint64(*l.receipt.Number)]
		}
	}
	return err
}

// mined says whether there is a receipt with a block; some nodes show receipts of pending transactions.
func (r *receipt) mined() bool { return r != nil && r.Number != nil }

// depth counts blocks from the receipt's own to head, both included.
func (r *receipt) depth(head uint64) uint64 {
	if n := uint64(*r.Number); n <= head {
		return head - n + 1
	}
	return 0
}
