package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/internal/postgres"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

const (
	route = "payouts"
	topic = "intents.payouts"
)

// engine is the relayer's side.
type engine struct {
	count, workers int
	store          *pgstore.Store
	worker         *relayer.Worker
}

// newEngine starts Postgres, stores all intents and wires a worker. stop ends what was started, whatever the error.
func newEngine(ctx context.Context, b *bench) (e *engine, stop func(), err error) {
	e = &engine{count: b.count, workers: b.workers}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	dsn, stopPostgres, err := startPostgres(ctx, log)
	if err != nil {
		return e, stopPostgres, err
	}
	if e.store, err = pgstore.Open(ctx, pgstore.Config{DSN: dsn, Actor: "bench-evm", Logger: log}); err != nil {
		return e, stopPostgres, err
	}
	sender, err := evm.New(evm.Config{RPCURL: b.chain.URL, ChainID: chain.ID, Signers: []evm.Signer{evm.NewKeystore(chain.DevKey())}, MaxConns: b.connections, SendBatch: b.batch, Logger: log})
	stop = func() { e.store.Close(); stopPostgres() }
	if err != nil {
		return e, stop, err
	}
	stop = func() { sender.Close(); e.store.Close(); stopPostgres() }
	if _, err := e.store.OpenSigner(ctx, intents.Signer{Scope: sender.Scopes()[0], Window: b.count}); err != nil {
		return e, stop, err
	}
	cfg := relayer.Config{Route: route, Topic: topic, Owner: "bench-evm", Concurrency: b.workers, Logger: log}
	throttle := relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: b.workers}) // MaxConns bounds the calls
	if e.worker, err = relayer.NewWorker(cfg, e.store, e.store, sender, throttle, relayer.NewProbe(e.store, noConsumer{}, log)); err != nil {
		return e, stop, err
	}
	return e, stop, e.seed(ctx)
}

// noConsumer has nothing to pause.
type noConsumer struct{}

func (noConsumer) Pause(string) {}
func (noConsumer) Resume()      {}

func startPostgres(ctx context.Context, log *slog.Logger) (dsn string, stop func(), err error) {
	bin, err := postgres.Find("")
	if err != nil {
		return "", func() {}, err
	}
	s, err := postgres.Start(ctx, postgres.Config{Binaries: bin, Logger: log})
	if err != nil {
		return "", func() {}, err
	}
	stop = func() { _ = s.Stop() }
	if err := s.CreateDatabase(ctx, "relayer"); err != nil {
		return "", stop, err
	}
	dsn = s.DSN("relayer")
	_, err = pgstore.Migrate(ctx, dsn, log)
	return dsn, stop, err
}

// each does something for the numbers from one up to another, with all workers.
func (e *engine) each(ctx context.Context, from, to int, do func(ctx context.Context, n int) error) error {
	var next atomic.Int64
	next.Store(int64(from))
	g, ctx := errgroup.WithContext(ctx)
	for range e.workers {
		g.Go(func() error {
			for n := next.Add(1) - 1; n < int64(to); n = next.Add(1) - 1 {
				if err := do(ctx, int(n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// seed stores authorized intents of a hundred accounts.
func (e *engine) seed(ctx context.Context) error {
	return e.each(ctx, 0, e.count, func(ctx context.Context, n int) error {
		_, err := e.store.Create(ctx, intents.Intent{
			ID: id(n), Route: route, Account: fmt.Sprintf("acct_%d", n%100), Destination: recipient(n).Hex(), Asset: "ETH", Amount: intents.NewAmount(1000),
		}, true, "bench-evm")
		return err
	})
}

func id(n int) string { return fmt.Sprintf("pi_%06d", n) }

// send has intents worked until the node has accepted each.
func (e *engine) send(ctx context.Context, from, to int, accepted func(int64)) (time.Duration, error) {
	start := time.Now()
	var done atomic.Int64
	err := e.each(ctx, from, to, func(ctx context.Context, n int) error {
		body, err := intents.EncodeReference(id(n))
		if err != nil {
			return err
		}
		for ctx.Err() == nil {
			out := e.worker.Handle(ctx, ctx, relayer.Delivery{ID: id(n), Topic: topic, Body: body, Published: start})
			if out.Finished() {
				accepted(done.Add(1))
				return nil
			}
		}
		return ctx.Err()
	})
	return time.Since(start), err
}

// check wants every intent accepted at its first call.
func (e *engine) check(ctx context.Context) error {
	byState, err := e.store.Count(ctx, route)
	if err != nil {
		return err
	}
	if n := byState[intents.Confirming]; n != e.count {
		return fmt.Errorf("relayer: %d of %d are confirming: %v", n, e.count, byState)
	}
	return nil
}
