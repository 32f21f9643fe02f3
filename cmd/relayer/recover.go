package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
)

// recoverer goes on after the database has forgotten what it had committed.
type recoverer interface {
	// Lost says whether it has. Errors: *intents.LostError.
	Lost(ctx context.Context) error
	// Recover hands what may have been sent to a person, freezes signers and lets claims be had again.
	// Errors: *intents.InvalidError.
	Recover(ctx context.Context, r intents.Recall, told func(more int)) (intents.Recalled, error)
	// Doubtful counts by route what Recover would hand to a person. Errors: *intents.InvalidError.
	Doubtful(ctx context.Context, r intents.Recall) (map[string]int, error)
}

// recoverCmd goes on after a failover or a restore that lost committed data.
type recoverCmd struct {
	Since  past   `required:"" placeholder:"TIME" help:"Commits after it may be missing: RFC 3339, or how long ago, such as 10m. Rather too early than too late."`
	DryRun bool   `name:"dry-run" help:"Only count what would go to a person."`
	Output string `short:"o" enum:"text,json" default:"text" help:"text or json."`
}

// Help shows examples.
func (recoverCmd) Help() string {
	return `Examples:

    relayer recover --since 5m --dry-run
    relayer recover --since 2026-11-30T12:00:00Z

After a failover to a standby that lacked the last commits, or a restore from a backup, nothing is claimed until this is run (readyz and the log say so). Stop at nothing that was noticed: where no process has noticed a loss, this says that there was one.

- Signers of EVM routes are frozen. What the chain shows of forgotten transactions is compared with the intents, and goes to review; then look that none waits in a pool any more, and unfreeze: relayer evm signer unfreeze.
- Intents of webhooks that are not idempotent, and were due before the loss was noticed, go to review (forgotten): nobody can tell which were sent.
- Intents of idempotent webhooks are sent again with the same key, if the keys are remembered for twice as long as since then. Let them be sent soon.`
}

// Run recovers.
func (c *recoverCmd) Run(a *app) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if len(a.cfg.Routes) == 0 {
		return usagef("routes: none is configured, and what may be sent again depends on them: give --config")
	}
	r := intents.Recall{Since: c.Since.Time, Actor: a.actor(), Spared: spared(a.cfg, time.Since(c.Since.Time))}
	if c.DryRun {
		counts, err := s.Doubtful(ctx, r)
		if err != nil {
			return settingError(err)
		}
		return c.show(a, intents.Recalled{Reviewed: counts}, r.Spared)
	}
	p := newProgress(a.stderr, "looked at", -1)
	done, err := s.Recover(ctx, r, p.add)
	p.finish()
	if err != nil {
		return settingError(err)
	}
	return c.show(a, done, r.Spared)
}

// spared are the routes of which nothing goes to a person by itself: what an EVM signer paid is found on the chain, and an
// idempotent provider knows the same key again, for twice the time since.
func spared(cfg config.Config, since time.Duration) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Routes)) {
		r, err := cfg.Route(name)
		if err == nil && (r.Sender == "evm" || r.Webhook.Idempotent && 2*since < r.Webhook.KeyRetention) {
			names = append(names, name)
		}
	}
	return names
}

// recoveredView is a recovery as programs read it.
type recoveredView struct {
	DryRun   bool           `json:"dry_run"`
	Reviewed map[string]int `json:"reviewed"` // by route
	Told     int            `json:"told"`     // created intents whose timelines say it
	Frozen   []string       `json:"frozen"`   // signers
	Spared   []string       `json:"spared"`   // routes of which nothing goes to a person by itself
}

func (c *recoverCmd) show(a *app, done intents.Recalled, spared []string) error {
	if c.Output == "json" {
		return printJSON(a.stdout, recoveredView{c.DryRun, done.Reviewed, done.Told, orNone(done.Frozen), orNone(spared)})
	}
	goes := "go to review"
	if c.DryRun {
		goes = "would go to review"
	}
	total := 0
	for _, route := range slices.Sorted(maps.Keys(done.Reviewed)) {
		fmt.Fprintf(a.stdout, "%s  %d %s\n", route, done.Reviewed[route], goes)
		total += done.Reviewed[route]
	}
	for _, route := range spared {
		fmt.Fprintf(a.stdout, "%s  spared\n", route)
	}
	for _, scope := range done.Frozen {
		fmt.Fprintf(a.stdout, "%s  frozen\n", scope)
	}
	last := "recovered: claims are had again"
	if c.DryRun {
		last = "dry run: nothing was changed"
	}
	_, err := fmt.Fprintf(a.stdout, "%d %s; %s\n", total, goes, last)
	return err
}

func orNone(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}
