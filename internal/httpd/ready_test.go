package httpd_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/nsqrelayer/relayer/internal/httpd"
)

// One check that fails makes the process not ready, and says why in one line.
func TestReady(t *testing.T) {
	ask := func(err error) httpd.Check {
		return httpd.Check{Name: "database", Ask: func(context.Context) error { return err }}
	}
	well := httpd.Check{Name: "route a", Ask: func(context.Context) error { return nil }}
	for name, c := range map[string]struct {
		checks []httpd.Check
		target string
		status int
		body   string
	}{
		"well":          {[]httpd.Check{ask(nil), well}, "/readyz", http.StatusOK, "ready\n"},
		"well, verbose": {[]httpd.Check{ask(nil), well}, "/readyz?verbose", http.StatusOK, "[+] database\n[+] route a\nready\n"},
		"not well":      {[]httpd.Check{ask(errors.New("down\nand out")), well}, "/readyz", http.StatusServiceUnavailable, "[-] database: down; and out\nnot ready\n"},
		"not well, verbose": {[]httpd.Check{ask(errors.New("down")), well}, "/readyz?verbose", http.StatusServiceUnavailable,
			"[-] database: down\n[+] route a\nnot ready\n"},
	} {
		w := httptest.NewRecorder()
		httpd.Ready(c.checks...).ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.target, nil))
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s: %d %q, want %d %q", name, w.Code, w.Body, c.status, c.body)
		}
	}
}

// A check that does not return by itself is asked for no longer than a request may take: whoever asks may leave.
func TestReadyEndsWithItsRequest(t *testing.T) {
	hangs := httpd.Check{Name: "slow", Ask: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	httpd.Ready(hangs).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil).WithContext(ctx))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d", w.Code)
	}
}
