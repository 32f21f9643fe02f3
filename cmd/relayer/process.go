package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/metrics"
	"github.com/nsqrelayer/relayer/nsqworker"
	"github.com/nsqrelayer/relayer/relayer"
)

// process is one relayer at work: the store, the publisher, and a worker for each route.
type process struct {
	store  *pgstore.Store
	pub    *nsqworker.Publisher
	routes []*route
	cfg    config.Config
	owner  string
	log    *slog.Logger
	meter  *metrics.Meter
	traces *traces // of the API; nil: none
}

// openProcess wires what a configuration says. Nothing is consumed before run. The store's owner, which stands in
// timelines and leases, is HOST-PID.
// Errors: those of the configuration's parts, and intents.ErrUnavailable when the database cannot be reached.
func openProcess(ctx context.Context, cfg config.Config, log *slog.Logger, s seams) (*process, error) {
	dsn, err := cfg.DSN()
	if err != nil {
		return nil, err
	}
	owner := instanceName()
	p := &process{cfg: cfg, owner: owner, log: log, meter: metrics.NewMeter()}
	if p.store, err = pgstore.Open(ctx, s.store(pgstore.Config{DSN: dsn, Actor: owner, Logger: log})); err != nil {
		return nil, err
	}
	if err := p.wire(cfg, owner, log, s); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *process) wire(cfg config.Config, owner string, log *slog.Logger, s seams) (err error) {
	p.pub, err = nsqworker.NewPublisher(publisherConfig(cfg.NSQ, log))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Routes)) {
		r, err := newRoute(name, cfg, p.store, p.pub, p.meter, owner, log, s)
		if err != nil {
			return fmt.Errorf("routes.%s: %w", name, err)
		}
		p.routes = append(p.routes, r)
	}
	return nil
}

// run works every route until ctx ends, then drains them. A route that cannot work ends the others.
// Errors: *nsqworker.DrainError when sends were cut; the first route's own.
func (p *process) run(ctx context.Context) error {
	h := heart{store: p.store, name: p.owner, every: intents.PulseEvery, pulse: p.pulse, log: p.log}
	defer h.start(ctx)()
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range p.routes {
		g.Go(func() error { return r.run(ctx) })
	}
	return g.Wait()
}

// close ends what run used: publisher, senders, store.
func (p *process) close() {
	if p.pub != nil {
		p.pub.Close()
	}
	for _, r := range p.routes {
		r.way.Close()
	}
	p.store.Close()
}

// stats adds up the routes.
func (p *process) stats() relayer.Stats {
	var sum relayer.Stats
	for _, r := range p.routes {
		s := r.worker.Stats()
		sum.Sent += s.Sent
		sum.Retry += s.Retry
		sum.Abandoned += s.Abandoned
		sum.Panics += s.Panics
	}
	return sum
}

// instanceName is how this process is called in timelines, leases and nsqadmin.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "relayer"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// userAgent is how nsqadmin shows us.
func userAgent() string { return nsqworker.UserAgent(version().Version) }

func publisherConfig(n config.NSQ, log *slog.Logger) nsqworker.PublisherConfig {
	return nsqworker.PublisherConfig{
		NSQDs: n.NSQDTCPAddress, Lookupds: n.NSQLookupdHTTPAddress, UserAgent: userAgent(), ClientID: instanceName(), Logger: log,
	}
}
