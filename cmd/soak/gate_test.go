package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// server answers each call with its own body, and keeps what came.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	came []string
}

func newServer(t *testing.T) *server {
	s := new(server)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.came = append(s.came, string(body))
		s.mu.Unlock()
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) has(body string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.came, " "), body)
}

// behindGate gives a server, its gate, and a call through it that ends with ctx.
func behindGate(t *testing.T) (*server, *gate, func(ctx context.Context, body string) (string, error)) {
	s := newServer(t)
	g, err := openGate("127.0.0.1:0", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	g.addr = g.listener.Addr().String()
	client := &http.Client{Transport: new(http.Transport)}
	t.Cleanup(func() { client.CloseIdleConnections(); _ = g.close() })
	return s, g, func(ctx context.Context, body string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.addr, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		return string(answer), err
	}
}

// harmed runs do while the gate is broken, and wants it whole after.
func harmed(t *testing.T, k kind, do func(s *server, call func(ctx context.Context, body string) (string, error))) *server {
	t.Helper()
	s, g, call := behindGate(t)
	whole := func() {
		t.Helper()
		until(t, "the gate is open", func() bool { answer, err := call(t.Context(), "open"); return err == nil && answer == "open" })
	}
	whole()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.hurt(ctx, k) }()
	until(t, "the gate is broken", func() bool { mode, _ := g.now(); return mode == k })
	do(s, call)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	whole()
	return s
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick, end := time.NewTicker(10*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited %s for: %s", patience, what)
		}
	}
}

func TestGateRefuses(t *testing.T) {
	t.Parallel()
	s := harmed(t, refuse, func(_ *server, call func(context.Context, string) (string, error)) {
		until(t, "a call is refused", func() bool { _, err := call(t.Context(), "open"); return err != nil })
		if answer, err := call(t.Context(), "refused"); err == nil {
			t.Errorf("a call is answered: %q", answer)
		}
	})
	if s.has("refused") {
		t.Error("a refused call came through")
	}
}

// A call that hangs comes through in the end, also when its caller has hung up.
func TestGateHangs(t *testing.T) {
	t.Parallel()
	s := harmed(t, hang, func(s *server, call func(context.Context, string) (string, error)) {
		ctx, hangUp := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer hangUp()
		if answer, err := call(ctx, "hung"); err == nil {
			t.Errorf("a call is answered: %q", answer)
		}
		if s.has("hung") {
			t.Error("the call came through while the gate hangs")
		}
	})
	until(t, "the call comes through", func() bool { return s.has("hung") })
}

func TestGateLosesAnswers(t *testing.T) {
	t.Parallel()
	harmed(t, deaf, func(s *server, call func(context.Context, string) (string, error)) {
		ctx, hangUp := context.WithCancel(t.Context())
		defer hangUp()
		answered := make(chan error, 1)
		go func() { _, err := call(ctx, "deaf"); answered <- err }()
		until(t, "the call comes through", func() bool { return s.has("deaf") })
		hangUp()
		if err := <-answered; err == nil {
			t.Error("the call is answered")
		}
	})
}

func TestGateAnswersLate(t *testing.T) {
	t.Parallel()
	harmed(t, late, func(_ *server, call func(context.Context, string) (string, error)) {
		began := time.Now()
		answer, err := call(t.Context(), "late")
		if took := time.Since(began); err != nil || answer != "late" || took < lateBy {
			t.Errorf("answer %q, error %v after %s, want it after %s", answer, err, took, lateBy)
		}
	})
}
