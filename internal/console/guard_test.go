package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/console"
)

// locked is a house in which tokens are asked for.
func locked(t *testing.T, now func() time.Time) (*house, *guard) {
	t.Helper()
	g := &guard{tokens: map[string]console.Person{"see": {Name: "ann"}, "act": {Name: "bob", Acts: true}}}
	return newHouse(t, func(c *console.Config) { c.Guard, c.Now = g, now }), g
}

// Every page and every deed wants a token, and what is only to be seen can only be seen.
func TestScopes(t *testing.T) {
	t.Parallel()
	h, _ := locked(t, nil)
	h.reviewed("pi_1", intents.Never)
	deeds := []string{"/intents/pi_1/decide", "/intents/pi_1/note", "/intents/pi_1/cancel", "/intents/pi_1/drop", "/dead-letters/01/replay",
		"/routes/payouts/pause", "/routes/payouts/resume", "/signers/freeze", "/signers/unfreeze"}
	for _, path := range pages {
		if path != "/signin" {
			h.wants(h.get(path), http.StatusSeeOther, "/signin?to=")
		}
	}
	for _, path := range deeds {
		h.wants(h.post(path), http.StatusSeeOther, "/signin")
	}
	h.wants(h.post("/signin", "token", "see", "to", "/review"), http.StatusSeeOther, "/review")
	h.wants(h.get("/intents/pi_1"), http.StatusOK, "ann, who may only look", "Your token may only look")
	h.lacks(h.get("/intents/pi_1"), "<form method=\"post\" action=\"/intents")
	for _, path := range deeds {
		h.wants(h.post(path, "note", "x", "reason", "x", "scope", "x"), http.StatusForbidden, "Nothing was done")
	}
	h.wants(h.post("/signin", "token", "act"), http.StatusSeeOther)
	h.wants(h.post("/intents/pi_1/note", "note", "x"), http.StatusSeeOther, "?did=noted")
	h.wants(h.get("/intents/pi_1"), http.StatusOK, "by bob")
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	h, g := locked(t, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	h.wants(h.post("/signin", "token", "wrong"), http.StatusUnauthorized, "does not open the console")
	for to, want := range map[string]string{"/review": "/review", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/"} {
		if a := h.post("/signin", "token", "act", "to", to); a.to != want {
			t.Errorf("to %q leads to %q", to, a.to)
		}
	}
	a := h.post("/signin", "token", "act")
	for _, word := range []string{"HttpOnly", "SameSite=Strict", "Max-Age=43200", "Path=/"} {
		if got := a.header.Get("Set-Cookie"); !strings.Contains(got, word) {
			t.Errorf("%q has no %s", got, word)
		}
	}
	if strings.Contains(a.header.Get("Set-Cookie"), "act") {
		t.Error("the cookie tells the token")
	}
	h.wants(h.get("/"), http.StatusOK)

	g.mu.Lock()
	delete(g.tokens, "act") // revoked
	g.mu.Unlock()
	h.wants(h.get("/"), http.StatusSeeOther, "/signin")
	h.wants(h.get("/live", "HX-Request", "true"), http.StatusUnauthorized)

	h.wants(h.post("/signin", "token", "see"), http.StatusSeeOther)
	ahead.Store(int64(12 * time.Hour))
	h.wants(h.get("/"), http.StatusSeeOther, "/signin")
	ahead.Store(0)
	h.wants(h.post("/signin", "token", "see"), http.StatusSeeOther)
	kept, _, _ := strings.Cut(h.post("/signin", "token", "see").header.Get("Set-Cookie"), ";")
	out := h.post("/signout")
	h.wants(out, http.StatusSeeOther, "/signin")
	if got := out.header.Get("Set-Cookie"); !strings.Contains(got, "Max-Age=0") {
		t.Errorf("the cookie stays: %q", got)
	}
	h.wants(h.get("/"), http.StatusSeeOther, "/signin")
	h.wants(h.get("/", "Cookie", kept), http.StatusSeeOther, "/signin") // who kept it is out as well
}

// Another site can neither post with a person's session, nor read the console under a name of its own.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.created("pi_1")
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		h.wants(h.do(http.MethodPost, "/intents/pi_1/cancel", nil, header...), http.StatusForbidden, "This came from another site")
	}
	if got := h.read("pi_1"); got.State != intents.Authorized {
		t.Errorf("got %+v", got)
	}
	h.wants(h.get("/", "Host", "evil.example:80"), http.StatusForbidden, "answers to this machine only")
	for _, host := range []string{"localhost:4480", "127.0.0.1", "[::1]:4480", "[::1]"} {
		h.wants(h.get("/", "Host", host), http.StatusOK)
	}
	h.wants(h.do(http.MethodPost, "/intents/pi_1/cancel", nil, "Sec-Fetch-Site", "same-origin"), http.StatusSeeOther)
}

// Without tokens nobody elsewhere is let in, whatever name he asks for, and nobody who comes by a proxy.
func TestOpenToThisMachineOnly(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, header := range []string{"X-Forwarded-For", "Forwarded", "Via"} {
		h.wants(h.get("/", header, "192.0.2.7"), http.StatusForbidden, "answers to this machine only")
	}
	for remote, want := range map[string]int{"192.0.2.7:555": http.StatusForbidden, "127.0.0.1:555": http.StatusOK, "[::1]:555": http.StatusOK} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4480/", nil)
		r.RemoteAddr = remote
		got := httptest.NewRecorder()
		h.web.Config.Handler.ServeHTTP(got, r)
		if got.Code != want {
			t.Errorf("from %s: %d, want %d", remote, got.Code, want)
		}
	}
}

// A form is no place for a gigabyte.
func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.created("pi_1")
	h.wants(h.post("/intents/pi_1/note", "note", strings.Repeat("x", 70<<10)), http.StatusUnprocessableEntity)
}
