package httpd_test

import (
	"net/http/httptest"
	"testing"

	"github.com/nsqrelayer/relayer/internal/httpd"
)

// Who is on this machine, and says so, is here; whom a proxy brings, or a page under a name of its own, is not.
func TestHere(t *testing.T) {
	for name, c := range map[string]struct {
		peer, host, header string
		want               bool
	}{
		"by address":       {"127.0.0.1:9", "127.0.0.1:4480", "", true},
		"by name":          {"127.0.0.1:9", "localhost:4480", "", true},
		"version 6":        {"[::1]:9", "[::1]:4480", "", true},
		"version 6, bare":  {"[::1]:9", "[::1]", "", true},
		"from elsewhere":   {"192.0.2.1:9", "127.0.0.1:4480", "", false},
		"under a name":     {"127.0.0.1:9", "relayer.example", "", false},
		"a name like ours": {"127.0.0.1:9", "localhost.example:4480", "", false},
		"by a proxy":       {"127.0.0.1:9", "localhost", "X-Forwarded-For", false},
		"by another":       {"127.0.0.1:9", "localhost", "Forwarded", false},
		"no peer":          {"", "localhost", "", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = c.peer, c.host
		if c.header != "" {
			r.Header.Set(c.header, "192.0.2.1")
		}
		if got := httpd.Here(r); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
