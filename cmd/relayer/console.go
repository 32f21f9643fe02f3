package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/console"
	"github.com/nsqrelayer/relayer/internal/desk"
	"github.com/nsqrelayer/relayer/relayer"
)

// openConsole makes the console of a process: of its routes it tells how they stand here, of all else what the database
// knows.
func (p *process) openConsole(log *slog.Logger) (*console.Console, error) {
	return console.New(console.Config{
		Version: version().Version, Looker: instanceName(),
		Intents: p.store, Reviews: p.store,
		Letters: lettersOf{p.store, p}, Routes: routesOf{p}, Signers: signersOf{p.store, p}, Fleet: fleetOf{p.store},
		Others: othersOf{p, log}, Pulse: pulseOf{p.store}, Guard: guardOf{p.store}, Redact: func(text string) string { return config.Scrub(p.cfg.Redact(text)) }, Logger: log,
	})
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
	p *process
}

// Replay publishes one again, unless that would do nothing.
func (l lettersOf) Replay(ctx context.Context, letter intents.BuriedLetter) (intents.Message, intents.Intent, error) {
	return desk.Replay(ctx, l.Store, l.p.pub, func(name string, in intents.Intent) intents.Intent {
		if r, err := l.p.cfg.Route(name); err == nil {
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
	p *process
}

// Balances tells what was last seen of each scope.
func (s signersOf) Balances() map[string]intents.Amount {
	all := map[string]intents.Amount{}
	for _, r := range s.p.routes {
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

// othersOf opens the other sides of the routes that this process works.
type othersOf struct {
	p   *process
	log *slog.Logger
}

// Other asks by the sender and throttle of the route. Each caller has an observer of its own, which serves one at a time.
func (o othersOf) Other(_ context.Context, name string) (desk.Other, func(), error) {
	r := o.p.route(name)
	if r == nil {
		return nil, nil, fmt.Errorf("route %s is not configured in this process", name)
	}
	return o.observer(r), func() {}, nil
}

func (o othersOf) observer(r *route) *relayer.Observer {
	engine := o.p.cfg.Engine(r.name)
	engine.Owner, engine.Logger = instanceName(), o.log
	return relayer.NewObserver(engine, r.store, r.store, r.store, r.way, r.throttle)
}

// Drop sends an empty use of an intent's slot.
func (o othersOf) Drop(ctx context.Context, id, actor string) (string, error) {
	w, err := desk.Read(ctx, o.p.store, id)
	if err != nil {
		return "", err
	}
	r := o.p.route(w.Intent.Route)
	if r == nil {
		return "", fmt.Errorf("route %s is not configured in this process", w.Intent.Route)
	}
	s := slotHand{notes: o.p.store, observer: o.observer(r), actor: actor, w: w}
	got, _, err := s.further(ctx, intents.Cancel)
	return got.Verdict.String(), err
}

// route is one of the process's routes; nil where it works none of the name.
func (p *process) route(name string) *route {
	for _, r := range p.routes {
		if r.name == name {
			return r
		}
	}
	return nil
}
