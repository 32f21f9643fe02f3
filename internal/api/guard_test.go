package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/api"
)

// A page of elsewhere can neither post, nor read by a name of its own that leads here.
func TestPagesOfElsewhere(t *testing.T) {
	t.Parallel()
	o := open(t)
	for _, host := range []string{"evil.example", "evil.example:4480", "127.0.0.1.evil.example", "10.0.0.1", ""} {
		if host != "" {
			o.want(o.get("/v1/intents", "Host", host), 403, "wrong_host")
		}
	}
	for _, host := range []string{"localhost", "localhost:4480", "127.0.0.1:1", "[::1]:80", "[::1]"} {
		o.want(o.get("/v1/intents", "Host", host), 200, "")
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonx"} {
		o.want(o.post("/v1/intents", payment, "Idempotency-Key", "pi_1", "Content-Type", kind), 415, "wrong_content_type")
		o.want(o.post("/v1/intents/pi_1/cancel", "", "Content-Type", kind), 415, "wrong_content_type")
	}
	r := o.get("/v1/intents", "Origin", "https://evil.example")
	for name := range r.header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("answered %s", name)
		}
	}
	if r.header.Get("X-Content-Type-Options") != "nosniff" || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %v", r.header)
	}
	if r := o.call(http.MethodOptions, "/v1/intents", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST", "Content-Type", "application/json"); r.status != 404 {
		t.Errorf("preflight: %d", r.status)
	}
	far := open(t, func(c *api.Config) { c.Loopback = false })
	far.want(far.get("/v1/intents", "Host", "relayer.example"), 401, "unauthorized")
	far.want(far.get("/v1/intents", "X-Forwarded-For", "192.0.2.1"), 401, "unauthorized")
	far.want(far.get("/v1/intents"), 200, "")
}

// Bodies are JSON objects of bounded size, with each name once and none that is not known.
func TestBodies(t *testing.T) {
	t.Parallel()
	o := open(t)
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"unknown field":   {strings.Replace(payment, "{", `{"fee":"1",`, 1), 422, "invalid"},
		"repeated":        {strings.Replace(payment, "{", `{"amount":"1",`, 1), 400, "bad_request"},
		"repeated deeper": {strings.Replace(payment, "{", `{"metadata":{"a":"1","a":"2"},`, 1), 400, "bad_request"},
		"other case":      {strings.Replace(payment, `"amount"`, `"Amount"`, 1), 400, "bad_request"},
		"trailing":        {payment + "{}", 400, "bad_request"},
		"no object":       {"[" + payment + "]", 400, "bad_request"},
		"no JSON":         {payment[1:], 400, "bad_request"},
		"cut":             {payment[:20], 400, "bad_request"},
		"deep":            {`{"metadata":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "}", 400, "bad_request"},
		"nothing":         {"", 400, "bad_request"},
		"too large":       {strings.Replace(payment, "{", "{"+strings.Repeat(" ", 64<<10), 1), 413, "too_large"},
	} {
		t.Run(name, func(*testing.T) { o.want(o.post("/v1/intents", c.body, "Idempotency-Key", "pi_1"), c.status, c.code) })
	}
	largest := strings.Replace(payment, "{", "{"+strings.Repeat(" ", 64<<10-len(payment)), 1)
	o.want(o.post("/v1/intents", largest, "Idempotency-Key", "pi_largest"), 202, "")
	for _, path := range []string{"/v1/", "/v1/none", "/v2/intents", "/v1/intents/a/b/c"} {
		if r := o.get(path); r.status != 404 {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	o.want(o.call(http.MethodDelete, "/v1/intents/pi_1", "", "Content-Type", "application/json"), 404, "no_resource")
}

// need is which scope an operation asks for.
var need = map[string]intents.Scope{
	"POST /v1/intents": "submit", "GET /v1/intents": "read", "GET /v1/intents/{id}": "read", "GET /v1/intents/{id}/events": "read",
	"GET /v1/intents/{id}/attempts": "read", "POST /v1/intents/{id}/cancel": "submit", "POST /v1/intents/{id}/authorize": "operate",
	"POST /v1/intents/{id}/notes": "operate", "GET /v1/reviews": "read", "GET /v1/reviews/{id}": "read", "POST /v1/reviews/{id}/resolve": "operate",
	"GET /v1/deadletters": "read", "GET /v1/deadletters/{hash}": "read", "POST /v1/deadletters/{hash}/replay": "operate", "GET /v1/routes": "read",
	"POST /v1/routes/{route}/pause": "operate", "POST /v1/routes/{route}/resume": "operate", "GET /v1/instances": "read", "GET /v1/stats": "read", "GET /v1/stream": "read",
}

// Every operation of the description is asked with every scope, with none, and with a secret that nobody made.
func TestScopes(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	close(done) // streams end at once
	o := open(t, func(c *api.Config) { c.Ending = done })
	scopes := []intents.Scope{intents.ScopeRead, intents.ScopeSubmit, intents.ScopeOperate}
	tokens := map[intents.Scope][]string{}
	for _, s := range scopes {
		tokens[s] = o.token("only-"+string(s), s)
	}
	var spec struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal([]byte(o.get("/openapi.json").text), &spec); err != nil {
		t.Fatal(err)
	}
	n := 0
	for path, methods := range spec.Paths {
		for method := range methods {
			n++
			method = strings.ToUpper(method)
			scope, ok := need[method+" "+path]
			if !ok {
				t.Errorf("%s %s is not in the table", method, path)
			}
			at := strings.NewReplacer("{id}", "pi_1", "{hash}", "abcdef", "{route}", "none").Replace(path)
			for _, s := range scopes {
				r := o.call(method, at, "{}", tokens[s]...)
				if may := r.status != 403 && r.status != 401; may != (s == scope) {
					t.Errorf("%s %s with %s: %d %s", method, path, s, r.status, r.text)
				}
			}
			for _, header := range []string{"Bearer rlr_guessed", "Bearer", "Bearer ", "Basic " + tokens[scope][1][7:], tokens[scope][1] + "x"} {
				r := o.want(o.call(method, at, "{}", "Authorization", header), 401, "unauthorized")
				if !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("got %v", r.header)
				}
			}
			o.want(o.call(method, at, "{}"), 401, "unauthorized")
		}
	}
	if n != len(need) {
		t.Errorf("%d operations, %d in the table", n, len(need))
	}
}

// While no token was made everybody on this machine may do everything; soon after one was made nobody may without. A revoked
// one is refused soon, too; and the name stands in timelines.
func TestTokens(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.want(o.create("pi_1"), 202, "")
	ci := o.token("ci", intents.ScopeSubmit)
	o.pass(11 * time.Second)
	o.want(o.create("pi_1"), 401, "unauthorized")
	o.want(o.create("pi_2", ci...), 202, "")
	if events, err := o.store.Events(t.Context(), "pi_2"); err != nil || events[0].Actor != "ci" {
		t.Errorf("events %+v, %v", events, err)
	}
	o.want(o.get("/v1/intents/pi_2", ci...), 403, "forbidden")
	if _, err := o.store.RevokeToken(t.Context(), "ci", "ann"); err != nil {
		t.Fatal(err)
	}
	o.pass(11 * time.Second)
	o.want(o.create("pi_3", ci...), 401, "unauthorized")
	o.want(o.create("pi_3"), 401, "unauthorized")
}

// Each token has its own limit, and is told when to come again.
func TestLimits(t *testing.T) {
	t.Parallel()
	o := open(t, func(c *api.Config) { c.Rate, c.Burst, c.Trust = 0.5, 3, time.Hour })
	ann, bob := o.token("ann", intents.ScopeRead), o.token("bob", intents.ScopeRead)
	for range 3 {
		o.want(o.get("/v1/intents", ann...), 200, "")
	}
	for range 3 { // a refused request counts for nothing
		if r := o.want(o.get("/v1/intents", ann...), 429, "rate_limited"); r.header.Get("Retry-After") != "2" {
			t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
		}
	}
	o.want(o.get("/v1/intents", bob...), 200, "")
	o.pass(time.Second)
	if r := o.want(o.get("/v1/intents", ann...), 429, "rate_limited"); r.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
	}
	o.pass(time.Second)
	o.want(o.get("/v1/intents", ann...), 200, "")
	o.want(o.get("/v1/intents", ann...), 429, "rate_limited")
}

// A store that cannot be reached is told, and when to come again; tokens are not taken on trust meanwhile.
func TestStoreIsAway(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.want(o.get("/v1/intents"), 200, "")
	o.store.Close()
	r := o.want(o.get("/v1/intents"), 503, "unavailable")
	if r.header.Get("Retry-After") != "1" || strings.Contains(fmt.Sprint(r.text), o.dsn) {
		t.Errorf("got %v %s", r.header, r.text)
	}
	o.want(o.create("pi_1"), 503, "unavailable")
	o.want(o.get("/v1/intents", "Authorization", "Bearer rlr_x"), 503, "unavailable")
}
