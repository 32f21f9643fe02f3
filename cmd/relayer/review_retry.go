package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

type reviewRetryCmd struct {
	ID string `arg:"" optional:"" help:"The intent's id."`
	about
	MayPayTwice bool   `help:"Also where the recipient may take the same bytes for another payment, or it may have been paid already: one more call is made."`
	All         bool   `help:"All of a route that the recipient knows again; a dry run without --yes."`
	Route       string `help:"With --all: the route."`
	Yes         bool   `help:"With --all: do it."`
	Limit       int    `default:"10000" help:"With --all: at most so many are looked at (${default})."`
}

// Help shows examples.
func (reviewRetryCmd) Help() string {
	return `Examples:

    relayer review retry pi_x1 --version 5 --reason 'the provider was down from 9 to 10'
    relayer review retry --all --route webhooks --reason 'the provider was down'          # a dry run
    relayer review retry --all --route webhooks --reason 'the provider was down' --yes

The other side is asked first: what it shows to have happened is settled instead. What is left goes back to settling, with its hold, for the same bytes in the same slot; the sweeper publishes it, a worker sends it when the throttle lets it.`
}

// Run sends one again, or all that are safe.
func (c *reviewRetryCmd) Run(a *app) error {
	switch {
	case c.All == (c.ID != ""):
		return usagef("either an intent's id, or --all with --route")
	case c.All && (c.Route == "" || c.Version != 0 || c.MayPayTwice || c.Limit < 1):
		return usagef("--all takes --route, and neither --version nor --may-pay-twice: what may pay twice is decided one by one")
	case !c.All && (c.Route != "" || c.Yes):
		return usagef("--route and --yes go with --all")
	case c.All:
		return c.all(a)
	}
	return a.reach(c.ID, func(ctx context.Context, h *hand) error {
		return h.decide(ctx, c.about, intents.Order{Verb: intents.Retry, MayPayTwice: c.MayPayTwice})
	})
}

// sweep is a retry of many.
type sweep struct {
	*hand
	about
	dry     bool
	moved   int
	proved  int            // ended, or were found on their way, by what the other side says
	skipped map[string]int // by why
}

// all goes through what is in review on the route. What was moved by the end, or by an interruption, is told; a second run
// finds what is left.
func (c *reviewRetryCmd) all(a *app) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	h, done, err := a.handOf(s, c.Route)
	if err != nil {
		return err
	}
	defer done()
	ins, err := s.Reviews(ctx, c.Route, c.Limit)
	if err != nil {
		return err
	}
	w := &sweep{hand: h, about: c.about, dry: !c.Yes, skipped: map[string]int{}}
	for _, in := range ins {
		if err = context.Cause(ctx); err == nil {
			err = w.one(ctx, in)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(w.summary(), err)
}

// one sends an intent again if that is safe. Errors end the run; what stands against this one intent is counted.
func (w *sweep) one(ctx context.Context, in intents.Intent) error {
	if w.dry {
		return w.would(in)
	}
	done, err := desk.RetrySafe(ctx, w.store, w.observer, w.app.actor(), in, intents.Order{Actor: w.app.actor(), Reason: w.Reason})
	switch {
	case err != nil:
		return err
	case done.Skipped != nil:
		return w.skip(in, done.Skipped)
	case done.ByProof:
		w.proved++
		return w.tell(done.Intent, "by what the other side says")
	}
	w.moved++
	return w.tell(done.Intent, "")
}

// would tells of a dry run.
func (w *sweep) would(in intents.Intent) error {
	if err := in.Safe(in.ReadAt); err != nil {
		return w.skip(in, err)
	}
	w.moved++
	return w.tell(in, "would be sent again")
}

// skip counts why an intent was left alone. Errors: those that are not about this intent.
func (w *sweep) skip(in intents.Intent, why error) error {
	text := why.Error()
	if _, moved := errors.AsType[*intents.MovedError](why); moved {
		w.skipped["moved meanwhile"]++
		return w.tell(in, "skipped: "+text)
	}
	if errors.Is(why, context.Canceled) || errors.Is(why, intents.ErrUnavailable) {
		return why
	}
	kind, _, _ := strings.Cut(text, ":")
	w.skipped[kind]++
	return w.tell(in, "skipped: "+w.app.redact(text))
}

func (w *sweep) tell(in intents.Intent, remark string) error {
	if w.Output == "json" {
		return printLine(w.app.stdout, map[string]any{"id": in.ID, "state": in.State.String(), "version": in.Version, "remark": remark})
	}
	return w.report(w.about, in, remark)
}

// summary is the last line, on stderr where stdout is for programs.
func (w *sweep) summary() error {
	out, did := w.app.stdout, "moved"
	if w.Output == "json" {
		out = w.app.stderr
	}
	if w.dry {
		did = "would be moved (--yes moves them)"
	}
	n, why := 0, []string{}
	for _, k := range slices.Sorted(maps.Keys(w.skipped)) {
		n += w.skipped[k]
		why = append(why, fmt.Sprintf("%d %s", w.skipped[k], k))
	}
	text := fmt.Sprintf("review retry: %d %s, %d ended by proof, %d skipped", w.moved, did, w.proved, n)
	if n > 0 {
		text += " (" + strings.Join(why, "; ") + ")"
	}
	_, err := fmt.Fprintln(out, text)
	return err
}
