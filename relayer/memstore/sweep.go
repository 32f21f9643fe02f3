package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

type lease struct {
	owner string
	until time.Time
}

// Lead takes or keeps the lease of a name for a term, and says whether owner has it now.
func (s *Store) Lead(_ context.Context, name, owner string, term time.Duration) (bool, error) {
	now := s.begin()
	defer s.mu.Unlock()
	l := s.leases[name]
	if l.owner != owner && now.Before(l.until) {
		return false, nil
	}
	s.leases[name] = lease{owner, now.Add(term)}
	return true, nil
}

// Sweep decides on up to most due intents of the route, oldest first, and returns those to publish, as they stand after
// due_at was pushed on. In a paused route expiry is all that is carried out.
func (s *Store) Sweep(_ context.Context, route string, most int) ([]intents.Intent, error) {
	now := s.begin()
	defer s.mu.Unlock()
	var out []intents.Intent
	for _, r := range s.due(route, most, now) {
		ch, publish := intents.Sweep(r.in, r.looks, s.cfg.Actor, now)
		r.looks++
		s.write(r, ch)
		if publish {
			out = append(out, s.show(r, now))
		}
	}
	return out, nil
}

func (s *Store) due(route string, most int, now time.Time) []*record {
	paused := s.routes[route].Paused
	var out []*record
	for _, r := range s.byID {
		in := r.in
		ends := in.Expired(now) && (in.State == intents.Created || in.State == intents.Authorized)
		if in.Route == route && !in.DueAt.IsZero() && !in.DueAt.After(now) && (ends || !paused) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *record) int {
		return cmp.Or(a.in.DueAt.Compare(b.in.DueAt), cmp.Compare(a.in.Key, b.in.Key))
	})
	return out[:min(len(out), most)]
}

// Waiting returns those of the given intents that nobody has looked at since.
func (s *Store) Waiting(_ context.Context, ins []intents.Intent) ([]intents.Intent, error) {
	now := s.begin()
	defer s.mu.Unlock()
	var out []intents.Intent
	for _, in := range ins {
		r := s.row(in)
		if r != nil && r.in.Version == in.Version && r.in.DueAt.Equal(in.DueAt) && now.Before(r.in.DueAt) {
			out = append(out, s.show(r, now))
		}
	}
	return out, nil
}
