package simtest

import (
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// rows is the database as committers and the unbatched calls of a process use it. Each call is one decision on rows that
// are under lock. A broken variant stands before it.
type rows interface {
	relayer.Store
	relayer.Desk
	relayer.Witness
	relayer.Due
	Resolve(ctx context.Context, id string, o intents.Order) (intents.Intent, bool, error) // as relayer review does
}

// database is the truth: the model store, with a clock of its own, tombstones, and commits that are still on their way.
type database struct {
	*memstore.Store
	s     *sim
	skew  time.Duration // its clock less the bubble's
	jumps int           // how often that has changed
	tombs map[string]tomb
	way   []*commit
	ahead time.Duration               // how far a broken variant thinks it is
	kept  map[int64][]intents.Attempt // what was stored first, by slot
}

// tomb is what stays of a pruned intent.
type tomb struct {
	in   intents.Intent
	hash intents.Hash
}

// commit is one whose answer was lost while it was on its way. Its rows are locked until it has landed, or has not.
type commit struct {
	lands bool
	do    func()
}

func newDatabase(s *sim) *database {
	d := &database{s: s, tombs: map[string]tomb{}, kept: map[int64][]intents.Attempt{}}
	d.Store = memstore.New(memstore.Config{Now: func() time.Time { return d.clock().Add(d.ahead) }, Actor: "store"})
	return d
}

func (d *database) clock() time.Time { return time.Now().Add(d.skew) }

// turn sets the clock.
func (d *database) turn(skew time.Duration) {
	d.skew = skew
	d.jumps++
}

// send puts a commit on its way.
func (d *database) send(c *commit) {
	d.way = append(d.way, c)
	d.s.after(d.s.between(time.Second, 9*time.Second), "commit lands", d.settle)
}

// settle waits for all commits on their way, as whoever locks rows does.
func (d *database) settle() {
	way := d.way
	d.way = nil
	for _, c := range way {
		if c.lands {
			c.do()
		}
	}
}

// lock is what every call does that writes.
func (d *database) lock() { d.settle() }

// wrote has the monitor look at what a call changed.
func (d *database) wrote(what string) { d.s.monitor.look(what) }

// Take reads without a lock, and knows what was pruned.
func (d *database) Take(ctx context.Context, m intents.Message) (intents.Intent, error) {
	if t, ok := d.tombs[m.ID]; ok {
		in := m.Intent
		in.ID, in.Route = m.ID, m.Route
		if got := in.Hash(); m.Full && got != t.hash {
			return intents.Intent{}, &intents.ConflictError{ID: m.ID, Why: "content", Have: t.hash.String(), Got: got.String()}
		}
		out := t.in
		out.ReadAt = d.clock()
		return out, nil
	}
	in, err := d.Store.Take(ctx, m)
	d.wrote("take")
	return in, err
}

// prune leaves a tombstone of a final intent.
func (d *database) prune(in intents.Intent) {
	d.lock()
	d.tombs[in.ID] = tomb{hash: in.Hash(), in: intents.Intent{Key: in.Key, ID: in.ID, Route: in.Route, State: in.State,
		Version: in.Version, CreatedAt: in.CreatedAt}}
}

// Claim claims under lock.
func (d *database) Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error) {
	d.lock()
	cl, err := d.Store.Claim(ctx, c)
	d.wrote("claim")
	for _, a := range cl.Attempts {
		d.keep(a)
	}
	return cl, err
}

// Attach stores bytes under lock.
func (d *database) Attach(ctx context.Context, a intents.Attempt) (intents.Attempt, error) {
	d.lock()
	stored, err := d.Store.Attach(ctx, a)
	if err == nil {
		d.keep(stored)
	}
	return stored, err
}

// keep notes bytes under their slot and number, once.
func (d *database) keep(a intents.Attempt) {
	had := d.kept[a.Slot.ID]
	if !slices.ContainsFunc(had, func(b intents.Attempt) bool { return b.No == a.No }) {
		d.kept[a.Slot.ID] = append(had, a)
	}
}

// Complete writes a result under lock.
func (d *database) Complete(ctx context.Context, cl intents.Claimed, r intents.Result) (intents.Intent, error) {
	d.lock()
	if _, pruned := d.tombs[cl.Intent.ID]; pruned {
		return intents.Intent{}, intents.ErrNotFound
	}
	in, err := d.Store.Complete(ctx, cl, r)
	d.wrote("complete")
	return in, err
}

// Bury keeps a dead letter.
func (d *database) Bury(ctx context.Context, l intents.DeadLetter) error {
	d.s.letters[string(l.Body)] = true
	return d.Store.Bury(ctx, l)
}

// Park writes under lock.
func (d *database) Park(ctx context.Context, in intents.Intent, wait time.Duration) error {
	d.lock()
	return d.Store.Park(ctx, in, wait)
}

// Refuse fails an intent under lock.
func (d *database) Refuse(ctx context.Context, in intents.Intent, reason intents.Reason, detail []byte) (intents.Intent, error) {
	d.lock()
	got, err := d.Store.Refuse(ctx, in, reason, detail)
	d.wrote("refuse")
	return got, err
}

// Record writes observations under lock.
func (d *database) Record(ctx context.Context, ws []intents.Watch, os []intents.Observation, p intents.Patience) ([]intents.Intent, error) {
	d.lock()
	ins, err := d.Store.Record(ctx, ws, os, p)
	d.wrote("record")
	return ins, err
}

// Sweep pushes due intents on, under lock.
func (d *database) Sweep(ctx context.Context, route string, most int) ([]intents.Intent, error) {
	d.lock()
	ins, err := d.Store.Sweep(ctx, route, most)
	d.wrote("sweep")
	return ins, err
}

// Resolve carries out a person's order under lock.
func (d *database) Resolve(ctx context.Context, id string, o intents.Order) (intents.Intent, bool, error) {
	d.lock()
	if t, pruned := d.tombs[id]; pruned {
		return t.in, false, intents.ErrNotFound
	}
	in, again, err := d.Store.Resolve(ctx, id, o)
	d.wrote("resolve " + string(o.Verb))
	return in, again, err
}
