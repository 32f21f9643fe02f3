package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// ChainError says that a node is one of another chain.
type ChainError struct {
	Host       string
	Want, Have *big.Int
}

func (e *ChainError) Error() string {
	return fmt.Sprintf("the node at %s is of chain %v, want %v", e.Host, e.Have, e.Want)
}

// ours compares a chain id, and shuts a node of another chain out until it is ours again. Errors: *ChainError.
func (s *Sender) ours(ctx context.Context, n *node, chain *hexutil.Big) error {
	have := chain.ToInt()
	ours := have.Cmp(s.chain) == 0
	switch news := s.pool.isOurs(n, ours); {
	case ours && news:
		s.log.InfoContext(ctx, "endpoint is of our chain again", "host", n.host)
	case news:
		s.log.ErrorContext(ctx, "endpoint is of another chain and is not used", "host", n.host, "want", s.chain, "have", have)
	}
	if !ours {
		return &ChainError{Host: n.host, Want: s.chain, Have: have}
	}
	return nil
}

// ready makes sure that a node is of our chain before it is sent to for the first time. Errors as batchEach.
func (s *Sender) ready(ctx context.Context, n *node) error {
	if s.pool.verified(n) {
		return nil
	}
	return s.batchAt(ctx, n, nil)
}

// probe is what one node says of itself.
type probe struct {
	syncing any // false, or an object
	newest  struct{ Number, Timestamp hexutil.Uint64 }
	next    []hexutil.Uint64 // of each account, its pool included
	balance []*hexutil.Big   // of each account; nil: not told
	err     error
}

// Check asks every node whether it is of our chain, and for each signer's next nonce, the pool's transactions included:
// that is where a store that does not know the scope yet begins. The highest counts. Nodes that do not answer or are of
// another chain are left out as long as one is right. Errors: *ChainError when all are wrong; any other: none can tell now.
func (s *Sender) Check(ctx context.Context) (next map[string]int64, err error) {
	var errs, wrong []error
	next = make(map[string]int64)
	for _, p := range s.survey(ctx, true) {
		_, foreign := errors.AsType[*ChainError](p.err)
		switch {
		case p.err == nil:
			s.raise(next, p.next)
		case foreign:
			wrong = append(wrong, p.err)
		default:
			errs = append(errs, p.err)
		}
	}
	switch {
	case len(next) > 0:
		return next, nil
	case len(errs) > 0 || len(wrong) == 0:
		return nil, s.pool.none(errors.Join(errs...))
	}
	return nil, errors.Join(wrong...)
}

// Probe asks every node that was not told to be left alone how it is: of which chain, how high, whether it syncs. The
// error joins those of nodes that cannot be used; what they are good for is remembered, not returned.
func (s *Sender) Probe(ctx context.Context) error {
	var errs []error
	for _, p := range s.survey(ctx, false) {
		errs = append(errs, p.err)
	}
	return errors.Join(errs...)
}

// Run probes every ProbeEvery until ctx ends.
func (s *Sender) Run(ctx context.Context) {
	t := time.NewTicker(s.cfg.ProbeEvery)
	defer t.Stop()
	for {
		if err := s.Probe(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "endpoint cannot be used now", "err", err)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// survey asks nodes at once: all but those that asked for fewer calls, or only those that are not out.
func (s *Sender) survey(ctx context.Context, all bool) []probe {
	var asked []*node
	now := time.Now()
	for _, n := range s.pool.nodes {
		if s.pool.due(n, now, all) {
			asked = append(asked, n)
		}
	}
	probes := make([]probe, len(asked))
	var wait sync.WaitGroup
	for i, n := range asked {
		wait.Go(func() { probes[i] = s.probe(withNode(ctx, n), n, all) })
	}
	wait.Wait()
	s.pool.compare(asked, probes)
	s.count(ctx, probes)
	return probes
}

// probe asks one node. Whether it syncs and what the signers have is not known where it does not say.
func (s *Sender) probe(ctx context.Context, n *node, nonce bool) (p probe) {
	calls := []rpc.BatchElem{
		{Method: "eth_syncing", Result: &p.syncing},
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &p.newest},
	}
	if nonce {
		next, more := s.nonces("pending")
		p.next, calls = next, append(calls, more...)
	}
	must := len(calls)
	p.balance = make([]*hexutil.Big, len(s.accounts))
	for i, a := range s.accounts {
		calls = append(calls, rpc.BatchElem{Method: "eth_getBalance", Args: []any{a.from, "latest"}, Result: &p.balance[i]})
	}
	if p.err = s.batchAt(ctx, n, calls); p.err != nil {
		return p
	}
	for _, c := range calls[1:must] {
		if c.Error != nil {
			p.err = s.elemError(ctx, c)
		}
	}
	return p
}

// count notes the signers' balances as the highest node has them.
func (s *Sender) count(ctx context.Context, probes []probe) {
	var best *probe
	for i := range probes {
		if p := &probes[i]; p.err == nil && (best == nil || p.newest.Number > best.newest.Number) {
			best = p
		}
	}
	if best == nil {
		return
	}
	for i, a := range s.accounts {
		if b := best.balance[i]; b != nil {
			s.holds(ctx, a, b.ToInt())
		}
	}
}

// due says whether a probe may go to n: also to one of another chain, which may be ours again.
func (p *pool) due(n *node, now time.Time, failed bool) (ok bool) {
	p.note(n, func(h *health) { ok = !now.Before(h.until) || failed && !h.limited })
	return ok
}

// compare notes who lags: who syncs, and whose newest block is much older than the newest of all.
func (p *pool) compare(asked []*node, probes []probe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var newest uint64
	for _, pr := range probes {
		if pr.err == nil {
			newest = max(newest, uint64(pr.newest.Timestamp))
		}
	}
	for i, n := range asked {
		pr := probes[i]
		if pr.err != nil {
			continue
		}
		if head := uint64(pr.newest.Number); head > 0 {
			n.saw(head, time.Now())
		}
		n.syncing = pr.syncing != nil && pr.syncing != false
		made := uint64(pr.newest.Timestamp)
		n.behind = made > 0 && newest-made > uint64(lagMost/time.Second)
	}
}
