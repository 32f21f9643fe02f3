package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

// List reads intents, newest first.
func (s *Store) List(_ context.Context, f intents.Filter) ([]intents.Intent, error) {
	now := s.begin()
	defer s.mu.Unlock()
	var out []intents.Intent
	for _, r := range s.byID {
		if chosen(r.in, f) {
			out = append(out, s.show(r, now))
		}
	}
	slices.SortFunc(out, func(a, b intents.Intent) int { return cmp.Compare(b.Key, a.Key) })
	return out[:min(len(out), cmp.Or(f.Limit, intents.DefaultLimit))], nil
}

// chosen says whether a filter lets an intent through.
func chosen(in intents.Intent, f intents.Filter) bool {
	return (f.Route == "" || f.Route == in.Route) &&
		(len(f.States) == 0 || slices.Contains(f.States, in.State)) &&
		(f.Account == "" || f.Account == in.Account) &&
		(f.Asset == "" || f.Asset == in.Asset) &&
		(f.Lane == "" || f.Lane == in.Lane) &&
		(f.Ref == "" || f.Ref == in.Ref) &&
		(f.Since.IsZero() || !in.CreatedAt.Before(f.Since)) &&
		(f.Until.IsZero() || in.CreatedAt.Before(f.Until)) &&
		(f.Before == 0 || in.Key < f.Before)
}

// Count counts the intents of a route by state; of all routes when it is empty.
func (s *Store) Count(_ context.Context, route string) (map[intents.State]int, error) {
	s.begin()
	defer s.mu.Unlock()
	out := map[intents.State]int{}
	for _, r := range s.byID {
		if route == "" || r.in.Route == route {
			out[r.in.State]++
		}
	}
	return out, nil
}
