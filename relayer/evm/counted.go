package evm

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// Calls hears of the HTTP calls to nodes, for whoever counts. It must not block.
type Calls interface {
	// Called tells of one call: the node's host, the method of the call, or of the first of a batch, the HTTP status, or
	// "error" where there was none, and how long it took until the answer began.
	Called(host, method, code string, took time.Duration)
}

// NodeState is how an endpoint stands.
type NodeState struct {
	Host string // without a path: that may be a secret
	Out  bool   // it is not used now: it failed, asked for fewer calls, or is of another chain
	Late bool   // it is asked after all others: it syncs, or lags
	Head uint64 // the highest block it showed
}

// Nodes tells how each endpoint stands, in the order of the configuration.
func (s *Sender) Nodes() []NodeState {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	now := time.Now()
	var all []NodeState
	for _, n := range s.pool.nodes {
		all = append(all, NodeState{Host: n.host, Out: n.foreign || now.Before(n.until), Late: !n.fit(), Head: n.head})
	}
	return all
}

type methodKey struct{}

// forMethod says what the calls under ctx are for.
func forMethod(ctx context.Context, method string) context.Context {
	return context.WithValue(ctx, methodKey{}, method)
}

// counted tells of the calls that go by way of a transport.
func counted(t *http.Transport, calls Calls) http.RoundTripper {
	if calls == nil {
		return t
	}
	return counting{t, calls}
}

type counting struct {
	*http.Transport
	calls Calls
}

// RoundTrip makes the call. What names no method sends bytes.
func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	method, reads := req.Context().Value(methodKey{}).(string)
	if !reads {
		method = "eth_sendRawTransaction"
	}
	began := time.Now()
	resp, err := c.Transport.RoundTrip(req)
	code := "error"
	if err == nil {
		code = strconv.Itoa(resp.StatusCode)
	}
	c.calls.Called(req.URL.Host, method, code, time.Since(began))
	return resp, err
}
