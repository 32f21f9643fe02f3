package main

import (
	"context"
	"log/slog"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/desk"
	"github.com/nsqrelayer/relayer/nsqworker"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// store is what the commands need of the store. All methods may return an error that wraps intents.ErrUnavailable.
type store interface {
	creator
	reader
	lister
	desk.Canceler
	switcher
	teller
	warden
	desk.Noter
	auditor
	counter
	resolver
	undertaker
	desk.Letters
	recoverer
	pruner
	keeper
	roster
	relayer.Store
	relayer.Witness
	relayer.Due
	Close()
}

// ledger is the store as a route needs it. All methods may return an error that wraps intents.ErrUnavailable.
type ledger interface {
	relayer.Store
	relayer.Desk
	relayer.Due
	relayer.Witness
	signers
}

// seams stand between a route and what it works with, so that a test or a bench can stand there.
type seams struct {
	store   func(c pgstore.Config) pgstore.Config
	ledger  func(route string, l ledger) ledger
	way     func(route string, w way) way
	handler func(route string, h nsqworker.Handler) nsqworker.Handler
	meter   func(route string, m relayer.Meter) relayer.Meter
}

// noSeams changes nothing.
func noSeams() seams {
	return seams{
		store:   func(c pgstore.Config) pgstore.Config { return c },
		ledger:  func(_ string, l ledger) ledger { return l },
		way:     func(_ string, w way) way { return w },
		handler: func(_ string, h nsqworker.Handler) nsqworker.Handler { return h },
		meter:   func(_ string, m relayer.Meter) relayer.Meter { return m },
	}
}

// publisher puts messages into NSQ.
type publisher interface {
	// Publish returns an error unless an nsqd has confirmed the message. It never outlasts ctx.
	Publish(ctx context.Context, topic string, body []byte) error
	Close()
}

// parts are the outside of the commands. Tests put others in their place.
type parts struct {
	open       func(ctx context.Context, dsn, actor string, log *slog.Logger) (store, error)
	publisher  func(n config.NSQ, log *slog.Logger) (publisher, error)
	way        func(r *config.Route, m evm.Meter, log *slog.Logger) (way, error)
	canonical  func(r *config.Route, in intents.Intent) (intents.Intent, error)
	seams      seams
	migrate    func(ctx context.Context, dsn string, log *slog.Logger) ([]pgstore.Migration, error)
	migrations func(ctx context.Context, dsn string) ([]pgstore.Migration, error)
}

func realParts() parts {
	return parts{
		open: openPostgres, publisher: openNSQ, way: openWay, canonical: canonical,
		seams: noSeams(), migrate: pgstore.Migrate, migrations: pgstore.MigrationStatus,
	}
}

func openPostgres(ctx context.Context, dsn, actor string, log *slog.Logger) (store, error) {
	s, err := pgstore.Open(ctx, pgstore.Config{DSN: dsn, Actor: actor, Logger: log})
	if err != nil {
		return nil, err // a nil *pgstore.Store in a store would not be nil
	}
	return s, nil
}

func openNSQ(n config.NSQ, log *slog.Logger) (publisher, error) {
	p, err := nsqworker.NewPublisher(publisherConfig(n, log))
	if err != nil {
		return nil, err
	}
	return p, nil
}

// canonical gives an intent as its route's sender stores and compares it. No sender is opened for it: it needs neither
// key nor node.
func canonical(r *config.Route, in intents.Intent) (intents.Intent, error) {
	if r.Sender == "evm" {
		return evm.Canonical(in, false)
	}
	return in, nil
}

// door is a route as those meet it who create intents.
func (a *app) door(name string, r *config.Route) desk.Door {
	return desk.Door{Route: name, Topic: r.Topic, Assets: r.Assets,
		Canonical: func(in intents.Intent) (intents.Intent, error) { return a.parts.canonical(r, in) }}
}
