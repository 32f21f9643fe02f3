package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

// Sender posts intents to one provider. It has a connection pool of its own and is safe for concurrent use.
type Sender struct {
	cfg    Config
	scope  string // the URL's host name: what slots and stored bytes belong to
	client *http.Client
	scrub  *scrubber
	log    *slog.Logger
}

// New makes a sender. Nothing is dialed. Errors: those of [Config.Validate].
func New(cfg Config) (*Sender, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, &intents.InvalidError{Field: "url", Want: "an http or https URL"}
	}
	g, err := newGuard(cfg.Allow)
	if err != nil {
		return nil, err
	}
	return &Sender{cfg: cfg, scope: strings.ToLower(u.Hostname()), client: newClient(cfg, g), scrub: newScrubber(cfg), log: cfg.Logger}, nil
}

// Close gives back the idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Plan needs nothing from outside. The key slot's scope is the endpoint's host name.
func (s *Sender) Plan(context.Context, intents.Intent) (intents.Plan, error) {
	p := intents.Plan{Slot: intents.Key, Scope: s.scope, Again: intents.Never, Seen: s.cfg.Lookup != ""}
	if s.cfg.Idempotent {
		p.Again = intents.For(s.cfg.KeyRetention - retentionMargin)
	}
	return p, nil
}

// Canonical leaves the destination as it is: to us it is data.
func (s *Sender) Canonical(in intents.Intent) (intents.Intent, error) { return in, nil }
