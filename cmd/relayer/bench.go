//go:build !lean

package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"time"

	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/postgres"
)

// benchCmd measures the relayer on parts of its own.
type benchCmd struct {
	Intents     *int    `placeholder:"N" help:"Intents to carry out. Default 20000; with --rate those of 30 seconds."`
	Sender      string  `enum:"none,webhook,evm" default:"none" help:"none: nothing is sent, each is done at once; webhook: to an HTTP provider; evm: on a chain."`
	Mode        string  `enum:"batch,row" default:"batch" help:"row: each claim and result is a commit of its own."`
	Processes   int     `default:"1" help:"Relayers that share the work."`
	Concurrency int     `default:"256" help:"Deliveries worked at once, in each process."`
	Rate        float64 `placeholder:"PER-SECOND" help:"Publish so many a second and count latency from the moment each was to be published. Default: all are published before the start."`
	Preload     int     `placeholder:"ROWS" help:"Settled intents that the table holds before, with events, attempts and entries."`
	Scheduled   int     `placeholder:"ROWS" help:"Further intents that came due in the minute before and that the sweeper must publish."`
	Latency     bool    `help:"Turn nsqd's output buffering off (output-buffer-timeout = -1)."`
	CPUProfile  string  `name:"cpuprofile" placeholder:"FILE" help:"Profile of the relayer's CPU; FILE.2 and so on of further processes."`
	MemProfile  string  `name:"memprofile" placeholder:"FILE" help:"Profile of the relayer's allocations."`
	Output      string  `short:"o" enum:"text,json" default:"text" help:"text or json."`
	PGBin       string  `name:"pg-bin" placeholder:"DIR" env:"RELAYER_PG_BIN" help:"Where initdb and postgres are. Default: searched."`
}

// Help follows the description in relayer bench --help.
func (benchCmd) Help() string {
	return `Starts nsqd and a private Postgres that syncs its log, stores the intents, and has relayers carry them out that are processes of their own, wired as relayer run wires them. Messages are references. --nsqd-tcp-address and --database-url use servers that run already: a topic and a database are made on them for the bench, and dropped. relayer.toml is not read.

Examples:

    relayer bench
    relayer bench --concurrency 1024 --intents 100000 -o json
    relayer bench --mode row
    relayer bench --rate 1000 --latency
    relayer bench --rate 100 --scheduled 1000000
    relayer bench --sender webhook

Throughput is counted from the first delivery to the last settled intent. Without --rate latency is the time in the queue, from the first delivery on, and says little.`
}

// Defaults of --intents.
const (
	benchIntents = 20_000
	benchSeconds = 30
)

// Run prints the figures. It leaves nothing behind.
func (c *benchCmd) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	cfg, err := config.Load(a.globals.Config, os.Environ(), a.globals.settings()...)
	a.cfg = cfg
	if err := errors.Join(err, checkGiven(cfg)); err != nil {
		return usage(err)
	}
	ctx, stop := a.context()
	defer stop()
	b := &bench{cmd: c, app: a, given: cfg, count: c.count(), log: a.logger(benchLevel)}
	err = b.run(ctx)
	if ended := b.stop(); err == nil {
		err = ended
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case blamed[*postgres.SwitchUserError](err) || blamed[*postgres.ClosedDirError](err):
		return &codedError{exitDown, err}
	case err != nil:
		return settingError(err)
	}
	return b.print(a.stdout)
}

// check refuses what makes no sense.
func (c *benchCmd) check() error {
	return errors.Join(
		within("intents", c.count(), 1, 100_000_000), within("processes", c.Processes, 1, 64), within("concurrency", c.Concurrency, 1, 100_000),
		within("preload", c.Preload, 0, 1_000_000_000), within("scheduled", c.Scheduled, 0, 100_000_000), c.checkRate(),
	)
}

func within(flag string, n, least, most int) error {
	if n < least || n > most {
		return usagef("--%s: %d is invalid, want %d to %d", flag, n, least, most)
	}
	return nil
}

// checkGiven looks at what runs already, if anything does.
func checkGiven(cfg config.Config) error {
	for _, addr := range cfg.NSQ.NSQDTCPAddress {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return usagef("--nsqd-tcp-address: %q is invalid, want host:port", addr)
		}
	}
	if _, err := cfg.DSN(); err != nil && cfg.From("database-url") != "default" {
		return fmt.Errorf("%s: %w", cfg.From("database-url"), err)
	}
	return nil
}

func (c *benchCmd) checkRate() error {
	if c.Rate < 0 || math.IsNaN(c.Rate) || math.IsInf(c.Rate, 0) {
		return usagef("--rate: %v is invalid, want a number above 0", c.Rate)
	}
	return nil
}

// count is how many intents are carried out.
func (c *benchCmd) count() int {
	switch {
	case c.Intents != nil:
		return *c.Intents
	case c.Rate > 0:
		return max(1, int(c.Rate*benchSeconds))
	}
	return benchIntents
}

// due is when the n-th intent is to be published, counted from the first one; without a rate all are there at once.
func (c *benchCmd) due(n int) time.Duration {
	if c.Rate == 0 {
		return 0
	}
	return time.Duration(float64(n) / c.Rate * float64(time.Second))
}
