package pgstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/batch"
)

// Attach stores bytes under (slot, no) and returns the ones stored there first, ours or not. No claim is compared: the
// first bytes stored are the only ones sent, by whoever stored them. A slot to be filled takes only fillers.
// Errors: intents.ErrSlotClosed, intents.ErrUnsure.
func (s *Store) Attach(ctx context.Context, a intents.Attempt) (intents.Attempt, error) {
	got, err := s.attaches.Do(ctx, a)
	return got, answered(err)
}

// attaches commits bytes.
type attaches struct{ *link }

// Commit locks the slots' intents, and the slots that are nobody's, and stores what is not stored yet.
func (c *attaches) Commit(ctx context.Context, ops []intents.Attempt) ([]batch.Answer[intents.Attempt], error) {
	var answers []batch.Answer[intents.Attempt]
	err := c.tx(ctx, func(ctx context.Context) error {
		d, err := openDrawer(ctx, c, ops)
		if err != nil {
			return err
		}
		answers = make([]batch.Answer[intents.Attempt], len(ops))
		for i, a := range ops {
			answers[i] = d.put(a)
		}
		return d.write(ctx, c)
	})
	return answers, err
}

// Resolve attaches again: what was stored is found.
func (c *attaches) Resolve(ctx context.Context, ops []intents.Attempt) ([]batch.Answer[intents.Attempt], error) {
	return c.Commit(ctx, ops)
}

// drawer is what a batch of bytes has under lock.
type drawer struct {
	held
	slots   map[int64]*slotRow // those with a row of their own
	stored  map[int64][]intents.Attempt
	sheet   sheet
	counted []int64 // intents whose stored goes up
	last    mark    // of the last of these
}

// slotRow is a row of slots.
type slotRow struct {
	intents.Slot
	intent         int64
	route          string
	filler, closed bool
}

const (
	selectSlots = `select key, kind, scope, number, name, intent, route, filler, closed_at is not null from slots where key = any($1) order by key`
	lockSlots   = selectSlots + ` for update`
	countStored = `update intents i set stored = i.stored + 1 from unnest($1::bigint[]) u(key) where i.key = u.key`
)

// openDrawer locks the intents of slots, then the rows of slots, and reads what is stored in them.
func openDrawer(ctx context.Context, q queryer, ops []intents.Attempt) (*drawer, error) {
	ids := make([]int64, len(ops))
	for i, a := range ops {
		ids[i] = a.Slot.ID
	}
	d := &drawer{}
	named, err := readSlots(ctx, q, selectSlots, ids)
	if err != nil {
		return nil, err
	}
	if err := d.lock(ctx, q, ownersOf(ids, named)); err != nil {
		return nil, err
	}
	if len(named) > 0 {
		if d.slots, err = readSlots(ctx, q, lockSlots, ids); err != nil {
			return nil, err
		}
	}
	d.stored, err = readAttempts(ctx, q, ids)
	return d, err
}

// ownersOf gives the keys of the slots' intents: a slot without a row of its own goes by its intent's key.
func ownersOf(ids []int64, named map[int64]*slotRow) []int64 {
	owners := make([]int64, len(ids))
	for i, id := range ids {
		owners[i] = id
		if s := named[id]; s != nil {
			owners[i] = s.intent
		}
	}
	return owners
}

func readSlots(ctx context.Context, q queryer, query string, ids []int64) (map[int64]*slotRow, error) {
	rows, err := q.QueryContext(ctx, query, keys(ids))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[int64]*slotRow{}
	for rows.Next() {
		var s slotRow
		var number nullInt
		var name text
		if err := rows.Scan(&s.ID, &s.Kind, &s.Scope, &number, &name, &s.intent, &s.route, &s.filler, &s.closed); err != nil {
			return nil, badRow(err)
		}
		s.Number, s.Name = int64(number), string(name)
		found[s.ID] = &s
	}
	return found, rows.Err()
}

// put answers one attempt, and stores it when its number is free.
func (d *drawer) put(a intents.Attempt) batch.Answer[intents.Attempt] {
	slot, owner, ok := d.takes(a)
	if !ok {
		return batch.Answer[intents.Attempt]{Err: intents.ErrSlotClosed}
	}
	for _, b := range d.stored[slot.ID] {
		if b.No == a.No {
			b.Slot = slot
			return batch.Answer[intents.Attempt]{Value: b}
		}
	}
	a.Slot = slot
	d.sheet.attempts = append(d.sheet.attempts, a)
	if owner != 0 {
		d.counted = append(d.counted, owner)
		d.last = mark{intent: owner, slot: slot.ID, no: a.No, name: a.Name}
	}
	return batch.Answer[intents.Attempt]{Value: a}
}

// takes says whether bytes may be stored in a slot, and whose it is; 0: nobody's, it is to be filled. Such a one never
// takes a payment: its intent is failed, and its first owner may still be preparing.
func (d *drawer) takes(a intents.Attempt) (slot intents.Slot, owner int64, ok bool) {
	key := a.Slot.ID
	if s := d.slots[a.Slot.ID]; s != nil {
		if s.closed || s.filler {
			return s.Slot, 0, !s.closed && (a.Kind == intents.Fill || a.Kind == intents.Cancel)
		}
		key = s.intent
	}
	r := d.rows[key]
	if r == nil || !r.Takes(a.Kind) || r.Slot.Kind == intents.NoSlot || r.Slot.ID != a.Slot.ID {
		return a.Slot, 0, false
	}
	return r.Slot, r.Key, true
}

// write stores the bytes. A filler's are not remembered: nothing is left of its intent that could be looked for.
func (d *drawer) write(ctx context.Context, q writer) error {
	if _, err := d.sheet.write(ctx, q); err != nil || len(d.counted) == 0 {
		return err
	}
	q.wrote(d.last)
	return run(ctx, q, countStored, keys(d.counted))
}
