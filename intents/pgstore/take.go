package pgstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/batch"
)

// Take reads the intent of a message, or creates and authorizes the one it carries when the id is new, also among
// tombstones. Of a pruned intent only what intents.Tombstone keeps is known.
// Errors: *intents.ConflictError, intents.ErrNotFound, intents.ErrUnsure.
func (s *Store) Take(ctx context.Context, m intents.Message) (intents.Intent, error) {
	in := m.Intent
	in.ID, in.Route = m.ID, m.Route
	got, err := s.takes.Do(ctx, takeOp{in: in, full: m.Full, routed: true, authorize: true, actor: m.Actor})
	return got, answered(err)
}

// Create stores a new intent, authorized or only created. One that is known with the same content is returned as it
// stands. Errors: *intents.ConflictError, intents.ErrUnsure.
func (s *Store) Create(ctx context.Context, in intents.Intent, authorize bool, actor string) (intents.Intent, error) {
	got, err := s.takes.Do(ctx, takeOp{in: in, full: true, routed: true, authorize: authorize, actor: actor})
	return got, answered(err)
}

// Get reads one intent, or what its tombstone tells. Errors: intents.ErrNotFound.
func (s *Store) Get(ctx context.Context, id string) (intents.Intent, error) {
	got, err := s.takes.Do(ctx, takeOp{in: intents.Intent{ID: id}})
	return got, answered(err)
}

// takeOp reads the intent of an id, or stores a full one that nobody knows.
type takeOp struct {
	in        intents.Intent
	full      bool // in is complete
	routed    bool // in.Route must be the stored one's
	authorize bool
	actor     string
}

// size is what a new intent weighs beside its names.
func (op takeOp) size() int {
	n := len(op.in.Destination)
	for k, v := range op.in.Metadata {
		n += len(k) + len(v)
	}
	return n
}

// judge compares what was asked for with what is known under the id. Errors: *intents.ConflictError.
func (op takeOp) judge(in intents.Intent, hash func() intents.Hash) error {
	if op.routed && op.in.Route != in.Route {
		return &intents.ConflictError{ID: in.ID, Why: "route", Have: in.Route, Got: op.in.Route}
	}
	if !op.full {
		return nil
	}
	if have, got := hash(), op.in.Hash(); have != got {
		return &intents.ConflictError{ID: in.ID, Why: "content", Have: have.String(), Got: got.String()}
	}
	return nil
}

// takes commits reads, and stores what is new. What it works with is kept from batch to batch; the queue keeps none of the
// answers.
type takes struct {
	*link
	rows    []row
	left    map[string]int // the operations that have no answer yet, by id
	answers []batch.Answer[intents.Intent]
}

var readIntents = reading(`select * from intents where id = any($1)`)

// Commit reads all, and creates what is missing and full. Creating may be run again: it finds what it stored.
func (t *takes) Commit(ctx context.Context, ops []takeOp) ([]batch.Answer[intents.Intent], error) {
	t.begin(ops)
	if err := t.find(ctx, ops); err != nil {
		return nil, err
	}
	if len(t.left) > 0 {
		if err := t.create(ctx, ops); err != nil {
			return nil, err
		}
		if err := t.find(ctx, ops); err != nil { // others created these meanwhile
			return nil, err
		}
	}
	for _, i := range t.left {
		t.answers[i].Err = intents.ErrNotFound
	}
	return t.answers, nil
}

// Resolve asks again.
func (t *takes) Resolve(ctx context.Context, ops []takeOp) ([]batch.Answer[intents.Intent], error) {
	return t.Commit(ctx, ops)
}

// begin opens every operation.
func (t *takes) begin(ops []takeOp) {
	t.answers = blank(t.answers, len(ops))
	if t.left == nil {
		t.left = make(map[string]int, len(ops))
	}
	clear(t.left)
	for i, op := range ops {
		t.left[op.in.ID] = i
	}
}

// ids are those of the operations that are open.
func (t *takes) ids() []byte {
	c := newColumn(oidText, len(t.left))
	for id := range t.left {
		c.text(id)
	}
	return c.value()
}

// known answers an operation with what is known of its intent.
func (t *takes) known(ops []takeOp, in intents.Intent, hash func() intents.Hash) {
	i := t.left[in.ID]
	delete(t.left, in.ID)
	if err := ops[i].judge(in, hash); err != nil {
		t.answers[i].Err = err
		return
	}
	t.answers[i].Value = in
}

// find reads what is stored, outside any transaction.
func (t *takes) find(ctx context.Context, ops []takeOp) error {
	if len(t.left) == 0 {
		return nil
	}
	return t.read(ctx, func(ctx context.Context) (err error) {
		t.rows, err = load(ctx, t, slices.Grow(t.rows[:0], len(t.left)), readIntents, t.ids())
		for i := range t.rows {
			t.known(ops, t.rows[i].Intent, t.rows[i].Hash)
		}
		return err
	})
}

// tombs reads tombstones, and the clock in any case.
const tombs = `select clock_timestamp(), t.id, t.key, t.route, t.hash, t.state, t.version, t.ref, t.created_at, t.pruned_at
 from (select 1) one left join tombstones t on t.id = any($1)`

// create looks for tombstones and stores the full intents among those that left none.
func (t *takes) create(ctx context.Context, ops []takeOp) error {
	return t.tx(ctx, func(ctx context.Context) error {
		now, err := t.unearth(ctx, ops)
		if err != nil {
			return err
		}
		var full []takeOp
		for _, i := range slices.Sorted(maps.Values(t.left)) {
			if ops[i].full {
				full = append(full, ops[i])
			}
		}
		stored, err := insert(ctx, t, full, now)
		for _, in := range stored {
			t.answers[t.left[in.ID]].Value = in
			delete(t.left, in.ID)
		}
		return err
	})
}

// unearth answers what was pruned, and tells the clock.
func (t *takes) unearth(ctx context.Context, ops []takeOp) (now time.Time, err error) {
	rows, err := t.QueryContext(ctx, tombs, t.ids())
	if err != nil {
		return now, err
	}
	defer rows.Close()
	for rows.Next() {
		var in intents.Intent
		var id, route, ref text
		var key, state, version nullInt
		var hash []byte
		if err := rows.Scan(stamp{&now}, &id, &key, &route, &hash, &state, &version, &ref, stamp{&in.CreatedAt}, stamp{&in.PrunedAt}); err != nil {
			return now, badRow(err)
		}
		if id == "" {
			continue
		}
		in.Key, in.ID, in.Route, in.Ref, in.ReadAt = int64(key), string(id), string(route), string(ref), now
		in.State, in.Version = intents.State(state), int(version)
		t.known(ops, in, func() (h intents.Hash) { copy(h[:], hash); return h })
	}
	return now, rows.Err()
}
