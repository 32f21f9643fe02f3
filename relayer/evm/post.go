package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// sending is stored bytes on their way to one node.
type sending struct {
	raw []byte
	id  int64
	ans answer
}

// sendLanes is how many calls with sends are on their way to one node before others wait for company.
const sendLanes = 1

// post sends bytes to a node: where the route sends in batches, in one call with those of others that come up meanwhile.
// The first goes at once; nobody waits for company longer than gatherWait. Each has its own answer, and is judged by that.
func (s *Sender) post(ctx context.Context, n *node, raw []byte) answer {
	if s.cfg.SendBatch < 2 || n.alone.Load() {
		return s.send(ctx, n, raw)
	}
	start, m := time.Now(), &sending{raw: raw}
	err := n.sends.all(ctx, []*sending{m})[0]
	if left, ok := errors.AsType[*leftError](err); ok { // what the call comes to then, nobody hears
		return answer{host: n.host, err: left, wrote: left.begun, took: time.Since(start)}
	}
	return m.ans
}

// postAll makes one call for all.
func (s *Sender) postAll(ctx context.Context, n *node, ms []*sending) {
	if len(ms) == 1 {
		ms[0].ans = s.send(ctx, n, ms[0].raw)
		return
	}
	body := []byte{'['}
	for i, m := range ms {
		if i > 0 {
			body = append(body, ',')
		}
		m.id = s.calls.Add(1)
		body = rawCall(body, m.id, m.raw)
	}
	s.deal(ctx, n, s.call(ctx, n, append(body, ']')), ms)
}

// deal gives each its part of the answer to a batch: what has its id, once. Whoever has none was not answered. What is no
// list of answers is everybody's.
func (s *Sender) deal(ctx context.Context, n *node, ans answer, ms []*sending) {
	parts, list := partsOf(ans)
	if !list {
		s.refusedBatch(ctx, n, &ans)
	}
	for _, m := range ms {
		m.ans = ans
		m.ans.id = m.id
		switch part, told := parts[strconv.FormatInt(m.id, 10)]; {
		case list:
			m.ans.body, m.ans.whole = part, told && part != nil
		case ans.said != nil: // the same error, as if it were of this call
			m.ans.body = fmt.Appendf(nil, `{"id":%d,"error":%s}`, m.id, ans.said)
		}
	}
}

// partsOf takes the answer to a batch apart, by id; an id that comes twice has none. false: it is no list.
func partsOf(ans answer) (parts map[string]json.RawMessage, list bool) {
	var all []json.RawMessage
	if ans.status != 200 && ans.status != 400 || !ans.whole || json.Unmarshal(ans.body, &all) != nil {
		return nil, false
	}
	parts = make(map[string]json.RawMessage, len(all))
	for _, part := range all {
		var r struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal(part, &r) != nil {
			continue
		}
		if _, twice := parts[string(r.ID)]; twice {
			part = nil
		}
		parts[string(r.ID)] = part
	}
	return parts, true
}

// refusedBatch reads the error of a node that answers a batch with one object. Unless there were too many calls it takes
// no batches: from then on it gets sends one by one.
func (s *Sender) refusedBatch(ctx context.Context, n *node, ans *answer) {
	var r struct {
		Error json.RawMessage `json:"error"`
	}
	var e struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if ans.status != 200 && ans.status != 400 || json.Unmarshal(ans.body, &r) != nil || json.Unmarshal(r.Error, &e) != nil {
		return
	}
	ans.said = r.Error
	if classify(e.Code, e.Message) != limited && !n.alone.Swap(true) {
		s.log.WarnContext(ctx, "endpoint takes no batch of sends, it gets them one by one", "host", n.host, "said", s.plain(e.Message))
	}
}
