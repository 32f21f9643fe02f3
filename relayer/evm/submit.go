package evm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/wire"
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
	ans := s.send(within, n, a.Bytes)
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

// answer is what became of one call on the wire.
type answer struct {
	host       string
	id         int64
	status     int           // 0: none came
	retryAfter time.Duration // 0: not asked for
	body       []byte
	whole      bool // the body was read to its end
	err        error
	wrote      bool // a byte of the call may have been written
	answered   bool // a byte of the answer came
	took       time.Duration
}

// maxBody is how much of an answer to a send is read.
const maxBody = 1 << 20

func (s *Sender) send(ctx context.Context, n *node, raw []byte) (ans answer) {
	start := time.Now()
	ans.host = n.host
	ans.id = s.calls.Add(1)
	traced, trace := wire.Watch(ctx)
	defer func() {
		ans.wrote, ans.answered = trace.Wrote.Load(), trace.Answered.Load()
		ans.took = time.Since(start)
	}()
	if ans.err = ctx.Err(); ans.err != nil {
		return ans
	}
	req, err := s.request(traced, n, ans.id, raw)
	if err != nil {
		ans.err = err
		return ans
	}
	resp, err := s.http.Do(req)
	if err != nil {
		ans.err = err
		return ans
	}
	defer resp.Body.Close()
	ans.status, ans.retryAfter = resp.StatusCode, wire.RetryAfter(resp.Header, start, intents.MostRetry)
	ans.body, ans.err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	ans.whole = ans.err == nil && len(ans.body) <= maxBody
	return ans
}

// request has a body but no GetBody, so that net/http cannot send it twice.
func (s *Sender) request(ctx context.Context, n *node, id int64, raw []byte) (*http.Request, error) {
	call := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"eth_sendRawTransaction","params":["0x%x"]}`, id, raw)
	body := struct{ io.Reader }{bytes.NewReader(call)} // hides the type that NewRequest makes a GetBody from
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(call))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	return req, nil
}
