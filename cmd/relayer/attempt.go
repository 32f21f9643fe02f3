package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
	"github.com/nsqrelayer/relayer/relayer"
)

type attemptCmd struct {
	Rebroadcast rebroadcastCmd `cmd:"" help:"Send the bytes stored last once more."`
	Bump        bumpCmd        `cmd:"" help:"Send the payment again in its slot, at a higher fee."`
	Cancel      dropCmd        `cmd:"" help:"Use the slot for nothing, so that the payment cannot take it."`
}

type rebroadcastCmd struct {
	ID string `arg:"" help:"The intent's id."`
}

// Help shows an example.
func (rebroadcastCmd) Help() string {
	return "Example:\n\n    relayer attempt rebroadcast pi_x1\n\nThe same bytes, in the same slot: they can be paid once, however often they are sent."
}

// Run sends the stored bytes.
func (c *rebroadcastCmd) Run(a *app) error {
	return a.handle(c.ID, func(ctx context.Context, h *hand) error {
		if !h.w.Intent.MayResend(h.w.Intent.ReadAt) {
			return errors.New("its bytes must not be sent again")
		}
		for _, at := range slices.Backward(h.w.Attempts) {
			if at.Kind != intents.Alien {
				return h.send(ctx, at, "rebroadcast")
			}
		}
		return errNoBytes
	})
}

type bumpCmd struct {
	ID string `arg:"" help:"The intent's id."`
}

// Help shows an example.
func (bumpCmd) Help() string {
	return "Example:\n\n    relayer attempt bump pi_x1\n\nThe fee stays within the route's cap and what the intent holds."
}

// Run makes and sends a bump.
func (c *bumpCmd) Run(a *app) error { return a.further(c.ID, intents.Bump) }

type dropCmd struct {
	ID string `arg:"" help:"The intent's id."`
}

// Help shows an example.
func (dropCmd) Help() string {
	return `Example:

    relayer attempt cancel pi_x1

Whichever of the two comes first wins: the intent fails (canceled_in_slot) once the empty use of its slot is beyond recall, and settles if the payment was faster.`
}

// Run makes and sends an empty use of the slot.
func (c *dropCmd) Run(a *app) error { return a.further(c.ID, intents.Cancel) }

// further adds an attempt of a kind to an intent's slot. It is stored before it is sent.
func (a *app) further(id string, kind intents.Kind) error {
	return a.handle(id, func(ctx context.Context, h *hand) error {
		r, at, err := h.slot().further(ctx, kind)
		if err != nil {
			return err
		}
		return h.tell(at, r)
	})
}

// hand is a person's hand at an intent's slot.
type hand struct {
	app      *app
	store    store
	observer *relayer.Observer
	w        intents.Watch
}

// handle opens the sender of an intent's route for something that sends. Refused are intents of which nothing may leave.
func (a *app) handle(id string, do func(ctx context.Context, h *hand) error) error {
	return a.reach(id, func(ctx context.Context, h *hand) error {
		if err := h.slot().free(); err != nil {
			return err
		}
		return do(ctx, h)
	})
}

// reach opens the sender of an intent's route, as run does.
func (a *app) reach(id string, do func(ctx context.Context, h *hand) error) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	w, err := desk.Read(ctx, s, id)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	h, done, err := a.handOf(s, w.Intent.Route)
	if err != nil {
		return err
	}
	defer done()
	h.w = w
	if err := do(ctx, h); err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	return nil
}

// handOf opens the sender of a route.
func (a *app) handOf(s store, name string) (h *hand, done func(), err error) {
	route, err := a.cfg.Route(name)
	if err != nil {
		return nil, nil, usage(err)
	}
	log := a.logger(slog.LevelWarn)
	throttle := relayer.NewThrottle(route.Limits())
	way, err := a.parts.way(route, throttle, log)
	if err != nil {
		return nil, nil, settingError(fmt.Errorf("routes.%s: %w", name, err))
	}
	engine := a.cfg.Engine(name)
	engine.Owner, engine.Logger = a.actor(), log
	o := relayer.NewObserver(engine, s, s, s, way, throttle)
	return &hand{app: a, store: s, observer: o}, way.Close, nil
}

// file is the intent on the desk.
func (h *hand) file() *desk.Case { return desk.New(h.store, h.observer, h.app.actor(), h.w) }

// slot is the hand at the intent's slot.
func (h *hand) slot() slotHand {
	return slotHand{notes: h.store, pen: h.observer, actor: h.app.actor(), w: h.w}
}

// send sends what is stored, and tells what came of it.
func (h *hand) send(ctx context.Context, at intents.Attempt, did string) error {
	r, err := h.slot().send(ctx, at, did)
	if err != nil {
		return err
	}
	return h.tell(at, r)
}

func (h *hand) tell(at intents.Attempt, r intents.Result) error {
	_, err := fmt.Fprintf(h.app.stdout, "%s  attempt %d %s  %s  %s\n", h.w.Intent.ID, at.No, at.Kind, r.Verdict, at.Name)
	if err == nil && len(r.Evidence) > 0 {
		_, err = fmt.Fprintf(h.app.stdout, "%s\n", r.Evidence)
	}
	return err
}

type observeCmd struct {
	ID string `arg:"" help:"The intent's id."`
}

// Help shows an example.
func (observeCmd) Help() string {
	return "Example:\n\n    relayer observe pi_x1\n\nAsks the other side once what became of it, writes what that means as the observer does, and prints what was seen."
}

// Run observes once.
func (c *observeCmd) Run(a *app) error {
	return a.reach(c.ID, func(ctx context.Context, h *hand) error {
		if len(h.w.Attempts) == 0 {
			return errNoBytes
		}
		if err := h.store.Note(ctx, c.ID, a.actor(), []byte(`{"did":"observe"}`)); err != nil {
			return err
		}
		o, in, err := h.observer.Look(ctx, h.w)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.stdout, "%s\nseen  %s\n", line(in), o.Fact); err != nil || len(o.Evidence) == 0 {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s\n", o.Evidence)
		return err
	})
}
