package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/client"
	"github.com/nsqrelayer/relayer/intents"
)

const created = `{"id":"pi_1","state":"authorized","amount":"1000"}`

// script is a server in a bubble, which answers try after try, the last for ever.
type script struct {
	mu    sync.Mutex
	steps []step
	keys  []string
	at    []time.Time
}

type step struct {
	status int // 0: no answer
	after  string
	body   string
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.steps[min(len(s.at), len(s.steps)-1)]
	body, _ := io.ReadAll(r.Body)
	s.keys, s.at = append(s.keys, r.Header.Get("Idempotency-Key")+" "+string(body)), append(s.at, time.Now())
	if st.status == 0 {
		return nil, errors.New("connection reset by peer")
	}
	h := http.Header{}
	if st.after != "" {
		h.Set("Retry-After", st.after)
	}
	return &http.Response{StatusCode: st.status, Header: h, Body: io.NopCloser(strings.NewReader(st.body)), Request: r}, nil
}

// create asks a script in a bubble.
func create(t *testing.T, timeout time.Duration, steps ...step) (s *script, got intents.View, took time.Duration, err error) {
	t.Helper()
	s = &script{steps: steps}
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, client.Config{URL: "http://relayer.example", HTTPClient: &http.Client{Transport: s}})
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		began := time.Now()
		got, err = c.Create(ctx, payment("pi_1"))
		took = time.Since(began)
	})
	return s, got, took, err
}

// What may pass is tried again, with the same key and bytes.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	for name, st := range map[string]step{
		"no answer":                  {},
		"the answer is cut":          {status: 201, body: `{"id":"pi_`},
		"a gateway has no backend":   {status: 502, body: "<html>"},
		"the store is away":          {status: 503, body: `{"code":"unavailable"}`},
		"a gateway waited in vain":   {status: 504},
		"too many requests":          {status: 429, body: `{"code":"rate_limited"}`},
		"too many, say a word later": {status: 429, after: "7", body: `{"code":"rate_limited"}`},
	} {
		s, got, took, err := create(t, time.Hour, st, st, step{status: 201, body: created})
		if err != nil || got.State != "authorized" || len(s.at) != 3 {
			t.Fatalf("%s: %+v after %d tries, %v", name, got, len(s.at), err)
		}
		if s.keys[0] != s.keys[2] || !strings.HasPrefix(s.keys[0], "pi_1 {") {
			t.Errorf("%s: asked %q, then %q", name, s.keys[0], s.keys[2])
		}
		if st.after != "" && took < 14*time.Second || st.after == "" && took > time.Second {
			t.Errorf("%s: waited %v", name, took)
		}
	}
}

// What the API refuses is not tried again, and after a try without an answer a refusal proves nothing.
func TestNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 409, 415, 422, 500} {
		s, _, _, err := create(t, time.Hour, step{status: status, body: `{"code":"some_code"}`}, step{status: 201, body: created})
		if e := problemOf(t, err, status, "some_code"); len(s.at) != 1 || e.Final != (status < 500) {
			t.Errorf("%d: %d tries, final %v", status, len(s.at), e.Final)
		}
	}
	_, _, _, err := create(t, time.Hour, step{}, step{status: 401, body: `{"code":"unauthorized"}`})
	if e := problemOf(t, err, 401, client.CodeUnauthorized); e.Final {
		t.Error("a refusal after a try without an answer is called final")
	}
	_, _, _, err = create(t, time.Hour, step{status: 408})
	if e := problemOf(t, err, 408, ""); e.Final {
		t.Error("what a gateway says is called final")
	}
}

// It ends when the context or the patience does, with what was answered last, and waits for nothing in vain.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	busy := step{status: 429, after: "3600", body: `{"code":"rate_limited"}`}
	s, _, took, err := create(t, time.Minute, busy)
	if problemOf(t, err, 429, client.CodeRateLimited); took > 0 || len(s.at) != 1 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("told to come in an hour, with a minute left: %d tries in %v, %v", len(s.at), took, err)
	}
	away := step{status: 503, body: `{"code":"unavailable"}`}
	s, _, took, err = create(t, 10*time.Second, away)
	if problemOf(t, err, 503, client.CodeUnavailable); took > 10*time.Second || len(s.at) < 4 || !errors.Is(err, intents.ErrUnavailable) {
		t.Errorf("away: %d tries in %v, %v", len(s.at), took, err)
	}
	_, _, took, err = create(t, 24*time.Hour, away)
	if problemOf(t, err, 503, client.CodeUnavailable); took > time.Minute || took < 30*time.Second {
		t.Errorf("patience: %v, %v", took, err)
	}
}

// A server that takes a call and hangs is asked again: Timeout bounds one try. What the first call stored is found.
func TestHungTry(t *testing.T) {
	t.Parallel()
	var once sync.Once
	api, id := open(), fresh("http")
	inner := dial(t, client.Config{URL: api.URL, Token: api.Token})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hang := false
		once.Do(func() { hang = true })
		if _, err := inner.Create(r.Context(), payment(id)); err != nil && !hang {
			http.Error(w, err.Error(), http.StatusTeapot)
			return
		}
		if hang {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"state":"authorized"}`)
	}))
	t.Cleanup(s.Close)
	c := dial(t, client.Config{URL: s.URL, Timeout: time.Second, Patience: 5 * time.Minute})
	if got, err := c.Create(t.Context(), payment(id)); err != nil || got.State != "authorized" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if line, err := api.Store.Events(t.Context(), id); err != nil || len(line) != 2 {
		t.Errorf("%d lines, %v", len(line), err)
	}
}
