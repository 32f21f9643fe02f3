package pgstore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Resolve carries out a person's order, as intents.Resolve decides, and returns the intent after it. again says that this
// very order was carried out before: nothing is written. Errors: those of intents.Resolve, but *intents.MovedError or
// *intents.InvalidError where the intent is past the version that the person saw, or not so far; intents.ErrNotFound,
// intents.ErrUnsure.
func (s *Store) Resolve(ctx context.Context, id string, o intents.Order) (in intents.Intent, again bool, err error) {
	in, err = s.operate(ctx, id, func(in intents.Intent, now time.Time) (intents.Change, error) {
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

// What is in review is due some day and has a reason: that is an index of its own, of hardly anything else.
var reviewed = reading(`select * from intents where ($1 = '' or route = $1) and reason is not null and due_at is not null and state = 8
 order by changed_at, key limit $2`) + ` order by i.changed_at, i.key`

// Reviews reads what is in review on a route, or on all where that is empty, longest first.
func (s *Store) Reviews(ctx context.Context, route string, most int) ([]intents.Intent, error) {
	rows, err := load(ctx, s.pool, nil, reviewed, route, int64(cmp.Or(most, intents.DefaultLimit)))
	if err != nil {
		return nil, ofPool(err)
	}
	return plain(rows), nil
}
