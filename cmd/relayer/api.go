package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"golang.org/x/time/rate"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/api"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/desk"
	"github.com/nsqrelayer/relayer/internal/httpd"
	"github.com/nsqrelayer/relayer/relayer"
)

// apiAddress is where relayer api serves when nothing says where.
const apiAddress = "127.0.0.1:4480"

type apiCmd struct{}

// Help says how it differs from run.
func (apiCmd) Help() string {
	return "Serves what relayer run --http-address serves under /v1/, and takes no messages. It reads the same settings; keys of signers are needed only to ask nodes about reviews.\n\nUntil a token is made (relayer token create) it answers this machine alone."
}

// Run serves until a signal.
func (apiCmd) Run(a *app) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	cfg.HTTPAddress = cmp.Or(cfg.HTTPAddress, apiAddress)
	if err := cfg.Validate(); err != nil {
		return usage(err)
	}
	log := a.logger(slog.LevelInfo)
	ctx, stop := a.context()
	defer stop()
	web, err := listenHTTP(ctx, cfg, log)
	if err != nil {
		return settingError(err)
	}
	defer web.Close()
	pub, err := a.parts.publisher(cfg.NSQ, log)
	if err != nil {
		return settingError(err)
	}
	defer pub.Close()
	return settingError(a.serveAPI(ctx, web, pub, log))
}

// serveAPI serves the API alone.
func (a *app) serveAPI(ctx context.Context, web *httpd.Server, pub publisher, log *slog.Logger) error {
	o, err := openAPI(ctx, a.cfg, instanceName(), log)
	if err != nil {
		return err
	}
	defer o.close()
	tr, done := startTraces(ctx, a.cfg, log)
	defer done()
	o.traces = tr
	ways := &ways{app: a, store: o.store, log: log, open: map[string]*asked{}}
	defer ways.close()
	h, err := o.handler(ctx, web.Addr(), pub, ways.other)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", h)
	mux.Handle("GET /openapi.json", h)
	face, err := behind{cfg: a.cfg, store: o.store, pub: pub, other: ways.other, log: log}.mount(mux)
	if err != nil {
		return err
	}
	mux.HandleFunc("GET /livez", httpd.Live)
	mux.Handle("GET /readyz", httpd.Ready(httpd.Check{Name: "database", Ask: o.store.Ping}, httpd.Check{Name: "recovery", Ask: o.store.Lost}))
	log.InfoContext(ctx, "relayer api started", "version", version().Version, "address", web.Addr())
	serving, stop := context.WithCancel(ctx)
	var chart sync.WaitGroup
	defer chart.Wait()
	defer stop()
	chart.Go(func() { face.Run(serving) })
	return web.Run(ctx, mux)
}

// front is what an API stands on: connections of its own, so that no question of a person stands before a payment.
type front struct {
	cfg   config.Config
	name  string
	store *pgstore.Store
	log   *slog.Logger

	traces *traces // nil: none
}

func openAPI(ctx context.Context, cfg config.Config, name string, log *slog.Logger) (*front, error) {
	dsn, err := cfg.DSN()
	if err != nil {
		return nil, err
	}
	s, err := pgstore.Open(ctx, pgstore.Config{DSN: dsn, Actor: name, Logger: log})
	if err != nil {
		return nil, err
	}
	return &front{cfg: cfg, name: name, store: s, log: log}, nil
}

func (o *front) close() { o.store.Close() }

// handler serves the API at an address until ctx ends, when its streams end, too.
func (o *front) handler(ctx context.Context, addr string, pub desk.Publisher, other func(context.Context, string) (desk.Other, error)) (http.Handler, error) {
	loopback := isLoopback(addr)
	if err := o.warn(ctx, loopback); err != nil {
		return nil, err
	}
	doors := map[string]desk.Door{}
	for name, r := range o.cfg.Routes {
		doors[name] = desk.Door{Route: name, Topic: r.Topic, Assets: r.Assets, Canonical: func(in intents.Intent) (intents.Intent, error) { return canonical(r, in) }}
	}
	canon := func(route string, in intents.Intent) intents.Intent {
		if d, ok := doors[route]; ok {
			if got, err := d.Canonical(in); err == nil {
				return got
			}
		}
		return in
	}
	h, err := api.New(api.Config{
		Store: o.traces.records(o.store), Doors: doors, Canon: canon, Looker: o.name, Other: other, Publisher: o.traces.publisher(pub), Loopback: loopback, Logger: o.log, Ending: ctx.Done(),
		Redact: func(text string) string { return config.Scrub(o.cfg.Redact(text)) },
		Rate:   rate.Limit(o.cfg.HTTPRate), Burst: o.cfg.HTTPBurst,
	})
	return o.traces.web(h), err
}

// warn tells who listens for others, and has no token to ask them for, that they will be refused.
func (o *front) warn(ctx context.Context, loopback bool) error {
	if loopback {
		return nil
	}
	made, usable, err := o.store.HasTokens(ctx)
	switch {
	case err != nil || usable:
		return err
	case made:
		o.log.WarnContext(ctx, "API and console refuse everybody: no token can be used", "do", "relayer token create")
	default:
		o.log.WarnContext(ctx, "API and console answer this machine alone: no token was made", "do", "relayer token create")
	}
	return nil
}

// isLoopback says whether only this machine can reach an address that is listened on.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && net.ParseIP(host).IsLoopback()
}

// ways are the senders that an API alone asks about reviews, each opened when it is first needed.
type ways struct {
	app   *app
	store *pgstore.Store
	log   *slog.Logger

	mu   sync.Mutex
	open map[string]*asked
}

// asked is a route's way, and what bounds how often it is asked.
type asked struct {
	way      way
	throttle *relayer.Throttle
}

// other gives the other side of a route, to one question: an observer serves one at a time. Errors: those of opening its
// sender.
func (w *ways) other(_ context.Context, route string) (desk.Other, error) {
	a, err := w.of(route)
	if err != nil {
		return nil, err
	}
	engine := w.app.cfg.Engine(route)
	engine.Owner, engine.Logger = instanceName(), w.log
	return relayer.NewObserver(engine, w.store, w.store, w.store, a.way, a.throttle), nil
}

// of opens a route's way once.
func (w *ways) of(route string) (*asked, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if had := w.open[route]; had != nil {
		return had, nil
	}
	settings, err := w.app.cfg.Route(route)
	if err != nil {
		return nil, err
	}
	throttle := relayer.NewThrottle(settings.Limits())
	opened, err := w.app.parts.way(settings, throttle, w.log)
	if err != nil {
		return nil, fmt.Errorf("routes.%s: %w", route, err)
	}
	w.open[route] = &asked{opened, throttle}
	return w.open[route], nil
}

func (w *ways) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.open {
		one.way.Close()
	}
}
