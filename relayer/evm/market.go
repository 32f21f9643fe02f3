package evm

import (
	"cmp"
	"errors"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// market is what gas costs now, in wei.
type market struct {
	base *big.Int // of the next block, where the node tells it, else of the newest
	tip  *big.Int // what got into blocks lately
}

// How long prices are taken from memory, and for how much longer while another caller asks for new ones. The fee cap has
// room for the base fee to double, which takes six full blocks.
const (
	marketFor   = time.Second
	marketStale = 2 * time.Second
)

// prices keeps the last market, so that a thousand intents a second do not ask a thousand times.
type prices struct {
	mu     sync.Mutex
	last   market
	at     time.Time
	asking bool
}

// get gives the last market, or says that the caller is to ask for a new one and put it.
func (p *prices) get(now time.Time) (market, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := now.Sub(p.at)
	if p.last.base != nil && (age < marketFor || p.asking && age < marketFor+marketStale) {
		return p.last, true
	}
	p.asking = true
	return market{}, false
}

// put ends the asking; a market without a base fee is none.
func (p *prices) put(m market, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking = false
	if m.base != nil {
		p.last, p.at = m, now
	}
}

// historyBlocks is how many of the newest blocks say what a tip costs.
const historyBlocks = 10

// survey is what a node is asked about prices: its newest block, the fee history, and in the older way what that may not
// tell, because the node lacks it or no block had a transaction.
type survey struct {
	history feeHistory
	head    struct {
		Base *hexutil.Big `json:"baseFeePerGas"`
	}
	suggested *hexutil.Big
}

// calls: the first must not fail, the others may.
func (v *survey) calls(percentile float64) []rpc.BatchElem {
	return []rpc.BatchElem{
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &v.head},
		{Method: "eth_feeHistory", Args: []any{hexutil.Uint64(historyBlocks), "latest", []float64{percentile}}, Result: &v.history},
		{Method: "eth_maxPriorityFeePerGas", Result: &v.suggested},
	}
}

// market reads the answers; calls are those of the survey, made. A tip that is configured needs no answer.
func (v *survey) market(calls []rpc.BatchElem, tip *big.Int) (market, error) {
	m := market{tip: tip}
	if v.head.Base != nil {
		m.base = v.head.Base.ToInt()
	}
	if calls[1].Error == nil {
		m.base, m.tip = cmp.Or(v.history.next(), m.base), cmp.Or(tip, v.history.tip())
	}
	if m.tip == nil && calls[2].Error == nil && v.suggested != nil {
		m.tip = v.suggested.ToInt()
	}
	switch {
	case m.base == nil:
		return market{}, errors.New("the node shows no base fee: not an EIP-1559 chain, or not synced")
	case m.tip == nil:
		return market{}, errors.New("the node tells no tip, neither paid nor suggested")
	}
	return m, nil
}

// feeHistory is the answer of eth_feeHistory.
type feeHistory struct {
	Base   []*hexutil.Big   `json:"baseFeePerGas"` // one more than there are blocks: the next one's comes last
	Used   []float64        `json:"gasUsedRatio"`
	Reward [][]*hexutil.Big `json:"reward"`
}

// next is the base fee of the next block, nil when it is not told.
func (h feeHistory) next() *big.Int {
	if len(h.Base) == 0 || h.Base[len(h.Base)-1] == nil {
		return nil
	}
	return h.Base[len(h.Base)-1].ToInt()
}

// tip is the median over the blocks that were not empty, and at least a wei, under which pools take nothing. Nil when
// there were none.
func (h feeHistory) tip() *big.Int {
	var tips []*big.Int
	for i, r := range h.Reward {
		if i < len(h.Used) && h.Used[i] > 0 && len(r) > 0 && r[0] != nil {
			tips = append(tips, r[0].ToInt())
		}
	}
	if len(tips) == 0 {
		return nil
	}
	slices.SortFunc(tips, (*big.Int).Cmp)
	return most(tips[len(tips)/2], common.Big1)
}
