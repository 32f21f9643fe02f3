package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/api"
	"github.com/nsqrelayer/relayer/internal/desk"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

func migrated(ctx context.Context, dsn string) error {
	_, err := pgstore.Migrate(ctx, dsn, nil)
	return err
}

// office is an API over real HTTP and a real database, with another side that says what it is told to.
type office struct {
	*testing.T
	store *pgstore.Store
	dsn   string
	url   string

	handler http.Handler

	mu        sync.Mutex
	now       time.Time // the API's clock
	facts     map[string]intents.Fact
	down      error    // why the other side cannot be asked
	published []string // topic and body
	deaf      error    // why nothing can be published
}

func open(t *testing.T, change ...func(*api.Config)) *office {
	t.Helper()
	o := &office{T: t, dsn: pgtest.New(t, migrated), now: time.Now(), facts: map[string]intents.Fact{}}
	s, err := pgstore.Open(t.Context(), pgstore.Config{DSN: o.dsn, Actor: "worker"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	o.store = s
	cfg := api.Config{
		Store: s, Looker: "worker", Publisher: o, Loopback: true, Now: o.clock, Follow: 5 * time.Millisecond, Timeout: time.Minute,
		Other: func(_ context.Context, route string) (desk.Other, error) { return o, nil },
		Doors: map[string]desk.Door{"webhooks": {Route: "webhooks", Topic: "intents.webhooks", Assets: []string{"EUR", "USD"},
			Canonical: func(in intents.Intent) (intents.Intent, error) { return in, nil }}},
		Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") },
	}
	for _, f := range change {
		f(&cfg)
	}
	h, err := api.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	o.handler = h
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

func (o *office) clock() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}

// pass lets the API's clock go on.
func (o *office) pass(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = o.now.Add(d)
}

func (o *office) Publish(_ context.Context, topic string, body []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.published = append(o.published, topic+" "+string(body))
	return o.deaf
}

func (o *office) Peek(_ context.Context, w intents.Watch) (intents.Observation, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return intents.Observation{Slot: w.Slot, No: 1, Of: 1, Fact: o.facts[w.Intent.ID], Ref: "ref-" + w.Intent.ID, Evidence: []byte(`{"status":404}`)}, o.down
}

func (o *office) Look(ctx context.Context, w intents.Watch) (intents.Observation, intents.Intent, error) {
	seen, err := o.Peek(ctx, w)
	if err != nil {
		return seen, intents.Intent{}, err
	}
	ins, err := o.store.Record(ctx, []intents.Watch{w}, []intents.Observation{seen}, intents.Patience{})
	if err != nil {
		return seen, intents.Intent{}, err
	}
	return seen, ins[0], nil
}

func (o *office) Refer(_ context.Context, _ intents.Intent, ref string) (intents.Observation, bool, error) {
	if ref == "nonsense" {
		return intents.Observation{}, true, &intents.InvalidError{Field: "ref", Value: ref, Want: "a hash"}
	}
	return intents.Observation{}, false, nil
}

// reply is what was answered.
type reply struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

// code is that of a problem.
func (r reply) code() string { s, _ := r.body["code"].(string); return s }

func (r reply) str(name string) string { s, _ := r.body[name].(string); return s }

// ids are those of a page's data, by a field.
func (r reply) ids(field string) (all []string) {
	data, _ := r.body["data"].([]any)
	for _, one := range data {
		m, _ := one.(map[string]any)
		s, _ := m[field].(string)
		all = append(all, s)
	}
	return all
}

// call asks; headers are name, value, name, value.
func (o *office) call(method, path, body string, headers ...string) reply {
	o.Helper()
	req, err := http.NewRequestWithContext(o.Context(), method, o.url+path, strings.NewReader(body))
	if err != nil {
		o.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		o.Fatal(err)
	}
	r := reply{status: resp.StatusCode, header: resp.Header, text: string(text)}
	_ = json.NewDecoder(bytes.NewReader(text)).Decode(&r.body) // what is no JSON has no fields
	return r
}

func (o *office) get(path string, headers ...string) reply {
	o.Helper()
	return o.call(http.MethodGet, path, "", headers...)
}

func (o *office) post(path, body string, headers ...string) reply {
	o.Helper()
	return o.call(http.MethodPost, path, body, headers...)
}

// want checks status and code.
func (o *office) want(r reply, status int, code string) reply {
	o.Helper()
	if r.status != status || r.code() != code {
		o.Errorf("got %d %s, want %d %s", r.status, r.text, status, code)
	}
	if code != "" && (r.header.Get("Content-Type") != "application/problem+json" || r.str("title") == "" || r.str("detail") == "" || r.str("instance") == "" ||
		r.body["status"] != float64(status) || !strings.HasSuffix(r.str("type"), "#"+code)) {
		o.Errorf("not a whole problem: %s %s", r.header.Get("Content-Type"), r.text)
	}
	return r
}

const payment = `{"route":"webhooks","account":"acct_1","destination":"x","asset":"EUR","amount":"100"}`

// create makes an intent over HTTP.
func (o *office) create(id string, more ...string) reply {
	o.Helper()
	return o.post("/v1/intents", payment, append([]string{"Idempotency-Key", id}, more...)...)
}

func (o *office) must(in intents.Intent, err error) intents.Intent {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
	return in
}

func (o *office) claimed(id string) intents.Claimed {
	o.Helper()
	in := o.must(o.store.Create(o.Context(), intents.Intent{ID: id, Route: "webhooks", Account: "acct_1", Destination: "x", Asset: "EUR", Amount: intents.NewAmount(1)}, true, "test"))
	cl, err := o.store.Claim(o.Context(), intents.Claim{Intent: in, Owner: "worker", Term: time.Hour, Plan: intents.Plan{Slot: intents.Key, Scope: "pay.example", Again: intents.Never},
		Attempt: &intents.Attempt{No: 1, Kind: intents.First, Bytes: []byte("bytes that pay"), Name: id}})
	if err != nil {
		o.Fatal(err)
	}
	return cl
}

// reviewed makes an intent in review, at version 4.
func (o *office) reviewed(id string) intents.Intent {
	o.Helper()
	return o.must(o.store.Complete(o.Context(), o.claimed(id), intents.Result{}))
}

// token makes a token and gives its Authorization header.
func (o *office) token(name string, scopes ...intents.Scope) []string {
	o.Helper()
	secret := intents.NewSecret()
	if _, err := o.store.CreateToken(o.Context(), intents.Token{Name: name, Scopes: scopes, CreatedBy: "test"}, intents.HashSecret(secret)); err != nil {
		o.Fatal(err)
	}
	return []string{"Authorization", "Bearer " + secret}
}

var errDown = errors.New("dial https://hunter2@node.example: no route to host")
