package main

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// listPage is how many intents one query reads.
const listPage = 500

// lister reads intents, newest first.
type lister interface {
	List(ctx context.Context, f intents.Filter) ([]intents.Intent, error)
}

type listCmd struct {
	Route   string   `env:"RELAYER_ROUTE" help:"Only this route."`
	State   []string `enum:"created,authorized,settling,confirming,settled,failed,canceled,needs_review" placeholder:"STATE" help:"Only these states: ${enum}."`
	Account string   `help:"Only this account."`
	Asset   string   `help:"Only this asset."`
	Lane    string   `help:"Only this lane."`
	Ref     string   `help:"Only with this reference: a transaction hash, a provider's id."`
	Since   past     `placeholder:"TIME" help:"Created at or after: RFC 3339, or how long ago (1h)."`
	Until   past     `placeholder:"TIME" help:"Created before: RFC 3339, or how long ago (1h)."`
	Limit   int      `default:"50" help:"At most so many."`
	Output  string   `short:"o" enum:"table,json,jsonl" default:"table" env:"RELAYER_OUTPUT" help:"table, json or jsonl."`
}

// Help shows examples.
func (listCmd) Help() string {
	return "Examples:\n\n    relayer list --state needs_review\n    relayer list --route payouts --since 1h --limit 1000 -o jsonl"
}

// Run prints the list.
func (c *listCmd) Run(a *app) error {
	if c.Limit < 1 {
		return usage(&intents.InvalidError{Field: "--limit", Value: strconv.Itoa(c.Limit), Want: "at least 1"})
	}
	f, err := c.filter()
	if err != nil {
		return usage(err)
	}
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := c.print(a, pages(ctx, s, f, c.Limit))
	switch {
	case err != nil:
		return err
	case n == 0:
		fmt.Fprintln(a.stderr, "relayer: no intents match")
	case n == c.Limit:
		fmt.Fprintf(a.stderr, "relayer: the newest %d; --limit shows more\n", n)
	}
	return nil
}

func (c *listCmd) filter() (intents.Filter, error) {
	f := intents.Filter{Route: c.Route, Account: c.Account, Asset: c.Asset, Lane: c.Lane, Ref: c.Ref, Since: c.Since.Time, Until: c.Until.Time}
	for _, name := range c.State {
		s, err := intents.ParseState(name)
		if err != nil {
			return f, err
		}
		f.States = append(f.States, s)
	}
	return f, nil
}

// pages yields up to limit intents, read page by page.
func pages(ctx context.Context, l lister, f intents.Filter, limit int) iter.Seq2[intents.Intent, error] {
	return func(yield func(intents.Intent, error) bool) {
		for limit > 0 {
			f.Limit = min(limit, listPage)
			page, err := l.List(ctx, f)
			if err != nil {
				yield(intents.Intent{}, err)
				return
			}
			for _, in := range page {
				if !yield(in, nil) {
					return
				}
			}
			if len(page) < f.Limit {
				return
			}
			limit -= len(page)
			f.Before = page[len(page)-1].Key
		}
	}
}

// print prints the list and says how long it is.
func (c *listCmd) print(a *app, all iter.Seq2[intents.Intent, error]) (n int, err error) {
	views := []intents.View{}
	t := newTable(a.stdout, "ID", "ROUTE", "STATE", "ACCOUNT", "AMOUNT", "ASSET", "CHANGED", "REF")
	for in, err := range all {
		if err != nil {
			return n, err
		}
		n++
		switch c.Output {
		case "jsonl":
			if err := printLine(a.stdout, intents.JSON(in)); err != nil {
				return n, err
			}
		case "json":
			views = append(views, intents.JSON(in))
		default:
			t.row(in.ID, in.Route, in.State.String(), in.Account, in.Amount.String(), in.Asset, ago(in), in.Ref)
		}
	}
	switch {
	case c.Output == "json":
		return n, printJSON(a.stdout, views)
	case c.Output == "table" && n > 0:
		return n, t.flush()
	}
	return n, nil
}

// ago is how long before it was read an intent last changed.
func ago(in intents.Intent) string {
	return max(in.ReadAt.Sub(in.ChangedAt), 0).Round(time.Second).String() + " ago"
}
