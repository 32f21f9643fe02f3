package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
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
	if o.Version != in.Version { // the store says whether it was this very order, or whose
		return h.resolve(ctx, f, o)
	}
	after, err := h.look(ctx, &o)
	if err != nil {
		return err
	}
	if after.Version != in.Version {
		if h.byProof(ctx, o) {
			return h.overtaken(f, o, after)
		}
		return h.resolve(ctx, f, o)
	}
	if o.Verb == intents.Settle {
		if err := h.confirm(ctx, &o); err != nil {
			return err
		}
	}
	return h.resolve(ctx, f, o)
}

// look asks what became of the intent's bytes. What is proved about one in review is written: then nobody need decide.
func (h *hand) look(ctx context.Context, o *intents.Order) (in intents.Intent, err error) {
	in = h.w.Intent
	switch {
	case len(h.w.Attempts) == 0:
	case in.State == intents.NeedsReview:
		o.Seen, in, err = h.observer.Look(ctx, h.w)
	case in.State == intents.Failed:
		o.Seen, err = h.observer.Peek(ctx, h.w)
		if o.Verb == intents.Retry && o.Seen.Fact == intents.Final { // it happened after all (case 106)
			o.Verb, o.Ref, o.Own, o.Proved = intents.Settle, o.Seen.Ref, true, true
		}
	}
	if err != nil {
		return in, fmt.Errorf("the other side cannot be asked, nothing was decided: %w", err)
	}
	return in, nil
}

// byProof says whether it was our look that moved the intent on, and not another person or process meanwhile.
func (h *hand) byProof(ctx context.Context, o intents.Order) bool {
	_, _, err := h.store.Resolve(ctx, h.w.Intent.ID, o)
	moved, ok := errors.AsType[*intents.MovedError](err)
	return ok && moved.By.Actor == o.Actor && !bytes.HasPrefix(moved.By.Detail, []byte(`{"did":"review `))
}

// overtaken reports what proof made of an intent while a person was about to decide.
func (h *hand) overtaken(f about, o intents.Order, in intents.Intent) error {
	good := map[intents.Verb][]intents.State{
		intents.Settle: {intents.Settled},
		intents.Fail:   {intents.Failed},
		intents.Retry:  {intents.Settled, intents.Confirming, intents.Authorized},
	}[o.Verb]
	h.app.complain(fmt.Sprintf("%s: the other side was asked first, and its answer (%s) decided: nothing was left to decide", in.ID, o.Seen.Fact))
	if err := h.report(f, in, ""); err != nil {
		return err
	}
	if !slices.Contains(good, in.State) {
		return quiet(exitFailed)
	}
	return nil
}

// confirm finds out what is to be said for and against a reference.
func (h *hand) confirm(ctx context.Context, o *intents.Order) error {
	in := h.w.Intent
	for _, a := range h.w.Attempts {
		o.Own = o.Own || a.Name == o.Ref && a.Kind.Pays()
	}
	seen, asked := o.Seen, in.Seen && len(h.w.Attempts) > 0
	if !o.Own {
		of, ok, err := h.observer.Refer(ctx, in, o.Ref)
		if err != nil {
			return settingError(err)
		}
		if ok {
			seen, asked = of, true
		}
	}
	if asked {
		o.Proved = seen.Fact == intents.Final && strings.EqualFold(seen.Ref, o.Ref)
		o.Against = objection(seen, o.Ref)
	}
	return h.compare(ctx, o)
}

// objection is what an observation says against a reference.
func objection(seen intents.Observation, ref string) string {
	switch seen.Fact {
	case intents.Final:
		if !strings.EqualFold(seen.Ref, ref) {
			return "the other side calls it " + seen.Ref
		}
		return ""
	case intents.Included:
		return "it is not beyond recall yet: wait"
	case intents.Pending:
		return "the other side has it, but has not done it yet: wait"
	case intents.Reverted:
		return "it was executed without effect"
	case intents.Dead:
		return "it is not this payment, or can never happen: " + string(seen.Evidence)
	case intents.NotSeen:
	}
	return strings.TrimSpace("the other side does not show it " + string(seen.Evidence))
}

// compare looks whether another intent has the reference: one transaction pays one (case 103).
func (h *hand) compare(ctx context.Context, o *intents.Order) error {
	others, err := h.store.List(ctx, intents.Filter{Ref: o.Ref, States: []intents.State{intents.Confirming, intents.Settled}, Limit: 2})
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.ID != h.w.Intent.ID {
			o.Proved, o.Against = false, fmt.Sprintf("it is the reference of %s, which is %s", other.ID, other.State)
		}
	}
	return nil
}

// resolve has the order carried out and reports.
func (h *hand) resolve(ctx context.Context, f about, o intents.Order) error {
	in, again, err := h.store.Resolve(ctx, h.w.Intent.ID, o)
	no, refused := errors.AsType[*intents.OrderError](err)
	switch {
	case refused:
		return fmt.Errorf("%s is refused: %w%s", o.Verb, err, wayOut(no.Way, h.w.Intent.ID))
	case err != nil:
		if bad, ok := errors.AsType[*intents.InvalidError](err); ok {
			bad.Field = "--" + bad.Field
			return usage(err)
		}
		return err
	case again:
		return h.report(f, in, "already resolved")
	}
	return h.report(f, in, "")
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
