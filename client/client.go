package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Config says where the HTTP API is. URL is required.
type Config struct {
	URL   string // as https://relayer.example, without /v1
	Token string // made by relayer token create; needs the scope submit to create. It is never shown

	HTTPClient *http.Client  // its redirects are not followed. Default: one of Go's defaults
	Timeout    time.Duration // of one try. Default 15s
	Patience   time.Duration // how long is tried where the context does not end before. Default 1m
}

// Client asks the HTTP API. It is safe for concurrent use.
type Client struct {
	base     string
	dress    func(*http.Request) // adds the token; a func, since whoever prints a Client would print a field
	hide     func(string) string // takes the token out of a text
	http     *http.Client
	timeout  time.Duration
	patience time.Duration
}

// New makes a client; it asks nobody. Errors: *intents.InvalidError.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, &intents.InvalidError{Field: "url", Want: "an http or https URL without user info and query"}
	}
	if strings.ContainsFunc(cfg.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &intents.InvalidError{Field: "token", Want: "printable ASCII characters without blanks"}
	}
	ask := http.Client{}
	if cfg.HTTPClient != nil {
		ask = *cfg.HTTPClient
	}
	ask.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &Client{
		base: strings.TrimSuffix(cfg.URL, "/") + "/v1/intents", http: &ask, dress: func(*http.Request) {}, hide: strings.Clone,
		timeout: cmp.Or(cfg.Timeout, 15*time.Second), patience: cmp.Or(cfg.Patience, time.Minute),
	}
	if cfg.Token != "" {
		c.dress = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+cfg.Token) }
		c.hide = func(text string) string { return strings.ReplaceAll(text, cfg.Token, "***") }
	}
	return c, nil
}

// order is the body of a create. The id is the Idempotency-Key.
type order struct {
	Route       string            `json:"route"`
	Account     string            `json:"account"`
	Destination string            `json:"destination"`
	Asset       string            `json:"asset"`
	Amount      intents.Amount    `json:"amount"`
	NotBefore   time.Time         `json:"not_before,omitzero"`
	ExpiresAt   time.Time         `json:"expires_at,omitzero"`
	Lane        string            `json:"lane,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Traceparent string            `json:"traceparent,omitempty"`
}

// Create has an intent stored and authorized, and returns it as it stands then: one that is known with the same content may
// be further. It tries again while the API cannot be reached, is busy or away, until ctx ends or the patience does.
//
// Errors: *intents.InvalidError, joined where there are several, before anything is asked; *ProblemError for what the API
// answered. After any error whose [ProblemError.Final] is not true the intent may have been stored: create it again.
func (c *Client) Create(ctx context.Context, in intents.Intent) (intents.View, error) {
	if err := in.Validate(); err != nil {
		return intents.View{}, err
	}
	body, err := json.Marshal(order{in.Route, in.Account, in.Destination, in.Asset, in.Amount, in.NotBefore, in.ExpiresAt, in.Lane, in.Metadata, in.Traceparent})
	if err != nil {
		return intents.View{}, err
	}
	return c.try(ctx, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base, bytes.NewReader(body))
		if err == nil {
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Idempotency-Key", in.ID)
		}
		return req, err
	})
}

// Get reads an intent. Errors: *intents.InvalidError for what can be no id; *ProblemError, which is an intents.ErrNotFound
// where no such intent is known.
func (c *Client) Get(ctx context.Context, id string) (intents.View, error) {
	if _, err := intents.EncodeReference(id); err != nil {
		return intents.View{}, err
	}
	return c.try(ctx, func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/"+url.PathEscape(id), nil)
	})
}

// How often Wait looks: at first, and at last.
const (
	lookFirst = 100 * time.Millisecond
	lookLast  = 2 * time.Second
)

// Wait looks until nothing more happens to an intent by itself: it is settled, failed or canceled, or a person must look
// (needs_review). When ctx ends before, it returns the intent as last seen and the context's error. Other errors: as Get.
func (c *Client) Wait(ctx context.Context, id string) (intents.View, error) {
	var last intents.View
	for pause := lookFirst; ; pause = min(2*pause, lookLast) {
		in, err := c.Get(ctx, id)
		if err != nil {
			return last, err
		}
		last = in
		if s, err := intents.ParseState(in.State); err == nil && (s.Final() || s == intents.NeedsReview) {
			return in, nil
		}
		if err := sleep(ctx, pause); err != nil {
			return last, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return ctx.Err()
	}
}
