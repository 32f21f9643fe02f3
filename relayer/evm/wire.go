package evm

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/wire"
)

// reading is the way of reads, which are batches: it bounds answers, which go-ethereum's client takes whole, and sees
// what that does not show: that the other side asks for fewer calls, and for how long.
type reading struct{ http.RoundTripper }

const (
	maxRead = 32 << 20
	maxPeek = 64 << 10 // of an answer that is no list
)

// busyError says that the other side asks for fewer calls.
type busyError struct {
	status int
	after  time.Duration // 0: it does not say for how long
}

func (e *busyError) Error() string { return fmt.Sprintf("too many calls (HTTP %d)", e.status) }

// RoundTrip returns a *busyError for 429, for 503 with Retry-After, and for a list that is answered with one object of
// an error that says so.
func (r reading) RoundTrip(req *http.Request) (*http.Response, error) {
	now := time.Now()
	resp, err := r.RoundTripper.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	after := wire.RetryAfter(resp.Header, now, intents.MostRetry)
	body, refuses, wait := refusesList(io.LimitReader(resp.Body, maxRead))
	after = cmp.Or(after, wait)
	unavailable := resp.StatusCode == http.StatusServiceUnavailable && after > 0
	if resp.StatusCode == http.StatusTooManyRequests || unavailable || refuses {
		_ = resp.Body.Close()
		return nil, &busyError{resp.StatusCode, after}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	return resp, nil
}

// refusesList looks at an answer and gives it back whole. wait is for how long it asks for fewer calls.
func refusesList(body io.Reader) (whole io.Reader, refuses bool, wait time.Duration) {
	buffered := bufio.NewReader(body)
	if first, err := buffered.Peek(1); err != nil || first[0] != '{' {
		return buffered, false, 0
	}
	var one reply
	start, err := io.ReadAll(io.LimitReader(buffered, maxPeek))
	refuses = err == nil && json.Unmarshal(start, &one) == nil && one.Error != nil && classify(one.Error.Code, one.Error.Message) == limited
	if refuses {
		wait = backoff(one.Error.Data)
	}
	return io.MultiReader(bytes.NewReader(start), buffered), refuses, wait
}

// CloseIdleConnections lets http.Client reach the pool.
func (r reading) CloseIdleConnections() {
	if c, ok := r.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
