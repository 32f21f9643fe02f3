package pgstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Record writes what observations mean, as intents.Witness decides, and returns the intents after it, one for each
// observation; a filler's is zero. An observation of a slot that its intent has lost changes nothing. Each is written by
// itself: with an error some may be written, and all may be asked again. Errors: intents.ErrUnsure.
func (s *Store) Record(ctx context.Context, _ []intents.Watch, os []intents.Observation, p intents.Patience) ([]intents.Intent, error) {
	slots, found, err := s.seen(ctx, os)
	if err != nil {
		return nil, err
	}
	out, errs := make([]intents.Intent, len(os)), make([]error, len(os))
	var all sync.WaitGroup
	for i, o := range os {
		key := o.Slot.ID
		if row := slots[key]; row != nil {
			if o.Foreign != nil && o.Fact == intents.Dead && o.No == 0 {
				out[i], errs[i] = s.displace(ctx, *row, o) // one by one: it locks intents of any route
				continue
			}
			if row.filler {
				errs[i] = s.filled(ctx, o)
				continue
			}
			key = row.intent
		}
		all.Go(func() { out[i], errs[i] = s.witness(ctx, key, o, attemptIn(found[o.Slot.ID], o.No), p) })
	}
	all.Wait()
	return out, errors.Join(errs...)
}

// witness has one observation of an intent's slot decided on.
func (s *Store) witness(ctx context.Context, key int64, o intents.Observation, a intents.Attempt, p intents.Patience) (intents.Intent, error) {
	in, err := s.decide(ctx, key, len(o.Evidence), func(in intents.Intent, now time.Time) (intents.Change, error) {
		if in.Slot.ID != o.Slot.ID {
			return intents.Change{Before: in, After: in}, nil
		}
		return intents.Witness(in, o, a, p, s.cfg.Actor, now), nil
	})
	if errors.Is(err, intents.ErrNotFound) {
		return intents.Intent{}, nil
	}
	return in, err
}

// seen reads the slots that were observed, as far as they have a row, and their attempts.
func (s *Store) seen(ctx context.Context, os []intents.Observation) (map[int64]*slotRow, map[int64][]intents.Attempt, error) {
	ids := make([]int64, len(os))
	for i, o := range os {
		ids[i] = o.Slot.ID
	}
	slots, err := readSlots(ctx, s.pool, selectSlots, ids)
	if err != nil {
		return nil, nil, ofPool(err)
	}
	found, err := readAttempts(ctx, s.pool, ids)
	if err != nil {
		return nil, nil, ofPool(err)
	}
	return slots, found, nil
}

// attemptIn gives the attempt of a number, for 0 the last one of ours.
func attemptIn(as []intents.Attempt, no int) intents.Attempt {
	for _, a := range slices.Backward(as) {
		if a.No == no || no == 0 && a.Kind != intents.Alien {
			return a
		}
	}
	return intents.Attempt{}
}

const (
	closeFiller    = `update slots set closed_at = clock_timestamp(), watch_at = null, evidence = $2 where key = $1 and filler and closed_at is null`
	postponeFiller = `update slots set watch_at = clock_timestamp() + $2 * interval '1 microsecond' where key = $1 and filler and closed_at is null`
)

// filled closes a filler that was proved used, or says when to look at it again.
func (s *Store) filled(ctx context.Context, o intents.Observation) error {
	switch {
	case o.Fact == intents.Final || o.Fact == intents.Reverted:
		return s.exec(ctx, closeFiller, o.Slot.ID, o.Evidence)
	case o.After > 0:
		return s.exec(ctx, postponeFiller, o.Slot.ID, o.After.Microseconds())
	}
	return nil
}
