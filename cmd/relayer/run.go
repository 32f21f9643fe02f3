package main

import (
	"log/slog"
	"sync"

	"github.com/nsqrelayer/relayer/intents"
)

// runCmd works the routes until a signal, then drains.
type runCmd struct{}

// Help follows the description in relayer run --help.
func (runCmd) Help() string {
	return `The first SIGINT or SIGTERM drains: nothing more is taken, begun sends may finish within drain-timeout, what is left then is cut and counted, and the exit code is 1. A second signal ends the process at once; that is safe too, another process takes over.`
}

// Run returns when the drain is over.
func (runCmd) Run(a *app) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usage(err)
	}
	log := a.logger(slog.LevelInfo)
	for _, w := range cfg.Warnings() {
		log.Warn(w)
	}
	ctx, stop := a.context()
	defer stop()
	web, err := listenHTTP(ctx, cfg, log) // first: a port that is taken is told before anything is claimed
	if err != nil {
		return settingError(err)
	}
	if web != nil {
		defer web.Close()
	}
	tr, done := startTraces(ctx, cfg, log)
	defer done()
	log = tr.logger(log)
	p, err := openProcess(ctx, cfg, log, tr.seams(a.parts.seams))
	if err != nil {
		return settingError(err)
	}
	defer p.close()
	p.traces = tr
	log.InfoContext(ctx, "relayer started", "version", version().Version, "routes", len(p.routes))
	ended := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() { p.notify(ctx, ended, cfg.DrainTimeout, log) })
	err = p.runServing(ctx, web, log)
	close(ended)
	told.Wait()
	return settingError(err)
}

// settingError makes what a setting is to blame for exit 2.
func settingError(err error) error {
	if blamed[*intents.InvalidError](err) {
		return usage(err)
	}
	return err
}
