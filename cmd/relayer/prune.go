package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// youngest is how long an intent is final at least before it is pruned: messages and calls about it are over by then.
const youngest = time.Hour

// pruner deletes what ended long ago.
type pruner interface {
	// Prune leaves a tombstone of each intent that has been final for long enough, oldest first. told hears how many more.
	Prune(ctx context.Context, p intents.Prune, told func(more int)) (intents.Pruned, error)
}

type pruneCmd struct {
	OlderThan past   `name:"older-than" required:"" placeholder:"90d" help:"Only what has been final since before: how long ago, such as 90d, or RFC 3339. At least an hour."`
	Route     string `help:"Only this route."`
	Limit     int    `help:"At most so many intents; 0: all."`
	DryRun    bool   `name:"dry-run" help:"Only count."`
	Output    string `short:"o" enum:"text,json" default:"text" help:"text or json."`
}

// Help says what goes and what stays.
func (pruneCmd) Help() string {
	return `Examples:

    relayer prune --older-than 90d --dry-run
    relayer prune --older-than 90d --limit 100000

Of each intent that settled, failed or was canceled before that, a tombstone stays: id, content, route, state, version, reference. So its id is never used again: the same message is answered with how it ended, another content is a dead letter. Its timeline, its bytes and its slots go.

What is open stays, whatever its age; so does what has a slot to be filled, and what is contradicted while nobody has noted anything: read it, then relayer review note. Entries of accounts and dead letters stay.

It works in small commits beside the traffic, waits for no row, may be stopped and run again, and twice at once.`
}

// Run prunes.
func (c *pruneCmd) Run(a *app) error {
	if c.Limit < 0 {
		return usagef("--limit cannot be below 0")
	}
	if time.Since(c.OlderThan.Time) < youngest {
		return usage(&intents.InvalidError{Field: "--older-than", Value: stamp(c.OlderThan.Time), Want: "at least an hour ago, such as 90d"})
	}
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	did := "pruned"
	if c.DryRun {
		did = "counted"
	}
	p := newProgress(a.stderr, did, -1)
	done, err := s.Prune(ctx, intents.Prune{Before: c.OlderThan.Time, Route: c.Route, Limit: c.Limit, DryRun: c.DryRun}, p.add)
	p.finish()
	if err != nil {
		return fmt.Errorf("after %d intents, run it again to go on: %w", done.Total(), err)
	}
	return c.show(a, done)
}

// prunedView is a prune as programs read it.
type prunedView struct {
	DryRun bool                 `json:"dry_run"`
	Before time.Time            `json:"before"`
	Total  int                  `json:"total"`
	Pruned map[string]int       `json:"pruned"` // by how they ended
	Kept   map[intents.Kept]int `json:"kept"`   // old enough, by why they stay
	Alarms []string             `json:"alarms"` // ids of the first that are kept as contradicted
	Slots  int                  `json:"slots"`  // numbers of signers that went
}

func (c *pruneCmd) show(a *app, done intents.Pruned) error {
	ended := map[string]int{}
	for state, n := range done.Intents {
		ended[state.String()] = n
	}
	if c.Output == "json" {
		return printJSON(a.stdout, prunedView{c.DryRun, c.OlderThan.Time, done.Total(), ended, done.Kept, orNone(done.Alarms), done.Slots})
	}
	for _, state := range intents.States() {
		if n := done.Intents[state]; n > 0 {
			fmt.Fprintf(a.stdout, "%s  %d\n", state, n)
		}
	}
	for _, why := range []intents.Kept{intents.KeptSlot, intents.KeptAlarm} {
		if n := done.Kept[why]; n > 0 {
			fmt.Fprintf(a.stdout, "kept  %d %s\n", n, why)
		}
	}
	if len(done.Alarms) > 0 {
		a.complain("contradicted, and nobody has noted anything: " + strings.Join(done.Alarms, ", "))
	}
	last := fmt.Sprintf("%d pruned, %d numbers of signers", done.Total(), done.Slots)
	if c.DryRun {
		last = fmt.Sprintf("%d would be pruned; dry run: nothing was changed", done.Total())
	}
	_, err := fmt.Fprintln(a.stdout, last)
	return err
}
