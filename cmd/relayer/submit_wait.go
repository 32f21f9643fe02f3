package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// How often a waiting submit looks: at first, and at last.
const (
	lookFirst = 50 * time.Millisecond
	lookLast  = time.Second
)

// getter reads an intent.
type getter interface {
	// Get reads one intent. Errors: intents.ErrNotFound.
	Get(ctx context.Context, id string) (intents.Intent, error)
}

// wait prints each intent when it has ended. It returns an error with its own code when one ended badly, or the time ran out.
func (c *submitCmd) wait(ctx context.Context, a *app, g getter, stored []intents.Intent) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, errWaited)
	defer cancel()
	bad := 0
	open, err := awaitEnd(ctx, g, stored, func(in intents.Intent) error {
		if in.State != intents.Settled {
			bad++
		}
		return c.print(a, in, true)
	})
	switch {
	case errors.Is(err, errWaited) && bad == 0:
		return &codedError{exitWait, fmt.Errorf("%d of %d not final after %s: %s is %s", len(open), len(stored), c.Timeout, open[0].ID, open[0].State)}
	case err != nil && !errors.Is(err, errWaited):
		return err
	case bad > 0:
		return &codedError{exitBadEnd, fmt.Errorf("%d of %d ended failed, canceled or in review", bad, len(stored))}
	}
	return nil
}

var errWaited = errors.New("the wait ran out")

// ended says whether nothing more happens to an intent by itself.
func ended(in intents.Intent) bool { return in.State.Final() || in.State == intents.NeedsReview }

// awaitEnd looks at intents until all have ended, and tells of each that has. It returns those that have not when ctx
// ends, with its cause; or, where the store could not be reached to the end, with that error.
func awaitEnd(ctx context.Context, g getter, open []intents.Intent, tell func(intents.Intent) error) ([]intents.Intent, error) {
	var down error
	for pause := lookFirst; ; pause = min(2*pause, lookLast) {
		var err error
		if open, err = look(ctx, g, open, tell); err == nil {
			down = nil
		} else if errors.Is(err, intents.ErrUnavailable) && ctx.Err() == nil {
			down = err
		} else if ctx.Err() == nil {
			return open, err
		}
		if len(open) == 0 {
			return nil, nil
		}
		if !sleep(ctx, pause) {
			return open, cmp.Or(down, context.Cause(ctx))
		}
	}
}

// look reads the open intents once and returns those that still are.
func look(ctx context.Context, g getter, open []intents.Intent, tell func(intents.Intent) error) ([]intents.Intent, error) {
	var still []intents.Intent
	for i, in := range open {
		now, err := g.Get(ctx, in.ID)
		if err != nil {
			return append(still, open[i:]...), err
		}
		if !ended(now) {
			still = append(still, now)
		} else if err := tell(now); err != nil {
			return append(still, open[i+1:]...), err
		}
	}
	return still, nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
