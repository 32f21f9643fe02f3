package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// resolver is what people decide with.
type resolver interface {
	desk.Records
	// Reviews reads what is in review on a route, or on all where that is empty, longest first.
	Reviews(ctx context.Context, route string, most int) ([]intents.Intent, error)
}

type reviewCmd struct {
	List   reviewListCmd   `cmd:"" aliases:"ls" help:"List what is in review, longest first."`
	Show   reviewShowCmd   `cmd:"" help:"Show the evidence, what the other side says now, and what may be decided."`
	Settle reviewSettleCmd `cmd:"" help:"It happened: take the hold out of the account."`
	Fail   reviewFailCmd   `cmd:"" help:"It did not happen and cannot: give the hold back."`
	Retry  reviewRetryCmd  `cmd:"" help:"Send the same bytes again, in the same slot."`
	Note   reviewNoteCmd   `cmd:"" help:"Add a line to the timeline."`
}

type reviewListCmd struct {
	Route  string `env:"RELAYER_ROUTE" help:"Only this route."`
	Limit  int    `default:"50" help:"At most so many."`
	Output string `short:"o" enum:"table,json,jsonl" default:"table" env:"RELAYER_OUTPUT" help:"table, json or jsonl."`
}

// Help shows examples.
func (reviewListCmd) Help() string {
	return "Examples:\n\n    relayer review list\n    relayer review list --route payouts -o jsonl"
}

// Run prints the list.
func (c *reviewListCmd) Run(a *app) error {
	if c.Limit < 1 {
		return usage(&intents.InvalidError{Field: "--limit", Value: strconv.Itoa(c.Limit), Want: "at least 1"})
	}
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.Reviews(ctx, c.Route, c.Limit)
	if err != nil {
		return err
	}
	switch {
	case len(all) == 0:
		a.complain("nothing is in review")
	case len(all) == c.Limit:
		a.complain(fmt.Sprintf("those %d that are longest in review; --limit shows more", c.Limit))
	}
	return c.print(a, all)
}

func (c *reviewListCmd) print(a *app, all []intents.Intent) error {
	views := []intents.View{}
	t := newTable(a.stdout, "ID", "VERSION", "REASON", "SINCE", "ROUTE", "AMOUNT", "ASSET", "DESTINATION", "KNOWN")
	for _, in := range all {
		switch c.Output {
		case "jsonl":
			if err := printLine(a.stdout, intents.JSON(in)); err != nil {
				return err
			}
		default:
			views = append(views, intents.JSON(in))
			t.row(in.ID, strconv.Itoa(in.Version), string(in.Reason), ago(in), in.Route, in.Amount.String(), in.Asset, in.Destination, known(in))
		}
	}
	switch {
	case c.Output == "json":
		return printJSON(a.stdout, views)
	case c.Output == "table" && len(all) > 0:
		return t.flush()
	}
	return nil
}

// known is in a few words what is known of an intent in review.
func known(in intents.Intent) string {
	var words []string
	switch in.Stored {
	case 0:
		words = append(words, "no bytes")
	case 1:
		words = append(words, "1 attempt")
	default:
		words = append(words, fmt.Sprintf("%d attempts", in.Stored))
	}
	if in.Stored > 0 && in.Safe(in.ReadAt) == nil {
		words = append(words, "safe to send again")
	}
	if in.Ref != "" {
		words = append(words, in.Ref)
	}
	return strings.Join(words, ", ")
}

type reviewNoteCmd struct {
	ID   string `arg:"" help:"The intent's id."`
	Text string `arg:"" help:"What there is to know."`
}

// Help shows an example.
func (reviewNoteCmd) Help() string {
	return "Example:\n\n    relayer review note pi_x1 'asked the provider, ticket 4711'\n\nMoves nothing; any intent can be noted."
}

// Run notes.
func (c *reviewNoteCmd) Run(a *app) error {
	if strings.TrimSpace(c.Text) == "" {
		return usagef("the note is empty")
	}
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := desk.AddNote(ctx, s, c.ID, a.actor(), c.Text); err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s  noted by %s at %s\n", c.ID, a.actor(), stamp(time.Now()))
	return err
}
