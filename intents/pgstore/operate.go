package pgstore

import (
	"context"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Authorize lets a created intent be sent; one that is authorized already is returned.
// Errors: intents.ErrNotFound, *intents.PrunedError, *intents.TransitionError, intents.ErrUnsure.
func (s *Store) Authorize(ctx context.Context, id, actor string) (intents.Intent, error) {
	return s.operate(ctx, id, func(in intents.Intent, now time.Time) (intents.Change, error) {
		if in.State == intents.Authorized {
			return intents.Change{Before: in, After: in}, nil
		}
		return intents.Authorize(in, actor, now)
	})
}

// Cancel calls an intent off. Errors: intents.ErrNotFound, *intents.TransitionError once it was claimed, intents.ErrUnsure.
func (s *Store) Cancel(ctx context.Context, id, actor string) (intents.Intent, error) {
	return s.operate(ctx, id, func(in intents.Intent, now time.Time) (intents.Change, error) {
		return intents.CancelIntent(in, actor, now)
	})
}

// Note adds a line to an intent's timeline about what a person did. Errors: intents.ErrNotFound, intents.ErrUnsure.
func (s *Store) Note(ctx context.Context, id, actor string, detail []byte) error {
	_, err := s.operate(ctx, id, func(in intents.Intent, now time.Time) (intents.Change, error) {
		return intents.Note(in, actor, detail, now), nil
	})
	return err
}

// operate has a decision made about the intent of an id. Errors: *intents.PrunedError, intents.ErrNotFound, and those of the
// decision.
func (s *Store) operate(ctx context.Context, id string, decide func(intents.Intent, time.Time) (intents.Change, error)) (intents.Intent, error) {
	in, err := s.Get(ctx, id)
	if err == nil {
		err = intents.Left(in)
	}
	if err != nil {
		return in, err
	}
	return s.decide(ctx, in.Key, 0, decide)
}
