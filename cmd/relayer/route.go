package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/metrics"
	"github.com/nsqrelayer/relayer/nsqworker"
	"github.com/nsqrelayer/relayer/relayer"
)

// route is one route of this process: consumer, worker, sweeper, observer and sender.
type route struct {
	name     string
	way      way
	store    ledger
	worker   *relayer.Worker
	throttle *relayer.Throttle
	consumer *nsqworker.Worker
	probe    *relayer.Probe
	sweeper  *relayer.Sweeper
	observer *relayer.Observer
	log      *slog.Logger
}

func newRoute(name string, cfg config.Config, store ledger, pub relayer.Publisher, meter *metrics.Meter, owner string, log *slog.Logger, s seams) (*route, error) {
	store = s.ledger(name, store)
	r := &route{name: name, store: store, log: log.With("route", name)}
	settings, err := cfg.Route(name)
	if err != nil {
		return nil, err
	}
	r.throttle = relayer.NewThrottle(settings.Limits())
	if r.way, err = openCounted(settings, r.throttle, meter, r.log); err != nil {
		return nil, err
	}
	r.way = s.way(name, r.way)
	engine := cfg.Engine(name)
	engine.Owner, engine.Logger, engine.Meter = owner, log, s.meter(name, meter.Route(name))
	r.sweeper = relayer.NewSweeper(engine, store, pub)
	h := &handler{topic: settings.Topic}
	consume := consumerConfig(cfg, settings, owner, r.log)
	consume.OnLost = r.sweeper.Forget
	if r.consumer, err = nsqworker.New(consume, s.handler(name, h)); err != nil {
		return nil, err
	}
	r.probe = relayer.NewProbe(store, r.consumer, r.log)
	if r.worker, err = relayer.NewWorker(engine, store, store, r.way, r.throttle, r.probe); err != nil {
		return nil, err
	}
	h.worker = r.worker
	r.observer = relayer.NewObserver(engine, store, store, store, r.way, r.throttle)
	return r, nil
}

func consumerConfig(cfg config.Config, r *config.Route, owner string, log *slog.Logger) nsqworker.Config {
	return nsqworker.Config{
		Topic: r.Topic, Channel: r.Channel,
		NSQDs: cfg.NSQ.NSQDTCPAddress, NSQDHTTPs: cfg.NSQ.NSQDHTTPAddress, Lookupds: cfg.NSQ.NSQLookupdHTTPAddress,
		Concurrency: r.Concurrency, MsgTimeout: r.MsgTimeout, OutputBufferTimeout: time.Duration(r.OutputBufferTimeout),
		MaxMsgTimeout: cfg.NSQ.MaxMsgTimeout, MaxReqTimeout: cfg.NSQ.MaxReqTimeout,
		DrainTimeout: cfg.DrainTimeout, UserAgent: userAgent(), ClientID: owner, Logger: log,
	}
}

// run opens the sender, then consumes until ctx ends, and drains. The store's probe works until the drain is over.
func (r *route) run(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	probing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	loops.Go(func() { r.probe.Run(probing) })
	loops.Go(func() { r.sweeper.Run(ctx) })
	loops.Go(func() { r.observer.Run(ctx) })
	if w, ok := r.way.(runner); ok {
		loops.Go(func() { w.Run(probing) })
	}
	err := r.consumer.Run(ctx)
	stop()
	loops.Wait()
	s := r.worker.Stats()
	r.log.InfoContext(ctx, "pool stopped", "sent", s.Sent, "retry", s.Retry, "abandoned", s.Abandoned, "panics", s.Panics)
	if err != nil {
		return fmt.Errorf("routes.%s: %w", r.name, err)
	}
	return nil
}

// openEvery is how long a sender that cannot be opened is left alone.
const openEvery = 2 * time.Second

// open asks the other side what must be known before anything is claimed, until it answers. What no waiting mends, the
// wrong chain, is an error.
func (r *route) open(ctx context.Context) error {
	for {
		err := r.way.open(ctx, r.store)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if _, ok := errors.AsType[*intents.InvalidError](err); ok {
			return fmt.Errorf("routes.%s.%w", r.name, err)
		}
		r.log.ErrorContext(ctx, "sender cannot be opened yet, nothing is consumed", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(openEvery + rand.N(openEvery/4)):
		}
	}
}

// handler brings the consumer's deliveries to the worker.
type handler struct {
	topic  string
	worker *relayer.Worker
}

// Handle converts both ways.
func (h *handler) Handle(work, lease context.Context, d nsqworker.Delivery) nsqworker.Disposition {
	out := h.worker.Handle(work, lease, relayer.Delivery{
		ID: d.ID, Topic: h.topic, Body: d.Body, Published: d.Published, Until: d.Until,
	})
	if delay, ok := out.Requeued(); ok {
		return nsqworker.Requeue(delay)
	}
	if out.Finished() {
		return nsqworker.Finish()
	}
	return nsqworker.Leave()
}
