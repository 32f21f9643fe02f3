package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// auditor checks what must always hold.
type auditor interface {
	// Inspect makes every check that is asked for, in one snapshot, and says what each came to, in order. It writes nothing.
	Inspect(ctx context.Context, a intents.Audit) ([]intents.Audited, error)
}

// counter tells what the server counts.
type counter interface {
	// HOT tells how many updates of intents were counted, and how many of these touched no index.
	HOT(ctx context.Context) (hot, updates int64, err error)
}

type auditCmd struct {
	Late   time.Duration `default:"15m" help:"How far past its time anything may be (${default}); 0: that is not looked at."`
	Most   int           `default:"100" help:"Print so many violations of each check (${default}); 0: all. The others are counted."`
	Output string        `short:"o" enum:"text,json" default:"text" help:"text or json."`
}

// Help says what is checked.
func (auditCmd) Help() string {
	return `Example:

    relayer audit || page somebody

Checks, in one snapshot, that: accounts' pending sums are what their intents hold, posted sums those of their entries (pending, posted); what settled was captured once (captured); timelines have no gap and end where their intents stand (events); all bytes are there (attempts); a slot has one intent, a signer's numbers have no gap (slots, numbers); what is open has a next look (timers), and is not past its time without a reason, such as a paused route (late); no route with open intents is missing in relayer.toml (routes).

The last line but one tells how many updates of intents touched no index (HOT); it is no violation.

It writes nothing and reads every row once or twice, on one connection; see docs/operations.md for how long that takes.`
}

// auditView is an audit as programs read it.
type auditView struct {
	Violations int         `json:"violations"`
	Checks     []checkView `json:"checks"`
	HOT        hotView     `json:"hot"` // of updates of intents, as far as the server has counted
}

type hotView struct {
	Updates int64 `json:"updates"`
	HOT     int64 `json:"hot"` // that touched no index
}

func (h hotView) print(a *app) {
	if h.Updates > 0 {
		fmt.Fprintf(a.stdout, "hot: %d of %d updates of intents touched no index, %.1f %%\n", h.HOT, h.Updates, 100*float64(h.HOT)/float64(h.Updates))
	}
}

type checkView struct {
	Check   string   `json:"check"`
	Found   int      `json:"found"`
	Lines   []string `json:"lines"` // at most as many as asked for
	Seconds float64  `json:"seconds"`
}

// Run checks, prints what is wrong, and fails when anything is.
func (c *auditCmd) Run(a *app) error {
	if c.Late < 0 || c.Most < 0 {
		return usagef("--late and --most cannot be below 0")
	}
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	ask := intents.Audit{Late: c.Late, Most: c.Most}
	if len(a.cfg.Routes) > 0 {
		ask.Routes = slices.Sorted(maps.Keys(a.cfg.Routes))
	} else {
		a.complain("no routes are configured here: whether one is missing is not looked at")
	}
	all, err := s.Inspect(ctx, ask)
	if err != nil {
		return err
	}
	var h hotView
	if h.HOT, h.Updates, err = s.HOT(ctx); err != nil {
		return err
	}
	return c.print(a, all, h)
}

// print prints an audit. Errors: an exit code of 1 when anything was found.
func (c *auditCmd) print(a *app, all []intents.Audited, h hotView) error {
	view := auditView{Checks: []checkView{}, HOT: h}
	var took time.Duration
	for _, x := range all {
		view.Violations += x.Found
		took += x.Took
		view.Checks = append(view.Checks, checkView{x.Check, x.Found, append([]string{}, x.Lines...), x.Took.Seconds()})
	}
	if c.Output == "json" {
		if err := printJSON(a.stdout, view); err != nil {
			return err
		}
	} else {
		for _, x := range all {
			printAudited(a, x)
		}
		h.print(a)
		fmt.Fprintf(a.stdout, "audit: %d checks, %d violations, in %s\n", len(all), view.Violations, took.Round(time.Millisecond))
	}
	if view.Violations > 0 {
		return quiet(exitFailed)
	}
	return nil
}

// printAudited prints the lines of one check under its name, and how many more there are.
func printAudited(a *app, x intents.Audited) {
	for _, line := range x.Lines {
		fmt.Fprintf(a.stdout, "%s: %s\n", x.Check, line)
	}
	if more := x.Found - len(x.Lines); more > 0 {
		fmt.Fprintf(a.stdout, "%s: and %d more\n", x.Check, more)
	}
}
