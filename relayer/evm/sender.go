package evm

import (
	"context"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// Sender sends transfers of the native coin and of tokens, and calls with data, of some signers on one chain. It is safe
// for concurrent use.
type Sender struct {
	cfg      Config
	accounts []*account // one of each signer
	chain    *big.Int
	pool     *pool
	http     *http.Client // sends
	calls    atomic.Int64 // ids of sends
	prices   prices
	pace     pace
	recent   recent
	plans    gather[*question]
	refused  refusals
	scrub    *strings.Replacer
	log      *slog.Logger
}

// New makes a sender. Nothing is dialed; see [Sender.Check]. Errors: those of [Config.Validate].
func New(cfg Config) (*Sender, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	transport := counted(newTransport(cfg), cfg.Calls)
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
	s := &Sender{
		cfg: cfg, chain: new(big.Int).SetUint64(cfg.ChainID),
		pool: newPool(nodes), http: newHTTP(transport), scrub: newScrubber(urls...), log: cfg.Logger,
	}
	for _, signer := range cfg.Signers {
		s.accounts = append(s.accounts, newAccount(cfg.ChainID, signer))
	}
	for _, n := range nodes {
		n.sends = gather[*sending]{most: cfg.Timeout, size: cfg.SendBatch, lanes: sendLanes,
			ask: func(ctx context.Context, ms []*sending) { s.postAll(ctx, n, ms) }}
	}
	s.plans = gather[*question]{ask: s.quoteAll, most: cfg.Timeout, size: gatherMost, lanes: 1}
	return s, nil
}

// Close ends the sender's reads and gives back its idle connections.
func (s *Sender) Close() {
	for _, n := range s.pool.nodes {
		n.rpc.Close()
	}
	s.http.CloseIdleConnections()
}
