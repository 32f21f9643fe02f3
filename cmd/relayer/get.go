package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// reader reads one intent and its past.
type reader interface {
	// Get reads one intent. Errors: intents.ErrNotFound.
	Get(ctx context.Context, id string) (intents.Intent, error)
	// Events reads its timeline, oldest first. Errors: intents.ErrNotFound.
	Events(ctx context.Context, id string) ([]intents.Event, error)
	// Attempts reads the bytes stored for it, by number. Errors: intents.ErrNotFound.
	Attempts(ctx context.Context, id string) ([]intents.Attempt, error)
}

type getCmd struct {
	ID     string `arg:"" help:"The intent's id."`
	Output string `short:"o" enum:"text,json" default:"text" help:"text or json."`
}

// Help shows examples.
func (getCmd) Help() string {
	return "Examples:\n\n    relayer get pi_x1\n    relayer get pi_x1 -o json"
}

// story is an intent with its timeline and attempts. Bytes are counted, not shown: whoever has them can send them.
type story struct {
	Intent   intents.View          `json:"intent"`
	Events   []intents.EventView   `json:"events"`
	Attempts []intents.AttemptView `json:"attempts"`
}

// Run prints the story.
func (c *getCmd) Run(a *app) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	st, err := readStory(ctx, s, c.ID)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	if c.Output == "json" {
		return printJSON(a.stdout, st)
	}
	return st.print(newTable(a.stdout))
}

func readStory(ctx context.Context, r reader, id string) (story, error) {
	in, err := r.Get(ctx, id)
	if err != nil {
		return story{}, err
	}
	events, err := r.Events(ctx, id)
	if err != nil {
		return story{}, err
	}
	attempts, err := r.Attempts(ctx, id)
	if err != nil {
		return story{}, err
	}
	st := story{Intent: intents.JSON(in), Events: []intents.EventView{}, Attempts: []intents.AttemptView{}}
	for _, e := range events {
		st.Events = append(st.Events, intents.EventJSON(e))
	}
	for _, at := range attempts {
		st.Attempts = append(st.Attempts, intents.AttemptJSON(at))
	}
	return st, nil
}

func (st story) print(t table) error {
	st.printIntent(t)
	if len(st.Events) > 0 {
		t.row("\ntimeline")
	}
	for _, e := range st.Events {
		t.row("  "+stamp(e.At), "v"+strconv.Itoa(e.Version), step(e), remarks(e))
	}
	if len(st.Attempts) > 0 {
		t.row("\nattempts")
	}
	for _, at := range st.Attempts {
		t.row("  "+strconv.Itoa(at.No)+" "+at.Kind, at.Slot, strconv.Itoa(at.Size)+" bytes", strings.TrimSpace(at.Name+" "+at.Expiry))
	}
	return t.flush()
}

func (st story) printIntent(t table) {
	in := st.Intent
	row := func(name, value string) {
		if value != "" {
			t.row(name, value)
		}
	}
	at := func(when time.Time) string {
		if when.IsZero() {
			return ""
		}
		return stamp(when)
	}
	row("id", in.ID)
	row("state", fmt.Sprintf("%s v%d", in.State, in.Version))
	row("reason", string(in.Reason))
	row("ref", in.Ref)
	row("route", in.Route)
	row("account", in.Account)
	row("destination", in.Destination)
	if in.Asset != "" {
		row("amount", in.Amount.String()+" "+in.Asset)
	}
	row("lane", in.Lane)
	row("not before", at(in.NotBefore))
	row("expires at", at(in.ExpiresAt))
	for _, k := range slices.Sorted(maps.Keys(in.Metadata)) {
		row("metadata", k+"="+in.Metadata[k])
	}
	row("slot", in.Slot)
	row("due at", at(in.DueAt))
	if !in.PrunedAt.IsZero() { // its timeline does not tell any more
		row("created at", at(in.CreatedAt))
		row("pruned at", at(in.PrunedAt))
	}
}

// step is what an event did.
func step(e intents.EventView) string {
	switch {
	case e.Kind != intents.Changed.String():
		return e.Kind
	case e.From == "" || e.From == e.To:
		return e.To
	}
	return e.From + " → " + e.To
}

// remarks are who did it and what is known beside.
func remarks(e intents.EventView) string {
	words := []string{"by " + e.Actor}
	if e.Actor == "" {
		words = nil
	}
	for _, w := range []string{string(e.Reason), e.Ref, string(e.Detail)} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, "  ")
}
