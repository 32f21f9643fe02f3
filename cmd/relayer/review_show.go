package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nsqrelayer/relayer/intents"
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
	w, err := readWatch(ctx, s, c.ID)
	if err != nil {
		return err
	}
	st, err := readStory(ctx, s, c.ID)
	if err != nil {
		return err
	}
	p := page{story: st}
	var seen intents.Observation
	if h != nil && len(w.Attempts) > 0 {
		seen, err = h.observer.Peek(ctx, w)
		p.Now = a.viewNow(seen, err)
	}
	p.Decide = choices(w.Intent, seen)
	if c.Output == "json" {
		return printJSON(a.stdout, p)
	}
	return p.print(newTable(a.stdout))
}

func (a *app) viewNow(o intents.Observation, err error) *nowView {
	if err != nil {
		return &nowView{Error: a.redact(err.Error())}
	}
	v := &nowView{Fact: o.Fact.String(), Attempt: o.No, Ref: o.Ref}
	if json.Valid(o.Evidence) {
		v.Evidence = o.Evidence
	}
	return v
}

// choices are what may be decided about an intent, by the rules that the store decides by. Nothing is offered for one that
// is on its way.
func choices(in intents.Intent, seen intents.Observation) []choice {
	all := []choice{}
	if in.State != intents.NeedsReview && in.State != intents.Failed {
		return all
	}
	about := fmt.Sprintf(" %s --version %d --reason TEXT", in.ID, in.Version)
	for _, v := range []intents.Verb{intents.Settle, intents.Fail, intents.Retry} {
		o := intents.Order{Verb: v, Version: in.Version, Actor: "-", Reason: "-", Ref: "-", Seen: seen, Own: true, Proved: true}
		command := "relayer review " + string(v) + about
		if v == intents.Settle {
			command += " --ref REF"
		}
		_, err := intents.Resolve(in, o, in.ReadAt)
		no, refused := errors.AsType[*intents.OrderError](err)
		switch {
		case err == nil:
			all = append(all, choice{Command: command})
		case refused && no.Way == "twice":
			all = append(all, choice{command + " --may-pay-twice", no.Why})
		case refused:
			all = append(all, choice{Why: string(v) + " is refused: " + no.Why})
		}
	}
	if in.Alive(seen) {
		all = append(all, choice{"relayer attempt cancel " + in.ID, "uses the slot for nothing; decide when that is beyond recall"})
	}
	return append(all, choice{Command: "relayer review note " + in.ID + " TEXT"})
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
