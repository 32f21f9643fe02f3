package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
)

type submitCmd struct {
	File    string        `short:"f" placeholder:"FILE" help:"NDJSON, one full intent a line as in message bodies; - for stdin, the default when stdin is piped and no intent is given by flags."`
	SkipBad bool          `help:"Leave out bad lines instead of sending nothing."`
	Created bool          `help:"Only create: the intents wait until they are authorized."`
	Wait    bool          `help:"Wait until each intent is final or in review."`
	Timeout time.Duration `default:"2m" env:"RELAYER_TIMEOUT" help:"How long to wait."`
	Output  string        `short:"o" enum:"text,jsonl" default:"text" help:"text or jsonl."`

	Route       string            `env:"RELAYER_ROUTE" help:"The route; not needed when there is only one."`
	ID          string            `help:"The caller's name for it and its idempotency key; made up when left out."`
	Account     string            `help:"Whose money it is."`
	Destination string            `help:"Where it goes, as the route's sender writes it."`
	Asset       string            `help:"What is sent, such as ETH."`
	Amount      string            `placeholder:"UNITS" help:"How much, in the smallest unit."`
	NotBefore   future            `placeholder:"TIME" help:"Not to be sent before: RFC 3339, or from now (10m)."`
	ExpiresAt   future            `placeholder:"TIME" help:"Not to be sent from then on: RFC 3339, or from now (10m)."`
	Lane        string            `help:"Intents of one lane go one after the other."`
	Metadata    map[string]string `mapsep:"none" placeholder:"KEY=VALUE" help:"Kept with it; may be repeated."`
}

// Help shows examples.
func (submitCmd) Help() string {
	return `Examples:

    relayer submit --route payouts --account acct_1 --destination 0x… --asset ETH --amount 1000 --wait
    relayer submit --route payouts -f payouts.ndjson
    producer | relayer submit --route payouts --skip-bad

The same id with the same content is known already and does nothing twice, so a submit that broke off may be repeated as it is. Input up to 64 MiB is checked as a whole before anything is sent; longer input is sent as it is read, and ends at its first bad line.

Intents are stored in Postgres, then published on the route's topic. Where that fails the sweeper publishes them.`
}

// Run submits.
func (c *submitCmd) Run(a *app) error {
	cfg, err := a.configOrDev()
	if err != nil {
		return err
	}
	name, route, err := c.route(cfg)
	if err != nil {
		return usage(err)
	}
	check := a.door(name, route).Admit
	ctx, stop := a.context()
	defer stop()
	in, err := c.input(a, check)
	if err != nil {
		return err
	}
	defer in.close()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	pub := c.publisher(a)
	defer pub.Close()
	tr, done := startTraces(ctx, cfg, a.logger(slog.LevelWarn))
	defer done()
	sub := &submission{
		store: tr.creator(s), pub: tr.announcer(pub), traces: tr, topic: route.Topic, authorize: !c.Created, actor: a.actor(),
		skipBad: c.SkipBad, keep: c.Wait || c.Output == "jsonl" || in.total == 1, complain: a.complain,
	}
	return c.send(ctx, a, s, sub, in)
}

// route is the one named, or the only one.
func (c *submitCmd) route(cfg config.Config) (string, *config.Route, error) {
	if names := slices.Collect(maps.Keys(cfg.Routes)); c.Route == "" && len(names) == 1 {
		c.Route = names[0]
	}
	r, err := cfg.Route(c.Route)
	if err == nil && c.Wait && c.Created {
		err = errors.New("--wait: with --created nothing happens until the intents are authorized")
	}
	return c.Route, r, err
}

// input is what flags, the file or stdin ask for.
func (c *submitCmd) input(a *app, check checker) (input, error) {
	switch {
	case c.byFlags() && c.File != "":
		return input{}, usagef("--file: an intent is given by flags already")
	case c.byFlags():
		in, err := c.fromFlags(check)
		return one(in), usage(err)
	case c.File == "" && isTerminal(a.stdin):
		return input{}, usagef("nothing to submit: give --account, --destination, --asset and --amount, or NDJSON on stdin")
	}
	r, err := openInput(c.File, a.stdin)
	if err != nil {
		return input{}, usage(err)
	}
	return readInput(r, maxWhole, check, c.SkipBad, a.complain)
}

// byFlags says whether any flag speaks of an intent.
func (c *submitCmd) byFlags() bool {
	return c.ID+c.Account+c.Destination+c.Asset+c.Amount+c.Lane != "" || len(c.Metadata) > 0 || !c.NotBefore.IsZero() || !c.ExpiresAt.IsZero()
}

func openInput(file string, stdin io.Reader) (io.ReadCloser, error) {
	if file == "" || file == "-" {
		return io.NopCloser(stdin), nil
	}
	return os.Open(file)
}

func (c *submitCmd) fromFlags(check checker) (intents.Intent, error) {
	amount, err := intents.ParseAmount(c.Amount)
	if err != nil {
		return intents.Intent{}, err
	}
	if c.ID == "" {
		c.ID = newID(time.Now())
	}
	return check(intents.Intent{ID: c.ID, Account: c.Account, Destination: c.Destination, Asset: c.Asset, Amount: amount,
		NotBefore: c.NotBefore.Time, ExpiresAt: c.ExpiresAt.Time, Lane: c.Lane, Metadata: c.Metadata})
}

// publisher opens NSQ. Without one, intents are left to the sweeper.
func (c *submitCmd) publisher(a *app) publisher {
	n := a.cfg.NSQ
	if c.Created || len(n.NSQDTCPAddress)+len(n.NSQLookupdHTTPAddress) == 0 {
		if !c.Created {
			a.complain("no address of NSQ is set: the sweeper publishes what is stored")
		}
		return unpublished{}
	}
	p, err := a.parts.publisher(n, a.logger(slog.LevelError))
	if err != nil {
		a.complain(err.Error() + ": the sweeper publishes what is stored")
		return unpublished{}
	}
	return p
}

// send stores and publishes, says how it went, and waits where that was asked.
func (c *submitCmd) send(ctx context.Context, a *app, g getter, sub *submission, in input) error {
	start := time.Now()
	p := newProgress(a.stderr, "submitted", in.total)
	sub.progress = p
	err := sub.all(ctx, in.orders)
	p.finish()
	fmt.Fprintf(a.stderr, "submitted %d in %.1fs%s\n", sub.stored, time.Since(start).Seconds(), sub.remarks())
	if err != nil {
		return err
	}
	if c.Wait {
		err = c.wait(ctx, a, g, sub.kept)
	} else {
		err = c.printStored(a, sub.kept, in.total == 1)
	}
	if err == nil && (sub.refused > 0 || in.bad > 0) {
		return quiet(exitFailed)
	}
	return err
}

// printStored prints a single intent, or all as JSON.
func (c *submitCmd) printStored(a *app, stored []intents.Intent, single bool) error {
	for _, in := range stored {
		if err := c.print(a, in, single); err != nil {
			return err
		}
	}
	return nil
}

func (c *submitCmd) print(a *app, in intents.Intent, text bool) (err error) {
	switch {
	case c.Output == "jsonl":
		err = printLine(a.stdout, intents.JSON(in))
	case text:
		_, err = fmt.Fprintln(a.stdout, line(in))
	}
	return err
}
