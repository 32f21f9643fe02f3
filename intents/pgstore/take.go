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
	quiet     bool // no message will tell of it
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

// takes commits reads, and stores what is new.
type takes struct {
	*link
	taking
}

// Commit reads all, and creates what is missing and full. Creating may be run again: it finds what it stored.
func (t *takes) Commit(ctx context.Context, ops []takeOp) ([]batch.Answer[intents.Intent], error) {
	t.reset(ops)
	find := func(ctx context.Context) error { return t.find(ctx, t.link) }
	if err := t.read(ctx, find); err != nil {
		return nil, err
	}
	if len(t.left) > 0 {
		if err := t.tx(ctx, func(ctx context.Context) error { return t.create(ctx, t.link) }); err != nil {
			return nil, err
		}
		if err := t.read(ctx, find); err != nil { // others created these meanwhile
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

// taking is a batch of operations on its way to answers. A committer keeps its memory from batch to batch; the queue keeps
// none of the answers.
type taking struct {
	ops     []takeOp
	left    map[string]int // those that have no answer yet, by id
	answers []batch.Answer[intents.Intent]
	rows    []row
}

// reset leaves every operation of a batch to be answered.
func (t *taking) reset(ops []takeOp) {
	t.ops, t.answers = ops, blank(t.answers, len(ops))
	if t.left == nil {
		t.left = make(map[string]int, len(ops))
	}
	clear(t.left)
	for i, op := range ops {
		t.left[op.in.ID] = i
	}
}

// ids are those of the operations that are left.
func (t *taking) ids() []byte {
	c := newColumn(oidText, len(t.left))
	for id := range t.left {
		c.text(id)
	}
	return c.value()
}

// known answers an operation with what is known of its intent.
func (t *taking) known(in intents.Intent, hash func() intents.Hash) {
	i := t.left[in.ID]
	delete(t.left, in.ID)
	if err := t.ops[i].judge(in, hash); err != nil {
		t.answers[i].Err = err
		return
	}
	t.answers[i].Value = in
}

var readIntents = reading(`select * from intents where id = any($1)`)

// find answers what is stored.
func (t *taking) find(ctx context.Context, q queryer) (err error) {
	if len(t.left) == 0 {
		return nil
	}
	t.rows, err = load(ctx, q, slices.Grow(t.rows[:0], len(t.left)), readIntents, t.ids())
	for i := range t.rows {
		t.known(t.rows[i].Intent, t.rows[i].Hash)
	}
	return err
}

// tombs reads tombstones, and the clock in any case.
const tombs = `select clock_timestamp(), t.id, t.key, t.route, t.hash, t.state, t.version, t.ref, t.created_at, t.pruned_at
 from (select 1) one left join tombstones t on t.id = any($1)`

// create answers what was pruned, and stores the full intents among the others. What others store meanwhile it leaves.
func (t *taking) create(ctx context.Context, q writer) error {
	now, err := t.unearth(ctx, q)
	if err != nil {
		return err
	}
	var full []takeOp
	for _, i := range slices.Sorted(maps.Values(t.left)) {
		if t.ops[i].full {
			full = append(full, t.ops[i])
		}
	}
	stored, err := insert(ctx, q, full, now)
	for _, in := range stored {
		t.answers[t.left[in.ID]].Value = in
		delete(t.left, in.ID)
	}
	return err
}

// unearth answers what was pruned, and tells the clock.
func (t *taking) unearth(ctx context.Context, q queryer) (now time.Time, err error) {
	rows, err := q.QueryContext(ctx, tombs, t.ids())
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
		t.known(in, func() (h intents.Hash) { copy(h[:], hash); return h })
	}
	return now, rows.Err()
}
