package evm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/wire"
)

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
	said       []byte // the error of a whole batch; nil: there is none
}

// maxBody is how much of an answer to a send is read.
const maxBody = 1 << 20

// send makes the call for one transaction.
func (s *Sender) send(ctx context.Context, n *node, raw []byte) answer {
	id := s.calls.Add(1)
	ans := s.call(ctx, n, rawCall(nil, id, raw))
	ans.id = id
	return ans
}

// rawCall appends the call of one transaction.
func rawCall(b []byte, id int64, raw []byte) []byte {
	return fmt.Appendf(b, `{"jsonrpc":"2.0","id":%d,"method":"eth_sendRawTransaction","params":["0x%x"]}`, id, raw)
}

// call puts a body on the wire once.
func (s *Sender) call(ctx context.Context, n *node, body []byte) (ans answer) {
	start := time.Now()
	ans.host = n.host
	traced, trace := wire.Watch(ctx)
	defer func() {
		ans.wrote, ans.answered = trace.Wrote.Load(), trace.Answered.Load()
		ans.took = time.Since(start)
	}()
	if ans.err = ctx.Err(); ans.err != nil {
		return ans
	}
	req, err := request(traced, n, body)
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
func request(ctx context.Context, n *node, call []byte) (*http.Request, error) {
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
