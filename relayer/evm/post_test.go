package evm_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
)

// counter stands before a node, counts the calls with sends, and may refuse batches of them.
type counter struct {
	*httptest.Server
	calls, batches atomic.Int64
	single         bool
}

func newCounter(t *testing.T, node string, single bool) *counter {
	c := &counter{single: single}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := strings.Count(string(body), "eth_sendRawTransaction")
		if n > 0 {
			c.calls.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		if n > 1 {
			c.batches.Add(1)
			if c.single {
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not allowed"}}`)
				return
			}
		}
		b, err := forward(r.Context(), node, body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(func() { c.CloseClientConnections(); c.Close() })
	return c
}

// TestSendBatch: sends that come up together share calls, and each has its own verdict: of bytes that the node knows, and
// of some that are for another chain's number.
func TestSendBatch(t *testing.T) {
	t.Parallel()
	const most = 60
	c := startChain(t, nil)
	g := newCounter(t, c.URL, false)
	cfg := config(t, g.URL)
	cfg.SendBatch = 20
	s := open(t, cfg)
	all := make([]intents.Attempt, most)
	for n := range all {
		_, all[n] = prepared(t, s, n)
	}
	submit(t, open(t, config(t, c.URL)), all[0]) // known by now
	var wait sync.WaitGroup
	verdicts := make([]intents.Verdict, most)
	for n, a := range all {
		wait.Go(func() { verdicts[n] = s.Submit(t.Context(), a).Verdict })
	}
	wait.Wait()
	for n, v := range verdicts {
		if v != intents.Accepted {
			t.Errorf("send %d: %v", n, v)
		}
	}
	if n := g.calls.Load(); n >= most/2 || g.batches.Load() == 0 {
		t.Errorf("%d calls for %d sends", n, most)
	}
	if pending, _, err := c.PoolSize(t.Context()); err != nil || pending != most {
		t.Errorf("%d in the pool, %v", pending, err)
	}
}

// TestNoSendBatch: a node that takes no batch gets sends one by one; those that were refused with it go out again.
func TestNoSendBatch(t *testing.T) {
	t.Parallel()
	const most = 30
	c := startChain(t, nil)
	g := newCounter(t, c.URL, true)
	cfg := config(t, g.URL)
	cfg.SendBatch = 20
	s := open(t, cfg)
	var wait sync.WaitGroup
	for n := range most {
		_, a := prepared(t, s, n)
		wait.Go(func() {
			submitUntil(t, s, a, func(r intents.Result) bool { return r.Verdict == intents.Accepted })
		})
	}
	wait.Wait()
	if pending, _, err := c.PoolSize(t.Context()); err != nil || pending != most {
		t.Errorf("%d in the pool, %v", pending, err)
	}
}
