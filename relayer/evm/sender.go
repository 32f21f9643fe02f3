package evm

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nsqrelayer/relayer/intents"
)

// Sender sends transfers of the native coin and of tokens, and calls with data, of one signer on one chain. It is safe for
// concurrent use.
type Sender struct {
	cfg     Config
	from    common.Address
	chain   *big.Int
	scope   string
	host    string
	rpc     *rpc.Client // reads
	http    *http.Client
	calls   atomic.Int64 // ids of sends
	prices  prices
	tagless atomic.Bool // the node did not tell the block of our finality
	pace    pace
	recent  recent
	toldLow atomic.Int64 // when a low balance was last told, in Unix nanoseconds
	scrub   *strings.Replacer
	log     *slog.Logger
}

// New makes a sender. Nothing is dialed; see [Sender.Check]. Errors: those of [Config.Validate].
func New(cfg Config) (*Sender, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	u, err := url.Parse(cfg.RPCURL)
	if err != nil {
		return nil, checkURL(cfg.RPCURL)
	}
	hc := newHTTP(cfg)
	client, err := rpc.DialOptions(context.Background(), cfg.RPCURL, rpc.WithHTTPClient(hc)) // dials nothing over HTTP
	if err != nil {
		return nil, checkURL("")
	}
	from := cfg.Signer.Address()
	return &Sender{
		cfg: cfg, from: from, chain: new(big.Int).SetUint64(cfg.ChainID),
		scope: fmt.Sprintf("evm:%d:%s", cfg.ChainID, from), host: u.Host,
		rpc: client, http: hc, scrub: newScrubber(u), log: cfg.Logger,
	}, nil
}

// Close ends the sender's reads and gives back its idle connections.
func (s *Sender) Close() {
	s.rpc.Close()
	s.http.CloseIdleConnections()
}

// Scope names the counter of the slots: "evm:", chain id, ":", the signer's address.
func (s *Sender) Scope() string { return s.scope }

// Check asks the node whether it is one of our chain, and for the signer's next nonce, the pool's transactions included:
// that is where a store that does not know the scope yet begins. Errors: *ChainError; any other: the node cannot tell now.
func (s *Sender) Check(ctx context.Context) (next int64, err error) {
	var chain hexutil.Big
	var nonce hexutil.Uint64
	err = s.batch(ctx, []rpc.BatchElem{
		{Method: "eth_chainId", Result: &chain},
		{Method: "eth_getTransactionCount", Args: []any{s.from, "pending"}, Result: &nonce},
	})
	if err != nil {
		return 0, err
	}
	return int64(nonce), s.ours(ctx, chain)
}

// ChainError says that the node is one of another chain.
type ChainError struct {
	Host       string
	Want, Have *big.Int
}

func (e *ChainError) Error() string {
	return fmt.Sprintf("the node at %s is of chain %v, want %v", e.Host, e.Have, e.Want)
}

// ours compares a chain id. Errors: *ChainError.
func (s *Sender) ours(ctx context.Context, chain hexutil.Big) error {
	if have := chain.ToInt(); have.Cmp(s.chain) != 0 {
		s.log.ErrorContext(ctx, "node is of another chain", "host", s.host, "want", s.chain, "have", have)
		return &ChainError{Host: s.host, Want: s.chain, Have: have}
	}
	return nil
}

// Plan checks the intent, estimates its gas and prices it at the cap. It returns a *intents.RefusedError for an asset,
// destination, amount or data that no transaction of the route can carry, and where the token or the recipient reverts. A
// node of another chain, a base fee above the cap and a signer without funds or tokens mean: not now.
func (s *Sender) Plan(ctx context.Context, in intents.Intent) (intents.Plan, error) {
	p, err := s.payment(in)
	if err != nil {
		return intents.Plan{}, err
	}
	q, err := s.ask(ctx, in, p)
	if err != nil {
		return intents.Plan{}, err
	}
	s.low(ctx, q.balance)
	f, err := s.fees(q, s.cfg.MaxFeePerGas)
	if err != nil {
		return intents.Plan{}, err
	}
	if need := new(big.Int).Add(p.value, times(f.cap, q.gas)); q.balance.Cmp(need) < 0 {
		return intents.Plan{}, fmt.Errorf("signer %s has %v wei and needs %v", s.from, q.balance, need)
	}
	cost := s.cost(in, q.gas)
	return intents.Plan{Slot: intents.Counter, Scope: s.scope, Cost: cost, Again: intents.Always, Seen: true}, nil
}
