package rpcproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	maxBody = 32 << 20
	patient = time.Minute // how long the node may take
)

// call is one JSON-RPC call.
type call struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// name is what calls of the same thing have in common: the bytes of a send, the hash of a lookup.
func (c call) name() string { return c.Method + string(c.Params) }

// question is what came: one call, or a batch.
type question struct {
	calls []call
	raw   []json.RawMessage // the calls as they came
	batch bool
}

func parse(body []byte) (q question, err error) {
	q.batch = bytes.HasPrefix(bytes.TrimSpace(body), []byte("["))
	if !q.batch {
		q.raw = []json.RawMessage{body}
	} else if err := json.Unmarshal(body, &q.raw); err != nil {
		return q, err
	}
	q.calls = make([]call, len(q.raw))
	for i, raw := range q.raw {
		if err := json.Unmarshal(raw, &q.calls[i]); err != nil {
			return q, err
		}
	}
	return q, nil
}

// draw is the fault of the whole, and those of its calls. One call alone meets at most one.
func (p *Proxy) draw(q question) (whole rule, each []rule) {
	each = make([]rule, len(q.calls))
	within := func(f fault) bool { return known()[f].within }
	if !q.batch {
		c := q.calls[0]
		r := p.ledger.draw(p.cfg.Seed, c.name(), []string{c.Method}, p.cfg.MaxFaults, func(fault) bool { return true })
		if within(r.fault) {
			each[0] = r
			return rule{}, each
		}
		return r, each
	}
	var names, methods []string
	for i, c := range q.calls {
		names, methods = append(names, c.name()), append(methods, c.Method)
		each[i] = p.ledger.draw(p.cfg.Seed, c.name(), []string{c.Method}, p.cfg.MaxFaults, within)
	}
	whole = p.ledger.draw(p.cfg.Seed, strings.Join(names, " "), methods, p.cfg.MaxFaults, func(f fault) bool { return !within(f) })
	return whole, each
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	q, err := parse(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.ledger.count(q.calls)
	whole, each := p.draw(q)
	p.log(r.Context(), q, whole, each)
	switch whole.fault {
	case http429:
		w.Header().Set("Retry-After", "1")
		send(w, http.StatusTooManyRequests, "application/json", []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":429,"message":"too many requests"}}`))
		return
	case html502:
		send(w, http.StatusBadGateway, "text/html", []byte("<html><h1>502 Bad Gateway</h1></html>\n"))
		return
	}
	status, answer, err := p.ask(r.Context(), q, each)
	if err != nil {
		send(w, http.StatusBadGateway, "text/plain", []byte("the node does not answer\n"))
		return
	}
	p.answer(w, r, whole, status, answer)
}

func (p *Proxy) log(ctx context.Context, q question, whole rule, each []rule) {
	for i, r := range append(each, whole) {
		if r.fault != "" {
			p.cfg.Logger.DebugContext(ctx, "rpc fault", "fault", string(r.fault), "method", q.calls[min(i, len(q.calls)-1)].Method)
		}
	}
}

// answer sends what the node said, or what the fault leaves of it.
func (p *Proxy) answer(w http.ResponseWriter, r *http.Request, whole rule, status int, answer []byte) {
	switch whole.fault {
	case acceptTimeout:
		p.wait(r.Context(), whole.delay)
		panic(http.ErrAbortHandler) // closes the connection without an answer
	case acceptReset:
		reset(w)
		return
	case halfReply:
		answer = answer[:len(answer)/2]
	case slow:
		if !p.wait(r.Context(), whole.delay) {
			panic(http.ErrAbortHandler)
		}
	}
	send(w, status, "application/json", answer)
}

// reset ends the connection with a reset instead of a close.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func send(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that has gone away is not our trouble
}

// ask has the node answer, and changes what faults change. The caller may hang up: what it sent is forwarded all the same.
func (p *Proxy) ask(ctx context.Context, q question, each []rule) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patient)
	defer cancel()
	var on []json.RawMessage
	for i, raw := range q.raw {
		if each[i].fault != json429 {
			on = append(on, raw)
		}
	}
	status, answer = http.StatusOK, []byte("[]")
	switch {
	case len(on) == 0:
	case q.batch:
		if answer, err = json.Marshal(on); err == nil {
			status, answer, err = p.forward(ctx, answer)
		}
	default:
		status, answer, err = p.forward(ctx, on[0])
	}
	if err != nil || status != http.StatusOK || !faulty(each) {
		return status, answer, err
	}
	answer, err = distort(q, each, answer)
	return status, answer, err
}

func (p *Proxy) forward(ctx context.Context, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.cfg.Node, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	return resp.StatusCode, answer, err
}
