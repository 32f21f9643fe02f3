package evm

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nsqrelayer/relayer/intents"
)

// Observe looks for the receipts of all attempts, in batches. A receipt is final when its block is beyond recall, by depth
// or by the node's tag as configured, and is the canonical one of its height, and its transaction is the intent's. One less
// deep is included; a transaction without receipt that the node knows is pending. A slot whose nonce another transaction
// of the signer used, beyond recall, is dead: see displaced. Nothing else proves anything.
//
// Of a slot that may still be used it asks for Fill while a filler has no bytes; for a higher attempt when the slot holds
// up its signer and the chain has moved on without it; and for the same bytes again while they are nowhere to be seen, or
// no higher fee is allowed.
//
// It returns an error when the node cannot be asked: look later.
//
// All that is said of one slot comes from one node. Where that is not as high as the best, what it did not see is asked
// of others too, and what nobody so high could see proves nothing.
func (s *Sender) Observe(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	g, err := s.glance(ctx, ws)
	if err != nil {
		return nil, err
	}
	s.press(ws, g, time.Now())
	return g.seen, nil
}

// glance looks at slots, and asks others what a node that is behind did not see.
func (s *Sender) glance(ctx context.Context, ws []intents.Watch) (glance, error) {
	r := s.round()
	g, err := s.observeOnce(ctx, r, ws)
	if err != nil {
		return g, err
	}
	for left := g.doubtful(); len(left) > 0; left = g.doubtful() {
		if s.observeAgain(ctx, r, ws, g, left) != nil { // nobody else can be asked
			g.disbelieve(left)
			break
		}
	}
	return g, nil
}

// look is one attempt and what the node showed of it.
type look struct {
	attempt intents.Attempt
	receipt *receipt
	block   *block    // the canonical one of the receipt's height, where the receipt may be final
	tx      *struct{} // not nil: the node knows the transaction, but no receipt
	none    bool      // it was asked for a receipt and has none
	gone    bool      // nor has it the transaction
}

type receipt struct {
	Hash    common.Hash     `json:"transactionHash"`
	Block   common.Hash     `json:"blockHash"`
	Number  *hexutil.Uint64 `json:"blockNumber"`
	Status  *hexutil.Uint64 `json:"status"` // nil where a node leaves it out
	GasUsed hexutil.Uint64  `json:"gasUsed"`
	Logs    logs            `json:"logs,omitempty"`
}

type block struct {
	Hash   common.Hash     `json:"hash"`
	Number *hexutil.Uint64 `json:"number"`
}

// lookFor gives the looks of each watch, and all of them in one row.
func lookFor(ws []intents.Watch) (of [][]*look, all []*look) {
	of = make([][]*look, len(ws))
	for i, w := range ws {
		for _, a := range w.Attempts {
			if a.Kind == intents.Alien { // its receipt says nothing of the intent
				continue
			}
			l := &look{attempt: a}
			of[i], all = append(of[i], l), append(all, l)
		}
	}
	return of, all
}

// receipts asks for all receipts and for where the chain stands, which is asked for first: a receipt that comes in between
// counts as less deep than it is.
func (s *Sender) receipts(ctx context.Context, all []*look) (view, error) {
	var height hexutil.Uint64
	var tagged *block
	calls := []rpc.BatchElem{{Method: "eth_blockNumber", Result: &height}}
	if s.cfg.Finality != FinalDepth {
		calls = append(calls, rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{string(s.cfg.Finality), false}, Result: &tagged})
	}
	first := len(calls)
	for _, l := range all {
		calls = append(calls, rpc.BatchElem{Method: "eth_getTransactionReceipt", Args: []any{l.attempt.Name}, Result: &l.receipt})
	}
	if err := s.batchEach(ctx, calls); err != nil {
		return view{}, err
	}
	if calls[0].Error != nil {
		return view{}, s.elemError(ctx, calls[0])
	}
	return view{head: uint64(height), beyond: s.beyond(ctx, uint64(height), tagged)}, s.told(ctx, calls[first:], all)
}

// told marks the looks for which there is no receipt. It returns an error when nothing was told of any.
func (s *Sender) told(ctx context.Context, calls []rpc.BatchElem, all []*look) error {
	var last error
	failed := 0
	for i, c := range calls {
		if c.Error != nil {
			all[i].receipt = nil // half an answer is none
			last = s.elemError(ctx, c)
			failed++
			continue
		}
		all[i].none = !all[i].receipt.mined()
	}
	if failed < len(all) {
		return nil
	}
	return last
}

// beyond says up to which block all is beyond recall, as the node under ctx has it; 0 where that is not known.
func (s *Sender) beyond(ctx context.Context, head uint64, tagged *block) uint64 {
	if s.cfg.Finality == FinalDepth {
		return head + 1 - min(s.cfg.Confirmations, head+1)
	}
	missing := tagged == nil || tagged.Number == nil
	if s.pool.tells(nodeOf(ctx), !missing) {
		s.log.WarnContext(ctx, "finality changes", "host", hostOf(ctx), "tag", s.cfg.Finality, "told", !missing)
	}
	if missing {
		return 0
	}
	return uint64(*tagged.Number)
}

// blocks asks for the canonical blocks of receipts that may be final, for transactions without receipt, and where there
// are such, for their signers' next numbers. What cannot be told stays open.
func (s *Sender) blocks(ctx context.Context, ws []intents.Watch, all []*look, v *view) error {
	open, calls := unmined(all)
	at, more := canonical(all, v.beyond)
	calls = append(calls, more...)
	first := len(calls)
	var counts []count
	if len(open) > 0 {
		counts, more = countsOf(ws)
		calls = append(calls, more...)
	}
	if len(calls) == 0 {
		return nil
	}
	if err := s.batchEach(ctx, calls); err != nil {
		return err
	}
	for i, l := range open {
		l.gone = l.none && calls[i].Error == nil && l.tx == nil
	}
	for _, l := range all {
		if l.receipt.mined() && at[uint64(*l.receipt.Number)] != nil {
			l.block = *at[uint64(*l.receipt.Number)]
		}
	}
	v.next = make(map[string]uint64)
	for i, c := range counts {
		if calls[first+i].Error == nil && c.next != nil {
			v.next[c.scope] = uint64(*c.next)
		}
	}
	return nil
}

// unmined are the looks without receipt, with the calls for their transactions.
func unmined(all []*look) (open []*look, calls []rpc.BatchElem) {
	for _, l := range all {
		if !l.receipt.mined() {
			open = append(open, l)
			calls = append(calls, rpc.BatchElem{Method: "eth_getTransactionByHash", Args: []any{l.attempt.Name}, Result: &l.tx})
		}
	}
	return open, calls
}

// canonical gives the calls for the blocks of receipts up to a height, each once, and where their answers will be.
func canonical(all []*look, beyond uint64) (at map[uint64]**block, calls []rpc.BatchElem) {
	at = make(map[uint64]**block)
	for _, l := range all {
		if !l.receipt.mined() || uint64(*l.receipt.Number) > beyond || at[uint64(*l.receipt.Number)] != nil {
			continue
		}
		at[uint64(*l.receipt.Number)] = &l.block
		calls = append(calls, rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{l.receipt.Number, false}, Result: &l.block})
	}
	return at, calls
}

// count is the next number of a scope's signer, nil when it is not told.
type count struct {
	scope string
	next  *hexutil.Uint64
}

// countsOf gives the calls for the next numbers of all signers that are watched.
func countsOf(ws []intents.Watch) (counts []count, calls []rpc.BatchElem) {
	for _, w := range ws {
		if !slices.ContainsFunc(counts, func(c count) bool { return c.scope == w.Slot.Scope }) {
			counts = append(counts, count{scope: w.Slot.Scope})
		}
	}
	for i := range counts {
		signer := counts[i].scope[strings.LastIndexByte(counts[i].scope, ':')+1:]
		calls = append(calls, rpc.BatchElem{Method: "eth_getTransactionCount", Args: []any{signer, "latest"}, Result: &counts[i].next})
	}
	return counts, calls
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
