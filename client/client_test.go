package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/client"
	"github.com/nsqrelayer/relayer/intents"
)

func dial(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func shop(t *testing.T) *client.Client {
	t.Helper()
	return dial(t, client.Config{URL: open().URL, Token: open().Token})
}

// problemOf wants a problem of the API.
func problemOf(t *testing.T, err error, status int, code string) *client.ProblemError {
	t.Helper()
	e, ok := errors.AsType[*client.ProblemError](err)
	if !ok || e.Status != status || e.Code != code {
		t.Fatalf("got %v, want status %d, %s", err, status, code)
	}
	return e
}

// Every field arrives as it was given, and asked for again it is the same intent.
func TestCreate(t *testing.T) {
	t.Parallel()
	c, in := shop(t), payment(fresh("http"))
	in.NotBefore, in.ExpiresAt, in.Lane = time.Now().Add(time.Hour).UTC(), time.Now().Add(2*time.Hour), "lane_1"
	in.Metadata, in.Traceparent = map[string]string{"order": `7 <"é">`}, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for range 2 {
		got, err := c.Create(t.Context(), in)
		if err != nil || got.ID != in.ID || got.State != "authorized" || got.Version != 2 || !got.Amount.Equal(in.Amount) {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	stored, err := open().Store.Get(t.Context(), in.ID)
	if err != nil || stored.Hash() != in.Hash() || stored.Traceparent != in.Traceparent {
		t.Errorf("stored %+v, %v", stored, err)
	}
	if got, err := c.Get(t.Context(), in.ID); err != nil || got.Lane != in.Lane || got.Metadata["order"] != in.Metadata["order"] {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What the API refuses is told by type, and is not asked for again.
func TestRefused(t *testing.T) {
	t.Parallel()
	c, in := shop(t), payment(fresh("http"))
	if _, err := c.Create(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	in.Amount = intents.NewAmount(7)
	_, err := c.Create(t.Context(), in)
	if e := problemOf(t, err, http.StatusUnprocessableEntity, client.CodeOtherContent); !e.Final {
		t.Error("a refusal of the first try is not final")
	}
	_, err = c.Get(t.Context(), "http_unknown")
	if problemOf(t, err, http.StatusNotFound, client.CodeNotFound); !errors.Is(err, intents.ErrNotFound) || errors.Is(err, intents.ErrUnavailable) {
		t.Errorf("not found: %v", err)
	}
	in.Route = "elsewhere"
	_, err = c.Create(t.Context(), in)
	if e := problemOf(t, err, http.StatusUnprocessableEntity, client.CodeInvalid); len(e.Errors) != 1 || e.Errors[0].Location != "body.route" {
		t.Errorf("flaws %+v", e.Errors)
	}
	in.Asset = ""
	_, err = c.Create(t.Context(), in)
	if e, ok := errors.AsType[*intents.InvalidError](err); !ok || e.Field != "asset" {
		t.Errorf("no asset: %v", err)
	}
	for _, id := range []string{"", "..", "a/b", "a?b"} {
		if _, err := c.Get(t.Context(), id); err == nil || errors.Is(err, intents.ErrNotFound) {
			t.Errorf("id %q: %v", id, err)
		}
	}
}

// A token stands in no error, and in nothing that is printed.
func TestTokenIsHidden(t *testing.T) {
	t.Parallel()
	const secret = "rly_SECRET"
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"code":"unauthorized","detail":%q,"errors":[{"message":%[1]q}]}`, r.Header.Get("Authorization"))
	}))
	t.Cleanup(echo.Close)
	_, refused := dial(t, client.Config{URL: open().URL, Token: secret}).Create(t.Context(), payment("http_3"))
	problemOf(t, refused, http.StatusUnauthorized, client.CodeUnauthorized)
	_, echoed := dial(t, client.Config{URL: echo.URL, Token: secret}).Create(t.Context(), payment("http_3"))
	e := problemOf(t, echoed, http.StatusUnauthorized, client.CodeUnauthorized)
	if !strings.Contains(e.Detail, "Bearer ***") {
		t.Errorf("the server saw no token: %s", e.Detail)
	}
	ctx, cancel := context.WithCancel(t.Context())
	loud := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		cancel()
		return nil, fmt.Errorf("cannot send %v", r.Header)
	})}
	c := dial(t, client.Config{URL: open().URL, Token: secret, HTTPClient: loud})
	_, failed := c.Create(ctx, payment("http_3"))
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("canceled: %v", failed)
	}
	_, broken := client.New(client.Config{URL: open().URL, Token: secret + "\n"})
	_, strange := client.New(client.Config{URL: "http://user:" + secret + "@host"})
	for _, v := range []any{refused, echoed, failed, broken, strange, c, *c, e.Errors} {
		if text := fmt.Sprintf("%v %+v %#v", v, v, v); v == nil || strings.Contains(text, secret) {
			t.Errorf("shows the token, or is no error: %s", text)
		}
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A token goes to nobody whom the API's answer names.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(s.Close)
	_, err := dial(t, client.Config{URL: s.URL, Token: "t"}).Create(t.Context(), payment("http_4"))
	if e := problemOf(t, err, http.StatusTemporaryRedirect, ""); e.Final || calls.Load() != 1 {
		t.Errorf("%d calls, %+v", calls.Load(), e)
	}
}

// Wait ends with the intent, or with its context.
func TestWait(t *testing.T) {
	t.Parallel()
	c, id := shop(t), fresh("http")
	if _, err := c.Create(t.Context(), payment(id)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if got, err := c.Wait(ctx, id); !errors.Is(err, context.DeadlineExceeded) || got.ID != "" && got.State != "authorized" {
		t.Errorf("while it is open: %+v, %v", got, err)
	}
	ended := make(chan intents.View)
	go func() {
		got, err := c.Wait(t.Context(), id)
		if err != nil {
			t.Error(err)
		}
		ended <- got
	}()
	if _, err := open().Store.Cancel(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got.State != "canceled" {
		t.Errorf("got %+v", got)
	}
	if _, err := c.Wait(t.Context(), "http_unknown"); !errors.Is(err, intents.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}
