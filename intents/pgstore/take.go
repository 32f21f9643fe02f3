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
type takes struct{ *link }

var readIntents = reading(`select * from intents where id = any($1)`)

// Commit reads all, and creates what is missing and full. Creating may be run again: it finds what it stored.
func (t *takes) Commit(ctx context.Context, ops []takeOp) ([]batch.Answer[intents.Intent], error) {
	known := make(map[string]batch.Answer[intents.Intent], len(ops))
	if err := t.find(ctx, ops, known); err != nil {
		return nil, err
	}
	if missing := without(ops, known); len(missing) > 0 {
		if err := t.create(ctx, missing, known); err != nil {
			return nil, err
		}
		if err := t.find(ctx, without(missing, known), known); err != nil { // others created these meanwhile
			return nil, err
		}
	}
	answers := make([]batch.Answer[intents.Intent], len(ops))
	for i, op := range ops {
		answer, found := known[op.in.ID]
		if !found {
			answer.Err = intents.ErrNotFound
		}
		answers[i] = answer
	}
	return answers, nil
}

// Resolve asks again.
func (t *takes) Resolve(ctx context.Context, ops []takeOp) ([]batch.Answer[intents.Intent], error) {
	return t.Commit(ctx, ops)
}

// without lists the operations whose id is not known.
func without(ops []takeOp, known map[string]batch.Answer[intents.Intent]) []takeOp {
	var missing []takeOp
	for _, op := range ops {
		if _, found := known[op.in.ID]; !found {
			missing = append(missing, op)
		}
	}
	return missing
}

// byID finds operations by the id they ask for.
func byID(ops []takeOp) map[string]*takeOp {
	asked := make(map[string]*takeOp, len(ops))
	for i := range ops {
		asked[ops[i].in.ID] = &ops[i]
	}
	return asked
}

// find reads what is stored, outside any transaction.
func (t *takes) find(ctx context.Context, ops []takeOp, known map[string]batch.Answer[intents.Intent]) error {
	if len(ops) == 0 {
		return nil
	}
	asked := byID(ops)
	return t.read(ctx, func(ctx context.Context) error { return find(ctx, t, asked, known) })
}

// find answers what is stored.
func find(ctx context.Context, q queryer, asked map[string]*takeOp, known map[string]batch.Answer[intents.Intent]) error {
	all, err := load(ctx, q, len(asked), readIntents, texts(slices.Collect(maps.Keys(asked))))
	for _, r := range all {
		known[r.ID] = answer(r.Intent, asked[r.ID].judge(r.Intent, r.Hash))
	}
	return err
}

// answer gives an intent, or the error instead of it.
func answer(in intents.Intent, err error) batch.Answer[intents.Intent] {
	if err != nil {
		return batch.Answer[intents.Intent]{Err: err}
	}
	return batch.Answer[intents.Intent]{Value: in}
}

// tombs reads tombstones, and the clock in any case.
const tombs = `select clock_timestamp(), t.id, t.key, t.route, t.hash, t.state, t.version, t.ref, t.created_at, t.pruned_at
 from (select 1) one left join tombstones t on t.id = any($1)`

// create looks for tombstones and stores the full intents among those that left none.
func (t *takes) create(ctx context.Context, ops []takeOp, known map[string]batch.Answer[intents.Intent]) error {
	fresh := map[string]batch.Answer[intents.Intent]{}
	err := t.tx(ctx, func(ctx context.Context) error {
		clear(fresh)
		return create(ctx, t, ops, fresh)
	})
	if err == nil {
		maps.Copy(known, fresh)
	}
	return err
}

// create answers what was pruned, and stores the full intents among the others. What others store meanwhile it leaves out.
func create(ctx context.Context, q writer, ops []takeOp, known map[string]batch.Answer[intents.Intent]) error {
	now, err := unearth(ctx, q, ops, known)
	if err != nil {
		return err
	}
	var full []takeOp
	for _, op := range without(ops, known) {
		if op.full {
			full = append(full, op)
		}
	}
	return insert(ctx, q, full, now, known)
}

// unearth answers what was pruned, and tells the clock.
func unearth(ctx context.Context, q queryer, ops []takeOp, known map[string]batch.Answer[intents.Intent]) (now time.Time, err error) {
	asked := byID(ops)
	rows, err := q.QueryContext(ctx, tombs, texts(slices.Collect(maps.Keys(asked))))
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
		known[in.ID] = answer(in, asked[in.ID].judge(in, func() (h intents.Hash) { copy(h[:], hash); return h }))
	}
	return now, rows.Err()
}
