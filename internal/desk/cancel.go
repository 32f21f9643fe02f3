package desk

import (
	"context"
	"errors"

	"github.com/nsqrelayer/relayer/intents"
)

// Canceler calls intents off.
type Canceler interface {
	// Cancel calls an intent off. Errors: intents.ErrNotFound, *intents.TransitionError once it was claimed.
	Cancel(ctx context.Context, id, actor string) (intents.Intent, error)
	// Events reads an intent's timeline, oldest first. Errors: intents.ErrNotFound.
	Events(ctx context.Context, id string) ([]intents.Event, error)
}

// Cancel calls an intent off. Errors: *LateError once it was claimed; intents.ErrNotFound.
func Cancel(ctx context.Context, c Canceler, id, actor string) (intents.Intent, error) {
	in, err := c.Cancel(ctx, id, actor)
	late, ok := errors.AsType[*intents.TransitionError](err)
	if !ok {
		return in, err
	}
	return in, &LateError{late, lastChange(ctx, c, id)}
}

// lastChange is the last change of an intent; the zero event where it cannot be read.
func lastChange(ctx context.Context, c Canceler, id string) intents.Event {
	events, err := c.Events(ctx, id)
	if err != nil {
		return intents.Event{}
	}
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Kind == intents.Changed {
			return events[i]
		}
	}
	return intents.Event{}
}
