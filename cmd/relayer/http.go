package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/desk"
	"github.com/nsqrelayer/relayer/internal/httpd"
	"github.com/nsqrelayer/relayer/internal/metrics"
	"github.com/nsqrelayer/relayer/relayer"
)

// listenHTTP takes http-address; the server is nil where none is set. Errors: *intents.InvalidError, with what set it.
func listenHTTP(ctx context.Context, cfg config.Config, log *slog.Logger) (*httpd.Server, error) {
	if cfg.HTTPAddress == "" {
		return nil, nil
	}
	s, err := httpd.Listen(ctx, httpd.Config{Addr: cfg.HTTPAddress, Logger: log})
	if err != nil {
		bad := &intents.InvalidError{Field: "http-address", Value: cfg.HTTPAddress, Want: addressWant(err)}
		return nil, fmt.Errorf("%s: %w", cfg.From("http-address"), bad)
	}
	log.InfoContext(ctx, "http listening", "address", s.Addr())
	return s, nil
}

// addressWant says what an address should have been that nobody can listen on.
func addressWant(err error) string {
	if errors.Is(err, syscall.EADDRINUSE) {
		return "an address that is free: somebody listens there already"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return fmt.Sprintf("an address to listen on (%v)", err)
}

// runServing runs the process beside a server, which goes on until the drain is over: a drain can be watched. Without a
// server it only runs. A server that ends by itself stops no work. Errors: those of run.
func (p *process) runServing(ctx context.Context, web *httpd.Server, log *slog.Logger) error {
	if web == nil {
		return p.run(ctx)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	h, run, done, err := p.whole(serving, web.Addr(), log)
	if err != nil {
		return err
	}
	defer done()
	var server sync.WaitGroup
	server.Go(func() { run(serving) })
	server.Go(func() {
		if err := web.Run(serving, h); err != nil {
			log.ErrorContext(serving, "http server ended", "err", err)
		}
	})
	err = p.run(ctx)
	stop()
	server.Wait()
	return err
}

// whole is all that the process serves over HTTP, API and console among it, until ctx ends; run keeps the console's chart.
// Errors: those of the store.
func (p *process) whole(ctx context.Context, addr string, log *slog.Logger) (h http.Handler, run func(context.Context), done func(), err error) {
	mux, b, done := http.NewServeMux(), p.behind(log), func() {}
	machines, err := p.handler(log)
	if err != nil {
		return nil, nil, nil, err
	}
	mux.Handle("/", machines)
	if p.cfg.HTTPAPI {
		if done, err = p.api(ctx, addr, mux, &b); err != nil {
			return nil, nil, nil, err
		}
	}
	face, err := b.mount(mux)
	if err != nil {
		done()
		return nil, nil, nil, err
	}
	return mux, face.Run, done, nil
}

// api serves the API, and has the console ask by the same connections.
func (p *process) api(ctx context.Context, addr string, mux *http.ServeMux, b *behind) (done func(), err error) {
	o, err := openAPI(ctx, p.cfg, p.owner, b.log)
	if err != nil {
		return nil, err
	}
	o.traces = p.traces
	served, err := o.handler(ctx, addr, p.pub, b.other)
	if err != nil {
		o.close()
		return nil, err
	}
	mux.Handle("/v1/", served)
	mux.Handle("GET /openapi.json", served)
	b.store = o.store
	return o.close, nil
}

// handler is what machines ask for beside the API.
func (p *process) handler(log *slog.Logger) (http.Handler, error) {
	reg := prometheus.NewRegistry()
	if err := metrics.Register(reg, p.measured()); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", httpd.Live)
	mux.Handle("GET /readyz", httpd.Ready(p.checks()...))
	mux.Handle("GET /metrics", metrics.Handler(reg, log))
	if p.cfg.HTTPPprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux, nil
}

// behind is what the process's console, and its API, stand on. Each question has an observer of its own, which serves one at a time.
func (p *process) behind(log *slog.Logger) behind {
	return behind{cfg: p.cfg, store: p.store, pub: p.pub, routes: p.routes, log: log, other: func(_ context.Context, name string) (desk.Other, error) {
		r := p.route(name)
		if r == nil {
			_, err := p.cfg.Route(name)
			return nil, err
		}
		engine := p.cfg.Engine(name)
		engine.Owner, engine.Logger = instanceName(), log
		return relayer.NewObserver(engine, r.store, r.store, r.store, r.way, r.throttle), nil
	}}
}

// route is one of the process's routes; nil where it works none of the name.
func (p *process) route(name string) *route { return behind{routes: p.routes}.route(name) }

// checks are what readyz asks: whether the database can be written to and has kept what it committed, and for each route
// whether messages can reach it.
func (p *process) checks() []httpd.Check {
	all := []httpd.Check{{Name: "database", Ask: p.store.Ping}, {Name: "recovery", Ask: p.store.Lost}}
	for _, r := range p.routes {
		all = append(all, httpd.Check{Name: "route " + r.name, Ask: func(context.Context) error { return r.consumer.Health() }})
	}
	return all
}

// measured is what metrics show of the process.
func (p *process) measured() metrics.Config {
	b := version()
	c := metrics.Config{Version: b.Version, Commit: cmp.Or(b.Commit, "unknown"), GoVersion: b.Go, Signers: p.store, Ledger: p.store, Meter: p.meter}
	for _, r := range p.routes {
		c.Routes = append(c.Routes, r.measured())
	}
	return c
}

func (r *route) measured() metrics.Route {
	m := metrics.Route{Name: r.name, Worker: r.worker, Throttle: r.throttle, Consumer: r.consumer, Sweeper: r.sweeper, Observer: r.observer}
	if n, ok := r.way.(noded); ok {
		m.Nodes = func() []metrics.Node { return nodesOf(n) }
	}
	if s, ok := r.way.(scoped); ok {
		m.Scopes = s.Scopes()
	}
	if b, ok := r.way.(purse); ok {
		m.Purse = b
	}
	return m
}

func nodesOf(n noded) []metrics.Node {
	var all []metrics.Node
	for _, s := range n.Nodes() {
		all = append(all, metrics.Node{Host: s.Host, Out: s.Out, Head: s.Head})
	}
	return all
}
