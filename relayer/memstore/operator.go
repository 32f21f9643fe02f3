package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Authorize lets a created intent be sent. Errors: intents.ErrNotFound, *intents.PrunedError, *intents.TransitionError.
func (s *Store) Authorize(_ context.Context, id, actor string) (intents.Intent, error) {
	return s.operate(id, func(in intents.Intent, now time.Time) (intents.Change, error) {
		if in.State == intents.Authorized {
			return intents.Change{Before: in, After: in}, nil
		}
		return intents.Authorize(in, actor, now)
	})
}

// Cancel calls an intent off. Errors: intents.ErrNotFound, *intents.TransitionError once it was claimed.
func (s *Store) Cancel(_ context.Context, id, actor string) (intents.Intent, error) {
	return s.operate(id, func(in intents.Intent, now time.Time) (intents.Change, error) {
		return intents.CancelIntent(in, actor, now)
	})
}

// Note adds a line to an intent's timeline about what a person did. Errors: intents.ErrNotFound.
func (s *Store) Note(_ context.Context, id, actor string, detail []byte) error {
	_, err := s.operate(id, func(in intents.Intent, now time.Time) (intents.Change, error) {
		return intents.Note(in, actor, detail, now), nil
	})
	return err
}

// operate finds an intent and writes what is decided about it.
func (s *Store) operate(id string, decide func(intents.Intent, time.Time) (intents.Change, error)) (intents.Intent, error) {
	now := s.begin()
	defer s.mu.Unlock()
	if t, pruned := s.tombs[id]; pruned {
		return t.show(now), intents.Left(t.in)
	}
	r := s.byID[id]
	if r == nil {
		return intents.Intent{}, intents.ErrNotFound
	}
	ch, err := decide(r.in, now)
	s.write(r, ch)
	return s.show(r, now), err
}

// Get reads one intent, or what its tombstone tells. Errors: intents.ErrNotFound.
func (s *Store) Get(_ context.Context, id string) (intents.Intent, error) {
	now := s.begin()
	defer s.mu.Unlock()
	if t, pruned := s.tombs[id]; pruned {
		return t.show(now), nil
	}
	r := s.byID[id]
	if r == nil {
		return intents.Intent{}, intents.ErrNotFound
	}
	return s.show(r, now), nil
}

// Events reads an intent's timeline, oldest first; nothing is left of that of a pruned one. Errors: intents.ErrNotFound.
func (s *Store) Events(_ context.Context, id string) ([]intents.Event, error) {
	s.begin()
	defer s.mu.Unlock()
	if _, pruned := s.tombs[id]; pruned {
		return nil, nil
	}
	r := s.byID[id]
	if r == nil {
		return nil, intents.ErrNotFound
	}
	return slices.Clone(r.events), nil
}

// Attempts reads the bytes stored in an intent's slot, by number. Errors: intents.ErrNotFound.
func (s *Store) Attempts(_ context.Context, id string) ([]intents.Attempt, error) {
	s.begin()
	defer s.mu.Unlock()
	if _, pruned := s.tombs[id]; pruned {
		return nil, nil
	}
	r := s.byID[id]
	if r == nil {
		return nil, intents.ErrNotFound
	}
	return s.bytes(r.in.Slot.ID), nil
}

// SetPaused turns a route's switch. What met a paused route is due at once already, so nothing more is to be done when it
// is turned off.
func (s *Store) SetPaused(_ context.Context, route string, paused bool, actor string) error {
	now := s.begin()
	defer s.mu.Unlock()
	s.routes[route] = intents.RouteState{Route: route, Paused: paused, By: actor, At: now}
	return nil
}

// Routes reads every switch that was ever turned, by name.
func (s *Store) Routes(context.Context) ([]intents.RouteState, error) {
	s.begin()
	defer s.mu.Unlock()
	var out []intents.RouteState
	for _, r := range s.routes {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b intents.RouteState) int { return cmp.Compare(a.Route, b.Route) })
	return out, nil
}
