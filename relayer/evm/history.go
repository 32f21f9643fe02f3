package evm

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nsqrelayer/relayer/intents"
)

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
	errDisagreed = errors.New("no other node shows the same block")
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
	u := h.found[nonce]
	if u == nil {
		return nil, errNotFound
	}
	if !h.s.agreed(ctx, u) {
		delete(h.found, nonce)
		return nil, errDisagreed
	}
	return u, nil
}

// agreed says whether another node shows the same block at the height of a use, so that no single one that stands on a
// fork can have a payment taken for displaced. The first that has a block there decides. A route with one node has no
// choice but to believe it.
func (s *Sender) agreed(ctx context.Context, u *use) bool {
	if len(s.pool.nodes) == 1 {
		return true
	}
	r := s.round()
	for r.asked = append(r.asked, nodeOf(ctx)); ; {
		n := s.pool.take(time.Now(), r.asked)
		if n == nil {
			return false
		}
		r.asked = append(r.asked, n)
		var b *block
		err := r.askOne(ctx, n, func(ctx context.Context) error {
			return s.batch(ctx, []rpc.BatchElem{{Method: "eth_getBlockByNumber", Args: []any{hexutil.Uint64(u.number), false}, Result: &b}})
		})
		if err == nil && b != nil {
			return b.Hash == u.block
		}
	}
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
