package evm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/rpcproxy"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// lying stands a proxy before a node, with faults to every call they fit; without end if most is 0.
func lying(t *testing.T, node, spec string, most int) *rpcproxy.Proxy {
	t.Helper()
	f, err := rpcproxy.ParseFaults(spec)
	if err != nil {
		t.Fatal(err)
	}
	if most == 0 {
		most = 1 << 30
	}
	p, err := rpcproxy.Start(t.Context(), rpcproxy.Config{Node: node, Faults: f, MaxFaults: most})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	return p
}

func turn(t *testing.T, p *rpcproxy.Proxy, spec string) {
	t.Helper()
	f, err := rpcproxy.ParseFaults(spec)
	if err != nil {
		t.Fatal(err)
	}
	p.Turn(f)
}

// among is a sender of several endpoints.
func among(t *testing.T, urls ...string) *evm.Sender {
	t.Helper()
	cfg := config(t, "")
	for _, u := range urls {
		cfg.Endpoints = append(cfg.Endpoints, evm.Endpoint{URL: u + "/?apikey=SECRETKEY-2"}) // go-ethereum knows no other path
	}
	return open(t, cfg)
}

// stand is a scripted node that can be changed, and counts its calls.
type stand struct {
	*httptest.Server
	mu     sync.Mutex
	script script
	status int
	header http.Header
	seen   map[string]int
	wait   chan struct{} // answers wait for it, if it is not nil
}

func newStand(t *testing.T, s script) *stand {
	st := &stand{script: s, status: 200, header: http.Header{}, seen: map[string]int{}}
	st.Server = httptest.NewServer(http.HandlerFunc(st.serve))
	st.Config.SetKeepAlivesEnabled(false) // a call to one that was closed is refused, not lost
	t.Cleanup(func() { st.CloseClientConnections(); st.Close() })
	return st
}

func (st *stand) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var calls []call
	batch := json.Unmarshal(body, &calls) == nil
	if !batch {
		calls = make([]call, 1)
		_ = json.Unmarshal(body, &calls[0])
	}
	st.mu.Lock()
	wait := st.wait
	var answers []string
	for _, c := range calls {
		st.seen[c.Method]++
		answers = append(answers, st.script.answer(c))
	}
	maps.Copy(w.Header(), st.header)
	status := st.status
	st.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-r.Context().Done():
			return
		}
	}
	w.WriteHeader(status)
	if batch {
		fmt.Fprintf(w, "[%s]", strings.Join(answers, ","))
		return
	}
	fmt.Fprint(w, answers[0])
}

// set changes what a method answers.
func (st *stand) set(method, answer string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.script[method] = answer
}

// turn changes the HTTP status of everything; kv is one header.
func (st *stand) turn(status int, kv ...string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.status, st.header = status, http.Header{}
	if len(kv) == 2 {
		st.header.Set(kv[0], kv[1])
	}
}

func (st *stand) calls(method string) int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.seen[method]
}

func (st *stand) http() int { return st.calls("eth_chainId") + st.calls("eth_sendRawTransaction") }

// deadURL is where nobody listens.
func deadURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func isLimited(err error) bool {
	_, ok := errors.AsType[*intents.LimitedError](err)
	return ok
}
