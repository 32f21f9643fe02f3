//go:build !lean

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/devstack/rpcproxy"
	"github.com/nsqrelayer/relayer/internal/devstack/sink"
)

// devCmd starts everything on this machine and shows intents move.
type devCmd struct {
	Intents int    `default:"50" help:"Demo intents to publish; half to each route."`
	Demo    string `enum:"flow,review" default:"flow" help:"flow, or review: beside them leaves three intents that need a person, to try out the console and relayer review."`
	Exit    bool   `help:"Leave when all of them are final. Exit 0 only if each settled, once."`

	SinkFaults string        `placeholder:"SPEC" help:"${sinkfaults}"`
	RPCFaults  rpcFaults     `name:"rpc-faults" placeholder:"SPEC" help:"${rpcfaults}"`
	BlockTime  time.Duration `default:"1s" help:"Time between blocks of the chain; confirmations are 2."`

	LookupdTCPPort  int `name:"nsqlookupd-tcp-port" placeholder:"4160" help:"Default ports move on when they are taken."`
	LookupdHTTPPort int `name:"nsqlookupd-http-port" placeholder:"4161" help:"A port that is given must be free."`
	NSQDTCPPort     int `name:"nsqd-tcp-port" placeholder:"4150" help:"nsqd."`
	NSQDHTTPPort    int `name:"nsqd-http-port" placeholder:"4151" help:"nsqd, for curl."`
	AdminPort       int `name:"nsqadmin-port" placeholder:"4171" help:"nsqadmin, in a browser."`
	ChainPort       int `name:"chain-port" placeholder:"8545" help:"The chain's JSON-RPC."`
	SinkPort        int `name:"sink-port" placeholder:"8089" help:"The HTTP payment provider."`

	PGBin string `name:"pg-bin" placeholder:"DIR" env:"RELAYER_PG_BIN" help:"Where initdb and postgres are. Default: searched."`
}

// Help follows the description in relayer dev --help.
func (devCmd) Help() string {
	return `Starts nsqlookupd, nsqd, nsqadmin, a private Postgres, a chain that mines and an HTTP payment provider, works two routes (payouts on the chain, webhooks on HTTP), publishes demo intents and shows each of their moves. --database-url and --nsqd-tcp-address use parts that already run. Ctrl-C drains; twice stops at once.

Examples:

    relayer dev
    relayer dev --demo review
    relayer dev --intents 2000 --exit
    relayer dev --sink-faults "commit-timeout=5%,commit-500=5%,refuse-503=5%"
    relayer dev --intents 500 --exit --rpc-faults
    relayer dev --rpc-faults "accept-timeout=5%:4s,null-receipt=20%"`
}

// Run returns when the demo is over or a signal came, and everything is stopped.
func (c *devCmd) Run(a *app) error {
	if c.Intents < 0 {
		return usagef("--intents: %d is invalid, want 0 or more", c.Intents)
	}
	faults, err := sink.ParseFaults(c.SinkFaults)
	if err != nil {
		return usagef("--sink-faults: %w", err)
	}
	rpcFaults, err := rpcproxy.ParseFaults(string(c.RPCFaults))
	if err != nil {
		return usagef("--rpc-faults: %w", err)
	}
	cfg, err := a.config() // for log settings and what runs already
	if err != nil {
		return err
	}
	ctx, stop := a.context()
	defer stop()
	d := &dev{cmd: c, app: a, given: cfg, faults: faults, rpcFaults: rpcFaults, out: a.stdout}
	defer d.stop()
	if err := d.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // Ctrl-C during the start
		}
		return devError(err)
	}
	return d.work(ctx)
}

// dev is a running dev stack.
type dev struct {
	cmd    *devCmd
	app    *app
	given  config.Config // what the user set
	faults sink.Faults
	out    io.Writer

	rpcFaults rpcproxy.Faults

	parts  devParts
	stops  []func() error // in the order of starts
	show   *display
	log    *slog.Logger
	proc   *process
	closed sync.Once
}

// start brings the parts up, then the relayer itself.
func (d *dev) start(ctx context.Context) error {
	fmt.Fprintf(d.out, "relayer %s dev stack: local only, thrown away on exit\n\n", version().Version)
	d.show = newDisplay(d.out)
	d.log = slog.New(&devHandler{show: d.show, next: d.app.logger(slog.LevelWarn).Handler()})
	if err := d.startParts(ctx); err != nil {
		return err
	}
	cfg, err := d.configure()
	if err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return err
	}
	d.proc, err = openProcess(ctx, cfg, d.log, noSeams())
	if err != nil {
		return err
	}
	d.stops = append(d.stops, func() error { d.proc.close(); return nil })
	d.say("workers", "2 routes: payouts on evm, webhooks on http")
	return d.openAccounts(ctx)
}

// work runs the relayer beside the demo. The demo ends it with --exit, else a signal does.
func (d *dev) work(ctx context.Context) error {
	d.tellAddresses()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	var result demoResult
	var failed error
	var demo sync.WaitGroup
	demo.Go(func() {
		result, failed = d.demo(ctx)
		if d.cmd.Exit || failed != nil {
			leave()
		}
	})
	err := d.proc.runServing(ctx, d.parts.web, d.log)
	leave()
	demo.Wait()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	return d.conclude(result)
}

// stop stops what was started, in reverse.
func (d *dev) stop() {
	d.closed.Do(func() {
		for i := len(d.stops) - 1; i >= 0; i-- {
			if err := d.stops[i](); err != nil {
				fmt.Fprintf(d.app.stderr, "relayer: %v\n", err)
			}
		}
	})
}

// say prints one part's line.
func (d *dev) say(part, format string, args ...any) {
	fmt.Fprintf(d.out, "  ✔ %-11s %s\n", part, fmt.Sprintf(format, args...))
}

// warn prints one part's line, for what is not as usual.
func (d *dev) warn(part, format string, args ...any) {
	fmt.Fprintf(d.out, "  ! %-11s %s\n", part, fmt.Sprintf(format, args...))
}
