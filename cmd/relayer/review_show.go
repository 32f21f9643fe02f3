package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

type reviewShowCmd struct {
	ID      string `arg:"" help:"The intent's id."`
	Offline bool   `help:"Do not ask the other side."`
	Output  string `short:"o" enum:"text,json" default:"text" help:"text or json."`
}

// Help shows an example.
func (reviewShowCmd) Help() string {
	return "Example:\n\n    relayer review show pi_x1\n\nNothing is written. The last lines are commands that may be given now, about the version shown."
}

// page is a review as it is shown.
type page struct {
	story
	Now    *nowView `json:"now,omitempty"` // what the other side says; none: it was not asked
	Decide []choice `json:"decide"`
}

// nowView is an observation, or why there is none.
type nowView struct {
	Fact     string          `json:"fact,omitempty"`
	Attempt  int             `json:"attempt,omitempty"` // the one it speaks of
	Ref      string          `json:"ref,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// choice is a command that may be given, or why it may not.
type choice struct {
	Command string `json:"command,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Run shows the page.
func (c *reviewShowCmd) Run(a *app) error {
	if c.Offline {
		ctx, stop := a.context()
		defer stop()
		s, err := a.open(ctx)
		if err != nil {
			return err
		}
		defer s.Close()
		if err := c.show(ctx, a, s, nil); err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		return nil
	}
	return a.reach(c.ID, func(ctx context.Context, h *hand) error { return c.show(ctx, a, h.store, h) })
}

// show prints the page; without a hand what the other side says is left out.
func (c *reviewShowCmd) show(ctx context.Context, a *app, s store, h *hand) error {
	w, err := desk.Read(ctx, s, c.ID)
	if err != nil {
		return err
	}
	st, err := readStory(ctx, s, c.ID)
	if err != nil {
		return err
	}
	p := page{story: st}
	var seen intents.Observation
	if h != nil {
		asked := false
		if seen, asked, err = desk.New(s, h.observer, a.actor(), w).Peek(ctx); asked {
			p.Now = a.viewNow(seen, err)
		}
	}
	p.Decide = choices(w.Intent, seen)
	if c.Output == "json" {
		return printJSON(a.stdout, p)
	}
	return p.print(newTable(a.stdout))
}

func (a *app) viewNow(o intents.Observation, err error) *nowView {
	if no, ok := errors.AsType[*desk.UnansweredError](err); ok {
		return &nowView{Error: a.redact(no.Err.Error())}
	}
	v := &nowView{Fact: o.Fact.String(), Attempt: o.No, Ref: o.Ref}
	if json.Valid(o.Evidence) {
		v.Evidence = o.Evidence
	}
	return v
}

// choices are the commands for what may be decided.
func choices(in intents.Intent, seen intents.Observation) []choice {
	all := []choice{}
	about := fmt.Sprintf(" %s --version %d --reason TEXT", in.ID, in.Version)
	for _, c := range desk.Choices(in, seen) {
		command := "relayer review " + string(c.Do) + about
		switch {
		case c.Refused:
			all = append(all, choice{Why: string(c.Do) + " is refused: " + c.Why})
			continue
		case c.Do == desk.Settle:
			command += " --ref REF"
		case c.Do == desk.Drop:
			command = "relayer attempt cancel " + in.ID
		case c.Do == desk.Note:
			command = "relayer review note " + in.ID + " TEXT"
		}
		if c.Twice {
			command += " --may-pay-twice"
		}
		all = append(all, choice{command, c.Why})
	}
	return all
}

func (p page) print(t table) error {
	if err := p.story.print(t); err != nil {
		return err
	}
	if n := p.Now; n != nil {
		t.row("\nthe other side now")
		if n.Error != "" {
			t.row("  cannot be asked: " + n.Error)
		} else {
			t.row("  "+n.Fact, n.Ref, string(n.Evidence))
		}
	}
	if len(p.Decide) > 0 {
		t.row("\ndecide")
	}
	for _, c := range p.Decide {
		switch {
		case c.Command == "":
			t.row("  " + c.Why)
		case c.Why == "":
			t.row("  " + c.Command)
		default:
			t.row("  " + c.Command + "   # " + c.Why)
		}
	}
	return t.flush()
}
