package memstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Resolve carries out a person's order and returns the intent after it. again says that this very order was carried out
// before: nothing is written. Errors: those of intents.Resolve, but *intents.MovedError or *intents.InvalidError where the
// intent is past the version that the person saw, or not so far; intents.ErrNotFound.
func (s *Store) Resolve(ctx context.Context, id string, o intents.Order) (in intents.Intent, again bool, err error) {
	in, err = s.operate(id, func(in intents.Intent, now time.Time) (intents.Change, error) {
		return intents.Resolve(in, o, now)
	})
	if !errors.Is(err, intents.ErrMoved) {
		return in, false, err
	}
	events, err := s.Events(ctx, id)
	if err == nil {
		err = o.Missed(in, events)
	}
	return in, err == nil, err
}

// Reviews reads what is in review on a route, or on all where that is empty, longest first.
func (s *Store) Reviews(_ context.Context, route string, most int) ([]intents.Intent, error) {
	now := s.begin()
	defer s.mu.Unlock()
	var out []intents.Intent
	for _, r := range s.byID {
		if r.in.State == intents.NeedsReview && (route == "" || route == r.in.Route) {
			out = append(out, s.show(r, now))
		}
	}
	slices.SortFunc(out, func(a, b intents.Intent) int {
		return cmp.Or(a.ChangedAt.Compare(b.ChangedAt), cmp.Compare(a.Key, b.Key))
	})
	return out[:min(len(out), cmp.Or(most, intents.DefaultLimit))], nil
}
