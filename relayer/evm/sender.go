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

	"github.com/nsqrelayer/relayer/intents"
)

// Sender sends transfers of the native coin and of tokens, and calls with data, of one signer on one chain. It is safe for
// concurrent use.
type Sender struct {
	cfg     Config
	from    common.Address
	chain   *big.Int
	scope   string
	pool    *pool
	http    *http.Client // sends
	calls   atomic.Int64 // ids of sends
	prices  prices
	pace    pace
	recent  recent
	gather  gather
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
	transport := newTransport(cfg)
	reads := newHTTP(reading{transport})
	var nodes []*node
	var urls []*url.URL
	for _, e := range cfg.endpoints() {
		n, u, err := newNode(e, reads)
		if err != nil {
			return nil, err
		}
		nodes, urls = append(nodes, n), append(urls, u)
	}
	from := cfg.Signer.Address()
	s := &Sender{
		cfg: cfg, from: from, chain: new(big.Int).SetUint64(cfg.ChainID),
		scope: fmt.Sprintf("evm:%d:%s", cfg.ChainID, from),
		pool:  newPool(nodes), http: newHTTP(transport), scrub: newScrubber(urls...), log: cfg.Logger,
	}
	s.gather.ask, s.gather.most = s.quoteAll, cfg.Timeout
	return s, nil
}

// Close ends the sender's reads and gives back its idle connections.
func (s *Sender) Close() {
	for _, n := range s.pool.nodes {
		n.rpc.Close()
	}
	s.http.CloseIdleConnections()
}

// Scope names the counter of the slots: "evm:", chain id, ":", the signer's address.
func (s *Sender) Scope() string { return s.scope }

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
	return intents.Plan{Slot: intents.Counter, Scope: s.scope, Cost: cost, Weight: s.cfg.Weight, Again: intents.Always, Seen: true}, nil
}
