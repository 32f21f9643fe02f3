package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// tomb is what stays of a pruned intent.
type tomb struct {
	in   intents.Intent
	hash intents.Hash
}

func (t tomb) show(now time.Time) intents.Intent {
	in := t.in
	in.ReadAt = now
	return in
}

// answer is what a message with an intent, or only its id and route, is told. Errors: *intents.ConflictError.
func (t tomb) answer(in intents.Intent, full bool, now time.Time) (intents.Intent, error) {
	if in.Route != t.in.Route || full {
		if err := (&record{in: t.in, hash: t.hash}).same(in); err != nil {
			return intents.Intent{}, err
		}
	}
	return t.show(now), nil
}

// Prune leaves a tombstone of each intent that has been final for long enough, oldest first. told, if not nil, hears how
// many more. The slots stay: they are closed, and nobody's.
func (s *Store) Prune(_ context.Context, p intents.Prune, told func(more int)) (intents.Pruned, error) {
	now := s.begin()
	defer s.mu.Unlock()
	done := intents.NewPruned()
	for _, r := range s.aged(p) {
		if p.Limit > 0 && done.Total() == p.Limit {
			break
		}
		if why := intents.KeptFor(s.opens(r), r.events); why != "" {
			done.Keep(r.in, why)
			continue
		}
		done.Intents[r.in.State]++
		if !p.DryRun {
			s.prune(r, now)
		}
	}
	if told != nil {
		told(done.Total())
	}
	return done, nil
}

func (s *Store) aged(p intents.Prune) []*record {
	var all []*record
	for _, r := range s.byID {
		if p.Aged(r.in) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.in.Key, b.in.Key) })
	return all
}

// opens says whether the intent has a slot that is open, or to be filled.
func (s *Store) opens(r *record) bool {
	for _, sl := range s.slots {
		if sl.open && (sl.owner == r || sl.ID == r.in.Slot.ID || sl.by == r.in.Key) {
			return true
		}
	}
	return false
}

// prune replaces an intent by its tombstone.
func (s *Store) prune(r *record, now time.Time) {
	s.tombs[r.in.ID] = tomb{in: intents.Tombstone(r.in, now), hash: r.hash}
	delete(s.byID, r.in.ID)
	delete(s.byKey, r.in.Key)
	for _, sl := range s.slots {
		if sl.owner == r {
			sl.owner, sl.attempts = nil, nil
		}
	}
}
