package webhook_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/sendertest"
	"github.com/nsqrelayer/relayer/relayer/webhook"
)

var (
	_ relayer.Sender = (*webhook.Sender)(nil)
	_ relayer.Canon  = (*webhook.Sender)(nil)
)

const (
	bearer   = "Bearer tok-SECRET-1"
	pathKey  = "hook-SECRET-2"
	queryKey = "q-SECRET-3"
	signKey  = "sign-SECRET-4"
)

// provider is a payment provider that counts effects by idempotency key.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	mode    sendertest.Mode
	let     chan struct{}
	calls   int
	effects map[string]int
	once    bool // a key has one effect
}

func newProvider(t *testing.T, once bool) *provider {
	p := &provider{let: make(chan struct{}), effects: make(map[string]int), once: once}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(func() { p.turn(sendertest.Dead) })
	return p
}

func (p *provider) turn(m sendertest.Mode) {
	p.mu.Lock()
	if p.mode == sendertest.Hangs {
		close(p.let)
		p.let = make(chan struct{})
	}
	p.mode = m
	p.mu.Unlock()
	if m == sendertest.Dead {
		p.Close()
	}
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		p.find(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var in struct{ ID string }
	if json.Unmarshal(body, &in) != nil || in.ID != r.Header.Get("Idempotency-Key") {
		http.Error(w, "key and body differ", http.StatusTeapot)
		return
	}
	switch mode, let := p.take(in.ID); mode {
	case sendertest.Hangs:
		select {
		case <-let:
		case <-r.Context().Done():
		}
	case sendertest.Loses:
		hangUp(w)
	default:
		fmt.Fprintf(w, `{"id":%q,"reference":"ref-%s","status":"done"}`, in.ID, in.ID)
	}
}

func (p *provider) take(id string) (sendertest.Mode, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if p.mode != sendertest.Hangs && (!p.once || p.effects[id] == 0) {
		p.effects[id]++
	}
	return p.mode, p.let
}

func (p *provider) find(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if p.effects[id] == 0 {
		http.NotFound(w, r)
		return
	}
	fmt.Fprintf(w, `{"id":%q,"reference":"ref-%s","status":"done"}`, id, id)
}

func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

func payment(n int) intents.Intent {
	return intents.Intent{
		ID: fmt.Sprintf("pi_%04d", n), Route: "webhooks", Account: "acct_1", Destination: "iban:DE00<>",
		Asset: "EUR", Amount: intents.NewAmount(int64(1000 + n)), Metadata: map[string]string{"b": "2", "a": "1"},
	}
}

// config is one for a server of the test, with secrets in every place that may hold one.
func config(t *testing.T, base string) webhook.Config {
	return webhook.Config{
		URL: base + "/v1/" + pathKey + "?key=" + queryKey, Idempotent: true, KeyRetention: 24 * time.Hour,
		Lookup: base + "/v1/" + pathKey + "/{id}?key=" + queryKey, Secret: signKey,
		Headers: map[string]string{"Authorization": bearer}, Allow: []string{"127.0.0.0/8"}, Timeout: 30 * time.Second,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func open(t *testing.T, cfg webhook.Config) *webhook.Sender {
	t.Helper()
	s, err := webhook.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// prepared gives the bytes of the n-th payment.
func prepared(t *testing.T, s *webhook.Sender, n int) intents.Attempt {
	t.Helper()
	in := payment(n)
	p, err := s.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Prepare(t.Context(), in, intents.Slot{Kind: p.Slot, Scope: p.Scope, Name: in.ID}, intents.First, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestSender(t *testing.T) {
	for name, once := range map[string]bool{"with keys": true, "without keys": false} {
		t.Run(name, func(t *testing.T) {
			sendertest.Run(t, sendertest.Harness{
				Once:    once,
				Secrets: []string{"SECRET"},
				Open:    func(t *testing.T) *sendertest.Stage { return stage(t, once) },
			})
		})
	}
}

func stage(t *testing.T, once bool) *sendertest.Stage {
	p := newProvider(t, once)
	cfg := config(t, p.URL)
	if !once {
		cfg.Idempotent, cfg.KeyRetention = false, 0
	}
	return &sendertest.Stage{
		Sender: open(t, cfg), Intent: payment, Turn: p.turn,
		Calls: func() int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.calls
		},
		Effects: func(n int) int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.effects[payment(n).ID]
		},
	}
}
