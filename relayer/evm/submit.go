package evm

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/wire"
)

// Submit makes one call of eth_sendRawTransaction with the stored bytes. What the answer means stands in the package
// comment.
//
// It does not go through go-ethereum's client, which does not compare the ids of answers over HTTP and takes the error of
// an answer that holds both an error and a result.
func (s *Sender) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	if why := s.unfit(a); why != "" {
		s.log.ErrorContext(ctx, "stored bytes cannot be sent", "slot", a.Slot.String(), "attempt", a.Name, "why", why)
		return intents.Result{Verdict: intents.NotSent, After: intents.MostRetry, Evidence: s.evidence(answer{}, why)}
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	ans := s.send(ctx, a.Bytes)
	r := ans.judge(a.Name)
	if r.alarm != "" {
		s.log.WarnContext(ctx, "node needs a look", "host", s.host, "attempt", a.Name, "status", ans.status, "why", r.alarm)
	}
	return intents.Result{Verdict: r.verdict, Ref: r.ref, After: r.after, Calm: r.calm, Evidence: s.evidence(ans, r.alarm)}
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

func (s *Sender) send(ctx context.Context, raw []byte) (ans answer) {
	start := time.Now()
	ans.id = s.calls.Add(1)
	traced, trace := wire.Watch(ctx)
	defer func() {
		ans.wrote, ans.answered = trace.Wrote.Load(), trace.Answered.Load()
		ans.took = time.Since(start)
	}()
	if ans.err = ctx.Err(); ans.err != nil {
		return ans
	}
	req, err := s.request(traced, ans.id, raw)
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
func (s *Sender) request(ctx context.Context, id int64, raw []byte) (*http.Request, error) {
	call, err := json.Marshal(struct {
		Version string   `json:"jsonrpc"`
		ID      int64    `json:"id"`
		Method  string   `json:"method"`
		Params  []string `json:"params"`
	}{"2.0", id, "eth_sendRawTransaction", []string{hexutil.Encode(raw)}})
	if err != nil {
		return nil, err
	}
	body := struct{ io.Reader }{strings.NewReader(string(call))} // hides the type that NewRequest makes a GetBody from
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.RPCURL, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(call))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	return req, nil
}
