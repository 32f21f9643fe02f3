package memstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

// Take reads the intent of a message, or creates and authorizes the one it carries when the id is new, also among
// tombstones.
// Errors: *intents.ConflictError, intents.ErrNotFound.
func (s *Store) Take(_ context.Context, m intents.Message) (intents.Intent, error) {
	now := s.begin()
	defer s.mu.Unlock()
	in := m.Intent
	in.ID, in.Route = m.ID, m.Route
	r := s.byID[m.ID]
	if t, pruned := s.tombs[m.ID]; pruned {
		return t.answer(in, m.Full, now)
	}
	switch {
	case r == nil && !m.Full:
		return intents.Intent{}, intents.ErrNotFound
	case r == nil:
		r = s.insert(in, true, m.Actor, now)
	case m.Full:
		if err := r.same(in); err != nil {
			return intents.Intent{}, err
		}
	case r.in.Route != m.Route:
		return intents.Intent{}, otherRoute(r.in, m.Route)
	}
	return s.show(r, now), nil
}

// Create stores a new intent, authorized or only created. Errors: *intents.ConflictError.
func (s *Store) Create(_ context.Context, in intents.Intent, authorize bool, actor string) (intents.Intent, error) {
	now := s.begin()
	defer s.mu.Unlock()
	if t, pruned := s.tombs[in.ID]; pruned {
		return t.answer(in, true, now)
	}
	r := s.byID[in.ID]
	if r == nil {
		r = s.insert(in, authorize, actor, now)
	}
	if err := r.same(in); err != nil {
		return intents.Intent{}, err
	}
	return s.show(r, now), nil
}

// same says whether a full intent is the one stored under its id. Errors: *intents.ConflictError.
func (r *record) same(in intents.Intent) error {
	if in.Route != r.in.Route {
		return otherRoute(r.in, in.Route)
	}
	if got := in.Hash(); got != r.hash {
		return &intents.ConflictError{ID: in.ID, Why: "content", Have: r.hash.String(), Got: got.String()}
	}
	return nil
}

func otherRoute(in intents.Intent, got string) error {
	return &intents.ConflictError{ID: in.ID, Why: "route", Have: in.Route, Got: got}
}
