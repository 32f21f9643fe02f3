package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// about is what every decision needs.
type about struct {
	Version int    `placeholder:"N" help:"The version that you saw: review show tells it. May be left out on a terminal."`
	Reason  string `required:"" placeholder:"TEXT" help:"Why; it stands in the timeline with your name."`
	Output  string `short:"o" enum:"text,json" default:"text" help:"text or json."`
}

type reviewSettleCmd struct {
	ID string `arg:"" help:"The intent's id."`
	about
	Ref         string `required:"" help:"What shows that it happened: a transaction hash, the provider's id."`
	Unconfirmed bool   `help:"Although the other side does not confirm the reference."`
}

// Help shows an example.
func (reviewSettleCmd) Help() string {
	return `Example:

    relayer review settle pi_x1 --version 5 --ref 0x… --reason 'block 19000000, seen in two explorers'

The other side is asked first. A hash must be one of the intent's attempts, or a transaction that pays the same amount to the same destination, beyond recall. While bytes of the intent may still take effect no other transaction settles it.`
}

// Run settles.
func (c *reviewSettleCmd) Run(a *app) error {
	return a.reach(c.ID, func(ctx context.Context, h *hand) error {
		return h.decide(ctx, c.about, intents.Order{Verb: intents.Settle, Ref: c.Ref, Unconfirmed: c.Unconfirmed})
	})
}

type reviewFailCmd struct {
	ID string `arg:"" help:"The intent's id."`
	about
}

// Help shows an example.
func (reviewFailCmd) Help() string {
	return `Example:

    relayer review fail pi_x1 --version 5 --reason 'the provider never got it, ticket 4711'

The other side is asked first. Refused while a transaction of the intent may still be mined: relayer attempt cancel uses its nonce for nothing, and once that is beyond recall the intent fails by itself.`
}

// Run fails.
func (c *reviewFailCmd) Run(a *app) error {
	return a.reach(c.ID, func(ctx context.Context, h *hand) error {
		return h.decide(ctx, c.about, intents.Order{Verb: intents.Fail})
	})
}

// decide asks the other side, and has the store carry out an order about what the person saw.
func (h *hand) decide(ctx context.Context, f about, o intents.Order) error {
	in := h.w.Intent
	o.Version, o.Reason, o.Actor = f.Version, f.Reason, h.app.actor()
	if o.Version == 0 {
		if !isTerminal(h.app.stdin) {
			return usagef("--version: the version that you saw, as relayer review show tells it")
		}
		o.Version = in.Version
		h.app.complain("about " + line(in) + ", as it stands")
	}
	out, err := h.file().Decide(ctx, o)
	switch {
	case err != nil:
		return orderError(err, in.ID)
	case out.ByProof:
		return h.overtaken(f, o, out)
	case out.Again:
		return h.report(f, out.Intent, "already resolved")
	}
	return h.report(f, out.Intent, "")
}

// overtaken reports what proof made of an intent while a person was about to decide.
func (h *hand) overtaken(f about, o intents.Order, out desk.Outcome) error {
	h.app.complain(fmt.Sprintf("%s: the other side was asked first, and its answer (%s) decided: nothing was left to decide", out.Intent.ID, out.Seen.Fact))
	if err := h.report(f, out.Intent, ""); err != nil {
		return err
	}
	if !out.Serves(o.Verb) {
		return quiet(exitFailed)
	}
	return nil
}

// orderError says what to do about a refusal, and which flag is wrong.
func orderError(err error, id string) error {
	if _, ok := errors.AsType[*desk.UnansweredError](err); ok {
		return err
	}
	if no, ok := errors.AsType[*desk.RefusedError](err); ok {
		return fmt.Errorf("%w%s", err, wayOut(no.Order.Way, id))
	}
	if bad, ok := errors.AsType[*intents.InvalidError](err); ok {
		bad.Field = "--" + bad.Field
		return usage(err)
	}
	return err
}

// wayOut says what to do about a refusal.
func wayOut(way, id string) string {
	switch way {
	case "cancel":
		return "; relayer attempt cancel " + id + " uses the slot for nothing: decide when that is beyond recall"
	case "unconfirmed":
		return "; --unconfirmed settles it all the same"
	case "twice":
		return "; --may-pay-twice sends it all the same"
	}
	return ""
}

// report prints what became of an intent.
func (h *hand) report(f about, in intents.Intent, remark string) error {
	if f.Output == "json" {
		return printJSON(h.app.stdout, struct {
			Intent intents.View `json:"intent"`
			Again  bool         `json:"already_resolved"`
		}{intents.JSON(in), remark != ""})
	}
	_, err := fmt.Fprintln(h.app.stdout, strings.TrimRight(line(in)+"  "+remark, " "))
	return err
}
