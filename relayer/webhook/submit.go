package webhook

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/wire"
)

// Submit makes one POST of the stored bytes. What the answer means stands in the package comment.
func (s *Sender) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	m, err := openMessage(a.Bytes)
	if err != nil {
		return s.kept(ctx, a, err.Error())
	}
	if m.To != s.scope {
		return s.kept(ctx, a, "the stored bytes were made for host "+m.To+", not for "+s.scope)
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	req, err := s.post(ctx, m)
	if err != nil {
		return s.kept(ctx, a, s.scrub.err(err))
	}
	ans := s.call(req)
	r := ans.judge(a.Name)
	if r.alarm != "" {
		s.log.WarnContext(ctx, "webhook needs a look", "intent_id", a.Name, "host", s.scope, "status", ans.status, "why", r.alarm)
	}
	return intents.Result{Verdict: r.verdict, Ref: r.ref, After: r.after, Calm: r.calm, Evidence: s.evidence(ans, r.alarm)}
}

// kept is the result when the bytes cannot be put on the wire at all.
func (s *Sender) kept(ctx context.Context, a intents.Attempt, why string) intents.Result {
	s.log.ErrorContext(ctx, "webhook cannot send stored bytes", "intent_id", a.Name, "host", s.scope, "why", why)
	ans := answer{method: http.MethodPost, host: s.scope}
	return intents.Result{Verdict: intents.NotSent, After: intents.MostRetry, Evidence: s.evidence(ans, why)}
}

// post builds the call. It has a body but no GetBody: net/http takes any request with an Idempotency-Key header as fit
// to be sent again on a new connection (isReplayable in request.go), and without GetBody it cannot.
func (s *Sender) post(ctx context.Context, m message) (*http.Request, error) {
	body := struct{ io.Reader }{strings.NewReader(m.Body)} // hides the type that NewRequest makes a GetBody from
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(m.Body))
	s.dress(req)
	for name, value := range m.Headers {
		req.Header.Set(name, value)
	}
	return req, nil
}

// dress adds what is never stored.
func (s *Sender) dress(req *http.Request) {
	req.Header.Set("User-Agent", "nsqrelayer")
	req.Header.Set("Accept", "application/json")
	for name, value := range s.cfg.Headers {
		req.Header.Set(name, value)
	}
}

// answer is what became of one call on the wire.
type answer struct {
	method, host string
	status       int           // 0: none came
	location     string        // host of a redirect
	retryAfter   time.Duration // 0: not asked for
	body         []byte
	whole        bool // the body was read to its end
	err          error
	wrote        bool // a byte of the call may have been written
	answered     bool // a byte of the answer came
	took         time.Duration
}

// maxBody is how much of an answer is read.
const maxBody = 1 << 20

// call makes one call and reads its answer. The request's context is the deadline of both.
func (s *Sender) call(req *http.Request) (ans answer) {
	start := time.Now()
	ans = answer{method: req.Method, host: req.URL.Host}
	ctx, trace := wire.Watch(req.Context())
	defer func() {
		ans.wrote, ans.answered = trace.Wrote.Load(), trace.Answered.Load()
		ans.took = time.Since(start)
	}()
	if ans.err = req.Context().Err(); ans.err != nil {
		return ans
	}
	resp, err := s.client.Do(req.WithContext(ctx))
	if err != nil {
		ans.err = err
		return ans
	}
	defer resp.Body.Close()
	ans.status = resp.StatusCode
	ans.retryAfter = wire.RetryAfter(resp.Header, s.cfg.Clock(), intents.MostRetry)
	if to, err := resp.Location(); err == nil {
		ans.location = to.Host
	}
	ans.body, ans.err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	ans.whole = ans.err == nil && len(ans.body) <= maxBody
	return ans
}
