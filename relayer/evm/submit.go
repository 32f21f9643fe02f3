package evm

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nsqrelayer/relayer/intents"
)

// Submit calls eth_sendRawTransaction with the stored bytes. What the answer means stands in the package comment. They
// go to one node, and where that did not take them, or may not have, to the next: the same bytes in one slot are one
// broadcast, however many nodes hear of it. No node is called twice.
//
// Where a node says that the number is used, or refused these bytes before because there were too many calls, they are
// looked for by their hash: known, they are accepted. Used, and known to nobody, and never sent by this call, the number was
// taken by another.
//
// It does not go through go-ethereum's client, which does not compare the ids of answers over HTTP and takes the error of
// an answer that holds both an error and a result.
func (s *Sender) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	if why := s.unfit(a); why != "" {
		s.log.ErrorContext(ctx, "stored bytes cannot be sent", "slot", a.Slot.String(), "attempt", a.Name, "why", why)
		return intents.Result{Verdict: intents.NotSent, After: intents.MostRetry, Evidence: encode([]evidence{s.evidence(answer{}, why)})}
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	var t tally
	if s.refused.has(a.Name) {
		t.known, _ = s.lookup(ctx, a.Name)
	}
	s.broadcast(ctx, a, &t)
	if t.taken && !t.accepted {
		t.known, t.lost = s.lookup(ctx, a.Name)
	}
	if len(t.calls) > 0 || t.known {
		s.refused.note(a.Name, t.busy && !t.accepted)
	}
	return t.result(a.Name, s.pool, ctx.Err())
}

// broadcast sends to one node after the other until one has the bytes, or nothing better can come of it.
func (s *Sender) broadcast(ctx context.Context, a intents.Attempt, t *tally) {
	var asked []*node
	for ctx.Err() == nil && !t.known {
		n := s.pool.takeFirst(time.Now(), asked)
		if n == nil {
			return
		}
		asked = append(asked, n)
		ans, r := s.submitAt(ctx, n, a, asked)
		t.add(r, s.evidence(ans, r.alarm))
		if r.ends() {
			return
		}
	}
}

// submitAt sends to one node, and notes how it did. While others are left it gets half of the time.
func (s *Sender) submitAt(ctx context.Context, n *node, a intents.Attempt, asked []*node) (answer, ruling) {
	defer s.pool.release(n)
	within := ctx
	if s.pool.others(time.Now(), asked) {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, share(ctx, s.cfg.Timeout))
		defer cancel()
	}
	if err := s.ready(withNode(within, n), n); err != nil { // not a byte of ours left
		return answer{host: n.host, err: err}, ruling{verdict: intents.NotSent}
	}
	ans := s.post(within, n, a.Bytes)
	r := ans.judge(a.Name)
	if r.alarm != "" {
		s.log.WarnContext(ctx, "endpoint needs a look", "host", n.host, "attempt", a.Name, "status", ans.status, "why", r.alarm)
	}
	s.noteSend(ctx, n, &r)
	return ans, r
}

// noteSend tells the pool how a node did. What is wrong with the bytes or their slot is not the node's fault.
func (s *Sender) noteSend(ctx context.Context, n *node, r *ruling) {
	switch {
	case r.busy:
		r.calm = s.pool.cool(n, r.asked)
		r.after = max(r.after, r.calm)
	case r.broken && errors.Is(ctx.Err(), context.Canceled):
	case r.broken:
		s.pool.bad(n)
	default:
		s.pool.good(n)
	}
	if r.class == invalid {
		s.pool.doubt(n) // it may be of another chain by now
	}
}

// unfit says why stored bytes must not leave: they are not what their name says, or for another chain.
func (s *Sender) unfit(a intents.Attempt) string {
	tx := new(types.Transaction)
	switch err := tx.UnmarshalBinary(a.Bytes); {
	case err != nil:
		return "the stored bytes are no transaction"
	case tx.Hash().Hex() != a.Name:
		return "the stored bytes have hash " + tx.Hash().Hex()
	case tx.ChainId().Cmp(s.chain) != 0:
		return "the stored bytes are for chain " + tx.ChainId().String()
	}
	return ""
}
