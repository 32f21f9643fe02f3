// Package console is the relayer in a browser: what is under way, what is stuck, and what may be done about it. Pages are
// made on the server and work without scripts; scripts only keep parts of them fresh. Nothing is loaded from elsewhere.
package console

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// Config says what the console shows and who may do what. All but Guard, Now and Logger is required.
type Config struct {
	Version string // of the program
	Looker  string // who stands in timelines for what is written because the other side was asked

	Intents Intents
	Reviews Reviews
	Letters Letters
	Routes  Routes
	Signers Signers
	Fleet   Fleet
	Others  Others
	Pulse   Pulse

	Guard  Guard               // who may see and act; nil: everybody who can reach the address, under Open's name
	Open   string              // who stands in timelines where nobody signs in. Default "console"
	Redact func(string) string // keeps secrets out of what errors say; nil: nothing is kept out
	Ask    time.Duration       // how long the other side may take to answer. Default 10s
	Search time.Duration       // how long intents may be searched for. Default 5s: no index leads to some of what may be asked for
	Now    func() time.Time    // default time.Now
	Logger *slog.Logger        // default none
}

// Intents reads intents and calls them off.
type Intents interface {
	// Events reads an intent's timeline, oldest first. Errors: intents.ErrNotFound.
	Events(ctx context.Context, id string) ([]intents.Event, error)
	// Cancel calls an intent off. Errors: intents.ErrNotFound, *intents.TransitionError once it was claimed.
	Cancel(ctx context.Context, id, actor string) (intents.Intent, error)
	// Note adds a line to the timeline. Errors: intents.ErrNotFound.
	Note(ctx context.Context, id, actor string, detail []byte) error
	// Named reads the id of an open intent that has an attempt of a name, a transaction's hash; empty: none was found.
	Named(ctx context.Context, name string) (string, error)
}

// Reviews is what waits for a person, and what persons decide on.
type Reviews interface {
	desk.Records
	// Reviews reads what is in review on a route, or on all where that is empty, longest first.
	Reviews(ctx context.Context, route string, most int) ([]intents.Intent, error)
}

// Others knows the other sides.
type Others interface {
	// Other opens the other side of a route. done ends its use. Errors: it cannot be asked from this process.
	Other(ctx context.Context, route string) (other desk.Other, done func(), err error)
	// Drop sends an empty use of an intent's slot, so that the payment cannot take it, and says what the other side made of
	// it. Errors: why nothing was sent.
	Drop(ctx context.Context, id, actor string) (string, error)
}

// Console serves pages.
type Console struct {
	cfg      Config
	views    *views
	sessions *sessions
	chart    *chart
	standing *standing
}

// New makes a console. Errors: none that a test of the package would not show.
func New(cfg Config) (*Console, error) {
	cfg.Open, cfg.Ask, cfg.Search = cmp.Or(cfg.Open, "console"), cmp.Or(cfg.Ask, 10*time.Second), cmp.Or(cfg.Search, 5*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Redact == nil {
		cfg.Redact = func(text string) string { return text }
	}
	v, err := readViews(cfg.Now)
	if err != nil {
		return nil, err
	}
	return &Console{cfg: cfg, views: v, sessions: newSessions(cfg.Now), chart: newChart(), standing: new(standing)}, nil
}

// Patterns are what Handler wants to serve of a mux, and nothing else: paths of other parts are not the console's to answer.
func Patterns() []string {
	all := []string{"/{$}"}
	for _, part := range []string{"static", "signin", "signout", "live", "intents", "review", "dead-letters", "routes", "instances", "signers"} {
		all = append(all, "/"+part, "/"+part+"/")
	}
	return all
}

// Handler serves all pages. It takes paths as they come.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /static/", files())
	mux.HandleFunc("GET /signin", c.signinPage)
	mux.HandleFunc("POST /signin", c.signin)
	mux.HandleFunc("POST /signout", c.signout)
	for pattern, page := range c.pages() {
		mux.Handle("GET "+pattern, c.sees(page))
	}
	for pattern, deed := range c.deeds() {
		mux.Handle("POST "+pattern, c.acts(deed))
	}
	mux.Handle("/", c.sees(c.nowhere))
	return c.outer(mux)
}

// pages are what is seen.
func (c *Console) pages() map[string]view {
	return map[string]view{
		"/{$}": c.overview, "/live": c.live,
		"/intents": c.list, "/intents/{id}": c.intent, "/intents/{id}/now": c.now,
		"/review":       c.reviews,
		"/dead-letters": c.letters, "/dead-letters/{hash}": c.letter,
		"/routes": c.routes, "/instances": c.instances, "/signers": c.signers,
	}
}

// deeds are what is done.
func (c *Console) deeds() map[string]view {
	return map[string]view{
		"/intents/{id}/decide": c.decide, "/intents/{id}/note": c.note, "/intents/{id}/cancel": c.cancel, "/intents/{id}/drop": c.drop,
		"/dead-letters/{hash}/replay": c.replay,
		"/routes/{route}/pause":       c.pause, "/routes/{route}/resume": c.resume,
		"/signers/freeze": c.freeze, "/signers/unfreeze": c.unfreeze,
	}
}
