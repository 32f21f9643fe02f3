package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nsqrelayer/relayer/intents"
)

// canceler calls intents off.
type canceler interface {
	// Cancel calls an intent off. Errors: intents.ErrNotFound, *intents.TransitionError once it was claimed.
	Cancel(ctx context.Context, id, actor string) (intents.Intent, error)
}

type cancelCmd struct {
	ID string `arg:"" help:"The intent's id."`
}

// Help shows an example.
func (cancelCmd) Help() string {
	return "Example:\n\n    relayer cancel pi_x1\n\nBefore the intent is claimed this is certain; afterwards it is refused, with exit code 1, because money may have left."
}

// Run cancels.
func (c *cancelCmd) Run(a *app) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	in, err := s.Cancel(ctx, c.ID, a.actor())
	if _, late := errors.AsType[*intents.TransitionError](err); late {
		return tooLate(ctx, s, c.ID, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	_, err = fmt.Fprintln(a.stdout, line(in))
	return err
}

// tooLate says who has the intent, and since when; the given error where that cannot be read.
func tooLate(ctx context.Context, r reader, id string, err error) error {
	events, e := r.Events(ctx, id)
	if e != nil {
		return err
	}
	for i := len(events) - 1; i >= 0; i-- {
		if last := events[i]; last.Kind == intents.Changed {
			return fmt.Errorf("%w: %s it at %s", err, last.Actor+" moved", stamp(last.At))
		}
	}
	return err
}
