package rpcproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// fakeNode answers each call with its method as the result, and counts.
type fakeNode struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]int
}

func newNode(t *testing.T) *fakeNode {
	n := &fakeNode{seen: map[string]int{}}
	n.Server = httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(n.Close)
	return n
}

func (n *fakeNode) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	q, err := parse(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var answers []reply
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range q.calls {
		n.seen[c.Method]++
		result, _ := json.Marshal(c.Method)
		answers = append(answers, reply{Version: "2.0", ID: c.ID, Result: result})
	}
	var out any = answers
	if !q.batch {
		out = answers[0]
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (n *fakeNode) calls(method string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen[method]
}

// front starts a proxy before a node, which always misbehaves as the spec says.
func front(t *testing.T, node, spec string) *Proxy {
	t.Helper()
	p, err := Start(t.Context(), Config{Node: node, Faults: mustParse(t, spec), MaxFaults: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func post(t *testing.T, url, body string) (*http.Response, string, error) {
	t.Helper()
	return postWith(t.Context(), url, body)
}

func postWith(ctx context.Context, url, body string) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

const (
	sendCall    = `{"jsonrpc":"2.0","id":7,"method":"eth_sendRawTransaction","params":["0x01"]}`
	receiptCall = `{"jsonrpc":"2.0","id":8,"method":"eth_getTransactionReceipt","params":["0x02"]}`
	txCall      = `{"jsonrpc":"2.0","id":9,"method":"eth_getTransactionByHash","params":["0x02"]}`
	blockCall   = `{"jsonrpc":"2.0","id":"x","method":"eth_blockNumber","params":[]}`
)

func TestPassesThrough(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	p := front(t, n.URL, "")
	for _, body := range []string{sendCall, "[" + receiptCall + "," + blockCall + "]"} {
		_, want, _ := post(t, n.URL, body)
		if _, got, err := post(t, p.URL, body); err != nil || got != want {
			t.Errorf("%s answers %s, %v; want %s", body, got, err, want)
		}
	}
	if c := p.Calls(); c["eth_sendRawTransaction"] != 1 || c["eth_blockNumber"] != 1 {
		t.Errorf("calls %v", c)
	}
}

// TestAnswers has a row for each fault that ends in an answer.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		word, call string
		status     int
		has        string
		forwarded  bool
	}{
		{"http-429", sendCall, 429, `"code":429`, false},
		{"json-429", sendCall, 200, `"id":7,"error":{"code":429`, false},
		{"html-502", sendCall, 502, `<html>`, false},
		{"wrong-hash", sendCall, 200, `"result":"0xabab`, true},
		{"null-receipt", receiptCall, 200, `"id":8,"result":null`, true},
		{"null-tx", txCall, 200, `"id":9,"result":null`, true},
		{"half-reply", sendCall, 200, `{"jsonrpc"`, true},
		{"slow", sendCall, 200, `"result":"eth_sendRawTransaction"`, true},
	} {
		n := newNode(t)
		spec := tt.word + "=100%"
		if tt.word == "slow" {
			spec += ":1ms"
		}
		p := front(t, n.URL, spec)
		resp, body, err := post(t, p.URL, tt.call)
		if err != nil || resp.StatusCode != tt.status || !strings.Contains(body, tt.has) {
			t.Errorf("%s: %v, %q; want %d with %s", tt.word, err, body, tt.status, tt.has)
			continue
		}
		q, _ := parse([]byte(tt.call))
		if forwarded := n.calls(q.calls[0].Method) == 1; forwarded != tt.forwarded {
			t.Errorf("%s: forwarded %v, want %v", tt.word, forwarded, tt.forwarded)
		}
		if tt.word == "http-429" && resp.Header.Get("Retry-After") != "1" {
			t.Error("http-429 without Retry-After: 1")
		}
		if tt.word == "half-reply" && json.Valid([]byte(body)) {
			t.Errorf("half a reply is whole: %s", body)
		}
		if p.Hits()[tt.word] != 1 {
			t.Errorf("%s: hits %v", tt.word, p.Hits())
		}
	}
}

// TestLosesAnswers: the send happens, nobody hears of it.
func TestLosesAnswers(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	p := front(t, n.URL, "accept-reset=100%")
	if _, body, err := post(t, p.URL, sendCall); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Errorf("accept-reset answers %q, %v; want a reset", body, err)
	}
	p.Turn(mustParse(t, "accept-timeout=100%"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // hang up once the node has it
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for n.calls("eth_sendRawTransaction") < 2 && ctx.Err() == nil {
			<-tick.C
		}
		cancel()
	}()
	if _, body, err := postWith(ctx, p.URL, sendCall); !errors.Is(err, context.Canceled) {
		t.Errorf("accept-timeout answers %q, %v; want to wait until the caller hangs up", body, err)
	}
	p.Turn(mustParse(t, "accept-timeout=100%:1ms"))
	if _, body, err := post(t, p.URL, sendCall); err == nil {
		t.Errorf("accept-timeout with a duration answers %q", body)
	}
	if got := n.calls("eth_sendRawTransaction"); got != 3 {
		t.Errorf("%d sends reached the node, want 3", got)
	}
	if _, body, err := post(t, p.URL, blockCall); err != nil || !strings.Contains(body, "eth_blockNumber") {
		t.Errorf("another method: %q, %v", body, err)
	}
}

// TestBatch: faults of single calls leave the others alone, in their order.
func TestBatch(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	batch := "[" + blockCall + "," + receiptCall + "," + sendCall + "," + txCall + "]"
	for spec, want := range map[string]string{
		"null-receipt=100%":             `"eth_blockNumber" null "eth_sendRawTransaction" "eth_getTransactionByHash"`,
		"null-tx=100%,wrong-hash=100%":  `"eth_blockNumber" "eth_getTransactionReceipt" "0x` + strings.Repeat("ab", 32) + `" null`,
		"json-429@eth_blockNumber=100%": ` "eth_getTransactionReceipt" "eth_sendRawTransaction" "eth_getTransactionByHash"`,
	} {
		_, body, err := post(t, front(t, n.URL, spec).URL, batch)
		var got []reply
		if err != nil || json.Unmarshal([]byte(body), &got) != nil || len(got) != 4 {
			t.Errorf("%s: %s, %v", spec, body, err)
			continue
		}
		var results []string
		for i, id := range []string{`"x"`, "8", "7", "9"} {
			if string(got[i].ID) != id {
				t.Errorf("%s: answer %d has id %s, want %s", spec, i, got[i].ID, id)
			}
			results = append(results, string(got[i].Result))
		}
		if s := strings.Join(results, " "); s != want {
			t.Errorf("%s: %s, want %s", spec, s, want)
		}
	}
	if resp, _, err := post(t, front(t, n.URL, "http-429=100%").URL, batch); err != nil || resp.StatusCode != 429 {
		t.Errorf("a whole batch: %v", err)
	}
	if n := n.calls("eth_blockNumber"); n != 2 {
		t.Errorf("%d calls reached the node, want 2: what is refused is not forwarded", n)
	}
}

// TestSameSeedSameFaults: what a transaction meets does not depend on what else is called.
func TestSameSeedSameFaults(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const spec = "json-429=50%"
	meet := func(p *Proxy) (s string) {
		for range 32 {
			_, body, err := post(t, p.URL, sendCall)
			s += fmt.Sprint(strings.Contains(body, "429"), err)
		}
		return s
	}
	a, b := front(t, n.URL, spec), front(t, n.URL, spec)
	_, _, _ = post(t, b.URL, blockCall)
	if meet(a) != meet(b) {
		t.Error("the same seed meets other faults")
	}
}

func TestDropsPools(t *testing.T) {
	t.Parallel()
	var dropped atomic.Int32
	done := make(chan struct{})
	p, err := Start(t.Context(), Config{Node: newNode(t).URL, Faults: mustParse(t, "drop-pool=100%:1ms"),
		DropPool: func(context.Context) error {
			if dropped.Add(1) == 3 {
				close(done)
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	<-done
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if hits := p.Hits()["drop-pool"]; hits < 2 {
		t.Errorf("%d hits, want what was dropped", hits)
	}
}

// TestStopEndsWaiters: a caller that waits for a timeout does not hold up the end.
func TestStopEndsWaiters(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	p := front(t, n.URL, "accept-timeout=100%:1h")
	failed := make(chan error, 1)
	go func() {
		_, _, err := postWith(context.WithoutCancel(t.Context()), p.URL, sendCall)
		failed <- err
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n.calls("eth_sendRawTransaction") == 0 {
		<-tick.C
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("an answer came after all")
	}
}

func TestNodeAway(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	p := front(t, "http://"+l.Addr().String(), "")
	if resp, _, err := post(t, p.URL, sendCall); err != nil || resp.StatusCode != http.StatusBadGateway {
		t.Errorf("without a node: %v", err)
	}
	if resp, _, err := post(t, p.URL, "nonsense"); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("nonsense: %v", err)
	}
}
