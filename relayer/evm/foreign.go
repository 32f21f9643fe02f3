package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	goneWait     = time.Minute      // until a nonce is looked for again whose transaction was not found
	oddWait      = 15 * time.Second // until a node is asked again that did not answer, or has a block but not its receipt
	mostSearches = 8                // numbers looked for in one go, each of which takes up to some 30 calls
	mostCalls    = 200              // of one go
)

// Strangers finds the transactions that used the nonces of the scope from one on and before another, in blocks beyond
// recall. It stops at the first it does not find, with an error when that is the first of all.
func (s *Sender) Strangers(ctx context.Context, scope string, from, to int64) ([]intents.Foreign, error) {
	acct := s.account(scope)
	if acct.signer == nil {
		return nil, fmt.Errorf("%s is none of the scopes %v", scope, s.Scopes())
	}
	var found []intents.Foreign
	err := s.somewhere(ctx, func(ctx context.Context) (err error) {
		found, err = s.strangers(ctx, acct, from, to)
		return err
	})
	return found, err
}

// strangers asks one node.
func (s *Sender) strangers(ctx context.Context, acct *account, from, to int64) ([]intents.Foreign, error) {
	final, err := s.final(ctx)
	if err != nil {
		return nil, err
	}
	h, err := s.history(ctx, acct, final)
	if err != nil {
		return nil, err
	}
	var found []intents.Foreign
	for n := max(from, 0); n < min(to, int64(h.used)); n++ {
		u, err := h.find(ctx, uint64(n))
		if err == nil {
			var f intents.Foreign
			if f, err = u.foreign(); err == nil {
				found = append(found, f)
				continue
			}
		}
		if len(found) > 0 {
			err = nil
		}
		return found, err
	}
	return found, nil
}

// displaced looks for slots whose nonce is used up beyond recall although none of their attempts has a receipt, and finds
// in the block what used it. The block's own transaction is the proof: our signature on another transaction with that
// nonce. What is not found proves nothing. Errors stay here: the next look tries again.
func (s *Sender) displaced(ctx context.Context, ws []intents.Watch, looks [][]*look, seen []intents.Observation, final uint64) {
	for scope, open := range s.unseen(ws, looks, seen) {
		h, err := s.history(ctx, s.account(scope), final)
		if err != nil {
			s.log.DebugContext(ctx, "displaced slots not looked for", "scope", scope, "err", err)
			continue
		}
		slices.SortFunc(open, func(i, j int) int { return int(ws[i].Slot.Number - ws[j].Slot.Number) })
		for _, i := range open {
			if uint64(ws[i].Slot.Number) >= h.used {
				break // nor are those above
			}
			h.attribute(ctx, ws[i], &seen[i])
		}
	}
}

// unseen lists the slots of which no attempt has a receipt, by scope, where that is one of the chain.
func (s *Sender) unseen(ws []intents.Watch, looks [][]*look, seen []intents.Observation) (open map[string][]int) {
	open = make(map[string][]int)
	for i, w := range ws {
		mined := slices.ContainsFunc(looks[i], func(l *look) bool { return l.receipt.mined() })
		known := s.account(w.Slot.Scope).from != common.Address{}
		if w.Slot.Kind == intents.Counter && known && seen[i].Fact == intents.NotSeen && !mined {
			open[w.Slot.Scope] = append(open[w.Slot.Scope], i)
		}
	}
	return open
}

// attribute says in an observation what used the slot.
func (h *history) attribute(ctx context.Context, w intents.Watch, o *intents.Observation) {
	u, err := h.find(ctx, uint64(w.Slot.Number))
	if err != nil {
		*o = intents.Observation{Slot: w.Slot, Gone: true, After: goneWait, Evidence: h.told(ctx, w, nil, err)}
		if _, asked := errors.AsType[*callError](err); asked { // another time, or another node, may answer
			o.After = oddWait
		}
		return
	}
	for _, a := range w.Attempts {
		if a.Kind != intents.Alien && common.HexToHash(a.Name) == u.tx.Hash() { // ours, and its receipt is still to come
			*o = intents.Observation{Slot: w.Slot, No: a.No, Fact: intents.Pending, Ref: a.Name, After: oddWait, Evidence: h.told(ctx, w, u, nil)}
			return
		}
	}
	f, err := u.foreign()
	if err != nil {
		*o = intents.Observation{Slot: w.Slot, Gone: true, After: goneWait, Evidence: h.told(ctx, w, u, err)}
		return
	}
	h.s.log.ErrorContext(ctx, "slot used by a foreign transaction", "slot", w.Slot.String(), "intent", w.Intent.ID, "hash", f.Hash)
	*o = intents.Observation{Slot: w.Slot, Fact: intents.Dead, Foreign: &f, Evidence: h.told(ctx, w, u, nil)}
}

// history is what the chain says of one signer's nonces up to a height beyond recall. All that is asked is asked of
// pinned heights, so that a node that lags has no answer instead of a wrong one.
type history struct {
	s      *Sender
	from   common.Address
	final  uint64 // height
	used   uint64 // nonces used up by then
	counts map[uint64]uint64
	found  map[uint64]*use
	left   int // searches
	calls  int
}

// use is a transaction of the signer in a block.
type use struct {
	tx     *types.Transaction
	number uint64
	block  common.Hash
	at     time.Time
}

var (
	errNoHistory = errors.New("the chain is not deep enough yet")
	errNotFound  = errors.New("no block shows a transaction that used the nonce")
	errTooMuch   = errors.New("put off: too many nonces to look for")
)

// history begins at a height beyond recall; 0: there is none yet.
func (s *Sender) history(ctx context.Context, acct *account, final uint64) (*history, error) {
	if final == 0 {
		return nil, errNoHistory
	}
	h := &history{s: s, from: acct.from, final: final, counts: map[uint64]uint64{}, found: map[uint64]*use{}, left: mostSearches}
	var err error
	h.used, err = h.count(ctx, h.final)
	return h, err
}

// final asks up to which block all is beyond recall; 0: none.
func (s *Sender) final(ctx context.Context) (uint64, error) {
	var height hexutil.Uint64
	var tagged *block
	calls := []rpc.BatchElem{{Method: "eth_blockNumber", Result: &height}}
	if s.cfg.Finality != FinalDepth {
		calls = append(calls, rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{string(s.cfg.Finality), false}, Result: &tagged})
	}
	if err := s.batch(ctx, calls); err != nil {
		return 0, err
	}
	return s.beyond(ctx, uint64(height), tagged), nil
}

// count tells how many nonces were used up at a height.
func (h *history) count(ctx context.Context, height uint64) (uint64, error) {
	if n, known := h.counts[height]; known {
		return n, nil
	}
	if h.calls++; h.calls > mostCalls {
		return 0, errTooMuch
	}
	var n hexutil.Uint64
	err := h.s.batch(ctx, []rpc.BatchElem{{Method: "eth_getTransactionCount", Args: []any{h.from, hexutil.Uint64(height)}, Result: &n}})
	if err != nil {
		return 0, err
	}
	h.counts[height] = uint64(n)
	return uint64(n), nil
}

// find gives the transaction that used a nonce. Nodes keep the state of some 128 blocks: what is older cannot be found.
func (h *history) find(ctx context.Context, nonce uint64) (*use, error) {
	if u := h.found[nonce]; u != nil {
		return u, nil
	}
	if h.left--; h.left < 0 {
		return nil, errTooMuch
	}
	at, err := h.search(ctx, nonce)
	if err != nil {
		return nil, err
	}
	if err := h.read(ctx, at); err != nil {
		return nil, err
	}
	if u := h.found[nonce]; u != nil {
		return u, nil
	}
	return nil, errNotFound
}

// search gives the first height at which the nonce was used up: in growing steps back from the final one, then between
// the last two steps.
func (h *history) search(ctx context.Context, nonce uint64) (uint64, error) {
	low, high := uint64(0), h.final // used up at high, and not at low unless that is 0
	for step := uint64(1); high > 0; step *= 2 {
		low = high - min(step, high)
		n, err := h.count(ctx, low)
		if err != nil {
			return 0, err
		}
		if n <= nonce {
			break
		}
		high = low
	}
	for low+1 < high {
		mid := low + (high-low)/2
		n, err := h.count(ctx, mid)
		if err != nil {
			return 0, err
		}
		if n > nonce {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}

// read keeps the signer's transactions of a block. A transaction is believed by its signature, not by what the node says
// of it; one of a type we do not know is not the signer's.
func (h *history) read(ctx context.Context, height uint64) error {
	var b *struct {
		Hash common.Hash       `json:"hash"`
		Time hexutil.Uint64    `json:"timestamp"`
		Txs  []json.RawMessage `json:"transactions"`
	}
	err := h.s.batch(ctx, []rpc.BatchElem{{Method: "eth_getBlockByNumber", Args: []any{hexutil.Uint64(height), true}, Result: &b}})
	if err != nil {
		return err
	}
	if b == nil {
		return errNotFound
	}
	for _, raw := range b.Txs {
		var says struct {
			From common.Address `json:"from"`
		}
		tx := new(types.Transaction)
		if json.Unmarshal(raw, &says) != nil || says.From != h.from || tx.UnmarshalJSON(raw) != nil {
			continue
		}
		if from, err := types.Sender(types.LatestSignerForChainID(h.s.chain), tx); err == nil && from == h.from {
			h.found[tx.Nonce()] = &use{tx: tx, number: height, block: b.Hash, at: time.Unix(int64(b.Time), 0).UTC()}
		}
	}
	return nil
}

// foreign shows the transaction as the store keeps and compares it.
func (u *use) foreign() (intents.Foreign, error) {
	raw, err := u.tx.MarshalBinary()
	f := intents.Foreign{Hash: u.tx.Hash().Hex(), Bytes: raw, Amount: intents.AmountOf(u.tx.Value()), At: u.at}
	if to := u.tx.To(); to != nil {
		f.Destination = to.Hex()
	}
	if to, amount, ok := tokens(u.tx.Data()); ok {
		f.Destination, f.Amount = to.Hex(), intents.AmountOf(amount)
	}
	return f, err
}

// tokens reads the call of an ERC-20's transfer(address,uint256).
func tokens(data []byte) (to common.Address, amount *big.Int, ok bool) {
	if len(data) != 4+32+32 || [4]byte(data[:4]) != [4]byte{0xa9, 0x05, 0x9c, 0xbb} {
		return to, nil, false
	}
	return common.BytesToAddress(data[4:36]), new(big.Int).SetBytes(data[36:]), true
}

// told is the evidence about a used slot.
func (h *history) told(ctx context.Context, w intents.Watch, u *use, err error) []byte {
	e := struct {
		Number int64  `json:"number"`
		UsedBy string `json:"used_by,omitempty"`
		Block  string `json:"block_hash,omitempty"`
		Height uint64 `json:"block,omitempty"`
		Final  uint64 `json:"final"`
		Used   uint64 `json:"used"` // nonces used up at the final height
		Host   string `json:"host"`
		Error  string `json:"error,omitempty"`
	}{Number: w.Slot.Number, Final: h.final, Used: h.used, Host: hostOf(ctx)}
	if u != nil {
		e.UsedBy, e.Block, e.Height = u.tx.Hash().Hex(), u.block.Hex(), u.number
	}
	if err != nil {
		e.Error = h.s.text(err)
	}
	b, _ := json.Marshal(e) // strings and numbers always marshal
	return b
}
