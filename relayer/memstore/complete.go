package memstore

import (
	"bytes"
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

// Complete writes what a sender's call came to. Errors: intents.ErrMoved, intents.ErrNotFound.
func (s *Store) Complete(_ context.Context, cl intents.Claimed, res intents.Result) (intents.Intent, error) {
	now := s.begin()
	defer s.mu.Unlock()
	r := s.row(cl.Intent)
	if r == nil {
		return intents.Intent{}, intents.ErrNotFound
	}
	ch, err := intents.Conclude(r.in, cl.Intent.ClaimID, res, s.cfg.Actor, now)
	if err != nil && r.ended(cl, res) {
		return s.show(r, now), nil // asked again
	}
	s.write(r, ch)
	return s.show(r, now), err
}

// ended says whether this very result ended this very claim before: the next version ended it, as a permission does and
// with the same evidence.
func (r *record) ended(cl intents.Claimed, res intents.Result) bool {
	for _, e := range r.events {
		if e.Version == cl.Intent.Version+1 && e.Kind == intents.Changed {
			return e.ClaimID == cl.Intent.ClaimID && permitted(e) && bytes.Equal(e.Detail, res.Evidence)
		}
	}
	return false
}

// permitted says whether a permission may have ended a claim like this.
func permitted(e intents.Event) bool {
	switch e.To {
	case intents.Authorized, intents.Settling:
		return true
	case intents.Failed:
		return e.Reason == intents.ReasonRefused || e.Reason == intents.ReasonDeclined
	case intents.NeedsReview:
		return e.Reason == intents.ReasonUnknown
	}
	return false
}
