package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/console"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// behind is what a console stands on.
type behind struct {
	cfg    config.Config
	store  *pgstore.Store
	pub    desk.Publisher
	routes []*route // that this process works; none where it only serves
	other  func(ctx context.Context, route string) (desk.Other, error)
	log    *slog.Logger
}

// open makes a console: of the routes worked here it tells how they stand here, of all else what the database knows.
func (b behind) open() (*console.Console, error) {
	return console.New(console.Config{
		Version: version().Version, Looker: instanceName(),
		Intents: b.store, Reviews: b.store,
		Letters: lettersOf{b.store, b}, Routes: routesOf{b}, Signers: signersOf{b.store, b}, Fleet: fleetOf{b.store},
		Others: othersOf{b}, Pulse: pulseOf{b.store}, Guard: guardOf{b.store}, Logger: b.log,
		Redact: func(text string) string { return config.Scrub(b.cfg.Redact(text)) },
	})
}

// mount opens a console and has it serve its pages.
func (b behind) mount(mux *http.ServeMux) (*console.Console, error) {
	c, err := b.open()
	if err != nil {
		return nil, err
	}
	pages := c.Handler()
	for _, pattern := range console.Patterns() {
		mux.Handle(pattern, pages)
	}
	return c, nil
}

// guardOf lets in whoever brings a token of the database.
type guardOf struct{ store *pgstore.Store }

// Open says whether no token was ever made.
func (g guardOf) Open(ctx context.Context) (bool, error) {
	made, _, err := g.store.HasTokens(ctx)
	return !made, err
}

// Check looks the token up. Who may not read sees nothing; who may operate acts.
func (g guardOf) Check(ctx context.Context, token string) (console.Person, error) {
	t, ok, err := g.store.FindToken(ctx, intents.HashSecret(token))
	if err != nil {
		return console.Person{}, err
	}
	if !ok || !t.May(intents.ScopeRead) {
		return console.Person{}, console.ErrBadToken
	}
	return console.Person{Name: t.Name, Acts: t.May(intents.ScopeOperate)}, nil
}

// lettersOf replays dead letters.
type lettersOf struct {
	*pgstore.Store
	behind
}

// Replay publishes one again, unless that would do nothing.
func (l lettersOf) Replay(ctx context.Context, letter intents.BuriedLetter) (intents.Message, intents.Intent, error) {
	return desk.Replay(ctx, l.Store, l.pub, func(name string, in intents.Intent) intents.Intent {
		if r, err := l.cfg.Route(name); err == nil {
			if c, err := canonical(r, in); err == nil {
				return c
			}
		}
		return in
	}, letter)
}

// fleetOf shows processes.
type fleetOf struct{ store *pgstore.Store }

// Instances reads who has told of itself within a day.
func (f fleetOf) Instances(ctx context.Context) ([]console.Instance, error) {
	all, err := f.store.Instances(ctx)
	views := make([]console.Instance, len(all))
	for i, one := range all {
		views[i] = console.Instance{Name: one.Name, Version: one.Version, Host: one.Host, PID: one.PID, Routes: one.Routes,
			InFlight: one.InFlight, Draining: one.Draining, Started: one.StartedAt, SeenAt: one.SeenAt, Gone: one.Silent(time.Now())}
	}
	return views, err
}

// signersOf shows signers, with what their senders have seen of their balances.
type signersOf struct {
	*pgstore.Store
	behind
}

// Balances tells what was last seen of each scope.
func (s signersOf) Balances() map[string]intents.Amount {
	all := map[string]intents.Amount{}
	for _, r := range s.routes {
		w, ok := r.way.(purse)
		if !ok {
			continue
		}
		for scope, wei := range w.Balances() {
			all[scope] = intents.AmountOf(new(big.Int).Set(wei))
		}
	}
	return all
}

// pulseOf counts intents.
type pulseOf struct{ *pgstore.Store }

const (
	mostCounted = 10_000 // of what is open, where there are too many intents to count them all
	mostWaiting = 8
)

// Standing counts all where that takes no time; else what is open, up to a bound, and estimates the rest.
func (c pulseOf) Standing(ctx context.Context) (s console.Standing, err error) {
	small, err := c.Small(ctx)
	switch {
	case err != nil:
	case small:
		err = c.countAll(ctx, &s)
	default:
		err = c.countOpen(ctx, &s)
	}
	if err == nil {
		s.Waiting, err = c.Oldest(ctx, mostCounted, mostWaiting)
	}
	return s, err
}

func (c pulseOf) countAll(ctx context.Context, s *console.Standing) error {
	counts, err := c.Count(ctx, "")
	for _, st := range intents.States() {
		s.Counts = append(s.Counts, console.Count{State: st, N: int64(counts[st])})
	}
	return err
}

func (c pulseOf) countOpen(ctx context.Context, s *console.Standing) error {
	open, err := c.CountOpen(ctx, mostCounted)
	counts := map[intents.State]int{}
	for _, o := range open.Counts {
		counts[o.State] += o.N
	}
	for _, st := range []intents.State{intents.Authorized, intents.Settling, intents.Confirming, intents.NeedsReview} {
		s.Counts = append(s.Counts, console.Count{State: st, N: int64(counts[st]), More: open.Cut})
	}
	s.All = open.Total
	return err
}

// othersOf asks the other sides of routes, and sends in slots.
type othersOf struct{ behind }

// Other gives the other side of a route.
func (o othersOf) Other(ctx context.Context, name string) (desk.Other, func(), error) {
	other, err := o.other(ctx, name)
	return other, func() {}, err
}

// Drop sends an empty use of an intent's slot.
func (o othersOf) Drop(ctx context.Context, id, actor string) (string, error) {
	w, err := desk.Read(ctx, o.store, id)
	if err != nil {
		return "", err
	}
	other, err := o.other(ctx, w.Intent.Route)
	if err != nil {
		return "", err
	}
	pen, ok := other.(pen)
	if !ok {
		return "", fmt.Errorf("nothing can be sent on route %s from this process", w.Intent.Route)
	}
	got, _, err := slotHand{notes: o.store, pen: pen, actor: actor, w: w}.further(ctx, intents.Cancel)
	return got.Verdict.String(), err
}

// route is one that is worked here; nil where none of the name is.
func (b behind) route(name string) *route {
	for _, r := range b.routes {
		if r.name == name {
			return r
		}
	}
	return nil
}
