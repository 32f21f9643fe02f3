package console_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/console"
	"github.com/nsqrelayer/relayer/internal/desk"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// house is a console over the model store, which decides as Postgres does.
type house struct {
	*testing.T
	store *memstore.Store
	other *other
	rest  *rest
	web   *httptest.Server
	c     *http.Client
}

// other is the other side: it says one thing of everything.
type other struct {
	mu    sync.Mutex
	store *memstore.Store
	fact  intents.Fact
	err   error
	refer *intents.Observation
	asked int
	hangs bool // until whoever asks gives up
}

func (o *other) Peek(ctx context.Context, w intents.Watch) (intents.Observation, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked++
	if o.hangs {
		<-ctx.Done()
		return intents.Observation{}, ctx.Err()
	}
	return intents.Observation{Slot: w.Slot, No: 1, Of: 1, Fact: o.fact, Ref: "seen", Evidence: []byte(`{"said":"<b>nothing</b>"}`)}, o.err
}

func (o *other) Look(ctx context.Context, w intents.Watch) (intents.Observation, intents.Intent, error) {
	seen, err := o.Peek(ctx, w)
	if err != nil {
		return seen, intents.Intent{}, err
	}
	ins, err := o.store.Record(ctx, []intents.Watch{w}, []intents.Observation{seen}, intents.Patience{})
	return seen, ins[0], err
}

func (o *other) Refer(context.Context, intents.Intent, string) (intents.Observation, bool, error) {
	if o.refer == nil {
		return intents.Observation{}, false, nil
	}
	return *o.refer, true, nil
}

// rest is what the model store does not have.
type rest struct {
	*memstore.Store
	other    *other
	mu       sync.Mutex
	down     error
	signer   intents.Signer
	flows    []intents.Flow
	windows  [][2]int64
	dropped  error
	counted  int
	replayed []string
}

func (r *rest) Other(context.Context, string) (desk.Other, func(), error) {
	return r.other, func() {}, nil
}
func (r *rest) Drop(context.Context, string, string) (string, error) { return "accepted", r.dropped }

func (r *rest) Routes(ctx context.Context) ([]console.Route, error) {
	switches, err := r.Store.Routes(ctx)
	all := []console.Route{{Name: "payouts", Sender: "evm", Topic: "intents.payouts", QueueError: "no nsqd is known", Here: &console.Here{PerSecond: "25 a second", Breaker: "shut"}},
		{Name: "webhooks", Sender: "webhook", Topic: "intents.webhooks", Queue: &console.Queue{Depth: 12345, Clients: 2}}}
	for i := range all {
		for _, s := range switches {
			if s.Route == all[i].Name {
				all[i].Switch = s
			}
		}
	}
	return all, err
}

func (r *rest) Signers(context.Context) ([]intents.Signer, error) {
	return []intents.Signer{r.signer}, nil
}

func (r *rest) Freeze(_ context.Context, scope, reason, _ string) (intents.Signer, error) {
	if scope != r.signer.Scope {
		return intents.Signer{}, intents.ErrNoSigner
	}
	r.signer.Frozen = reason
	return r.signer, nil
}

func (r *rest) Unfreeze(_ context.Context, _, _, _ string) (intents.Signer, error) {
	r.signer.Frozen = ""
	return r.signer, nil
}

func (r *rest) Balances() map[string]intents.Amount {
	return map[string]intents.Amount{"evm:1:0xabc": intents.NewAmount(1_000_000_007)}
}

func (r *rest) Instances(context.Context) ([]console.Instance, error) {
	return []console.Instance{{Name: "host-1", Version: "v1", SeenAt: time.Now(), Started: time.Now().Add(-time.Hour), Routes: []string{"payouts", "webhooks"}},
		{Name: "host-2", Gone: true, SeenAt: time.Now().Add(-time.Hour)}}, nil
}

func (r *rest) Replay(ctx context.Context, l intents.BuriedLetter) (intents.Message, intents.Intent, error) {
	return desk.Replay(ctx, r.Store, r, func(route string, in intents.Intent) intents.Intent { return in }, l)
}

func (r *rest) Publish(_ context.Context, topic string, body []byte) error {
	r.replayed = append(r.replayed, topic+" "+string(body))
	return nil
}

func (r *rest) Standing(ctx context.Context) (console.Standing, error) {
	if r.down != nil {
		return console.Standing{}, r.down
	}
	counts, err := r.Count(ctx, "")
	r.counted++
	s := console.Standing{}
	for _, st := range intents.States() {
		s.Counts = append(s.Counts, console.Count{State: st, N: int64(counts[st]), More: st == intents.NeedsReview})
	}
	s.Waiting, _ = r.List(ctx, intents.Filter{States: []intents.State{intents.Authorized, intents.NeedsReview}})
	return s, err
}

// Named knows attempts as reviewed makes them.
func (r *rest) Named(ctx context.Context, name string) (string, error) {
	id, ok := strings.CutPrefix(name, "key-")
	if !ok {
		return "", r.down
	}
	return id, r.down
}

func (r *rest) Flow(_ context.Context, from, to int64) (intents.Flow, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.windows = append(r.windows, [2]int64{from, to})
	if len(r.flows) == 0 {
		return intents.Flow{}, errors.New("no more")
	}
	f := r.flows[0]
	r.flows = r.flows[1:]
	return f, nil
}

// guard knows tokens.
type guard struct {
	mu     sync.Mutex
	tokens map[string]console.Person
	err    error
}

func (g *guard) Open(context.Context) (bool, error) { return len(g.tokens) == 0, g.err }

func (g *guard) Check(_ context.Context, token string) (console.Person, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p, ok := g.tokens[token]; ok {
		return p, nil
	}
	return console.Person{}, console.ErrBadToken
}

func newHouse(t *testing.T, change ...func(*console.Config)) *house {
	t.Helper()
	s := memstore.New(memstore.Config{Actor: "worker"})
	o := &other{store: s}
	h := &house{T: t, store: s, other: o, rest: &rest{Store: s, other: o, signer: intents.Signer{Scope: "evm:1:0xabc", Next: 7, Seen: 9, Window: 16}}}
	cfg := console.Config{Version: "v1", Looker: "worker", Intents: h.rest, Reviews: s, Letters: h.rest, Routes: h.rest, Signers: h.rest, Fleet: h.rest, Others: h.rest, Pulse: h.rest,
		Redact: func(text string) string { return strings.ReplaceAll(text, "SECRETKEY", "***") }}
	for _, f := range change {
		f(&cfg)
	}
	con, err := console.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.web = httptest.NewServer(con.Handler())
	t.Cleanup(h.web.Close)
	jar, _ := cookiejar.New(nil)
	h.c = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return h
}

// answer is what came back.
type answer struct {
	status   int
	header   http.Header
	body, to string
}

func (h *house) do(method, path string, form url.Values, header ...string) answer {
	h.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(h.Context(), method, h.web.URL+path, body)
	if err != nil {
		h.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := h.c.Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text), resp.Header.Get("Location")}
}

func (h *house) get(path string, header ...string) answer {
	h.Helper()
	return h.do(http.MethodGet, path, nil, header...)
}

func (h *house) post(path string, kv ...string) answer {
	h.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(kv); i += 2 {
		form.Set(kv[i], kv[i+1])
	}
	return h.do(http.MethodPost, path, form)
}

// wants checks an answer.
func (h *house) wants(a answer, status int, texts ...string) {
	h.Helper()
	if a.status != status {
		h.Errorf("got %d, want %d; to %q; %s", a.status, status, a.to, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.body+a.to, text) {
			h.Errorf("nothing of %q in %s%s", text, a.to, a.body)
		}
	}
}

func (h *house) lacks(a answer, texts ...string) {
	h.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			h.Errorf("%q is in %s", text, a.body)
		}
	}
}

func (h *house) must(in intents.Intent, err error) intents.Intent {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
	return in
}

func (h *house) read(id string) intents.Intent {
	h.Helper()
	return h.must(h.store.Get(h.Context(), id))
}

func (h *house) created(id string) intents.Intent {
	h.Helper()
	return h.must(h.store.Create(h.Context(), intents.Intent{ID: id, Route: "webhooks", Account: "acct_1", Destination: "<script>alert(1)</script>", Asset: "EUR",
		Amount: intents.NewAmount(123456789012345678), Metadata: map[string]string{"order": "<i>7</i>"}}, true, "test"))
}

// reviewed makes an intent in review; what may be sent again as said.
func (h *house) reviewed(id string, again intents.Again) intents.Intent {
	h.Helper()
	cl, err := h.store.Claim(h.Context(), intents.Claim{Intent: h.created(id), Owner: "worker", Term: time.Hour,
		Plan:    intents.Plan{Slot: intents.Key, Scope: "pay.example", Again: again, Seen: again != intents.Never},
		Attempt: &intents.Attempt{No: 1, Kind: intents.First, Bytes: []byte("BYTES"), Name: "key-" + id}})
	if err != nil {
		h.Fatal(err)
	}
	if again == intents.Never {
		return h.must(h.store.Complete(h.Context(), cl, intents.Result{Evidence: []byte(`{"answer":"<script>none</script>"}`)}))
	}
	in := h.must(h.store.Complete(h.Context(), cl, intents.Result{Verdict: intents.Accepted, Ref: "r"}))
	got, err := h.store.Record(h.Context(), []intents.Watch{{Intent: in, Slot: in.Slot}}, []intents.Observation{{Slot: in.Slot}}, intents.Patience{ConfirmAfter: time.Nanosecond})
	if err != nil || got[0].State != intents.NeedsReview {
		h.Fatalf("got %+v, %v, want it in review", got, err)
	}
	return got[0]
}

// failed makes an intent that a person failed.
func (h *house) failed(id string) intents.Intent {
	h.Helper()
	in := h.reviewed(id, intents.Never)
	got, _, err := h.store.Resolve(h.Context(), id, intents.Order{Verb: intents.Fail, Version: in.Version, Actor: "bob", Reason: "asked them"})
	return h.must(got, err)
}
