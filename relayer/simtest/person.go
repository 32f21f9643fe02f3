package simtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// What became of a person's orders, as outcomes count it.
const (
	carriedOut = "carried out"
	saidAgain  = "carried out before"
	stale      = "refused: the row has moved"
	notAllowed = "refused: not as things are"
	unheard    = "not given: no answer"
)

// visit is one person who has looked at a review and gives an order about what he saw, perhaps much later.
type visit struct {
	s     *sim
	id    string
	order intents.Order
	twice bool // once it was carried out, the very same order is given again
}

// review has one or two persons look at a review, and decide. False: there is none about which anybody would.
func (s *sim) review() bool {
	id, ok := s.reviewable()
	if !ok || !s.visit(id) {
		return false
	}
	if s.chance(0.5) { // another person is at it as well, and need not be of the same mind
		s.visit(id)
	}
	return true
}

// reviewable picks an intent in review; now and then one that has failed, which nothing but proof may settle.
func (s *sim) reviewable() (string, bool) {
	var all []string
	for _, id := range s.ids() {
		in := s.monitor.last[id]
		_, pruned := s.db.tombs[id]
		late := in.State == intents.Failed && in.Slot.Kind != intents.NoSlot && s.chance(0.1)
		if !pruned && (in.State == intents.NeedsReview || late) {
			all = append(all, id)
		}
	}
	if len(all) == 0 {
		return "", false
	}
	return all[s.rand.IntN(len(all))], true
}

// visit has a person look now, and give his order a while later. False: as things are he would not give that order.
func (s *sim) visit(id string) bool {
	v := []intents.Verb{intents.Settle, intents.Fail, intents.Retry}[s.rand.IntN(3)]
	in, err := s.db.Get(s.ctx(), id)
	if err != nil {
		return false
	}
	s.orders++
	o := intents.Order{Verb: v, Version: in.Version, Actor: fmt.Sprintf("person%d", s.orders), Reason: "looked at"}
	if !s.believes(in, &o) {
		return false
	}
	c := &visit{s: s, id: id, order: o, twice: s.chance(0.3)}
	d := s.between(time.Millisecond, []time.Duration{time.Second, 30 * time.Second, 3 * time.Minute}[s.rand.IntN(3)])
	s.note("%s looks at %s v%d, will %s in %s (%s twice=%v unconfirmed=%v)", o.Actor, id, o.Version, v, d, o.Ref, o.MayPayTwice, o.Unconfirmed)
	s.visits.Add(1)
	s.after(d, "", func() {
		ctx := s.operator.actor(o.Actor, nil).in(s.operator.life)
		s.operator.running.Go(func() {
			defer func() { s.visits.Add(-1) }()
			defer func() { _ = recover() }() // a command that panics is over
			c.count(c.decide(ctx))
		})
	})
	return true
}

// decide goes the way of relayer review: the row is read again; is it as the person saw it, the other side is asked; then
// the store decides. What is not answered is said again.
func (c *visit) decide(ctx context.Context) (string, error) {
	o := c.order
	w, err := c.s.operator.face.read(ctx, c.id)
	if err == nil && w.Intent.Version == o.Version {
		err = c.ask(ctx, w, &o)
	}
	if err != nil {
		return unheard, err
	}
	again, err := c.resolve(ctx, o)
	if err == nil && c.twice {
		again, err = c.resolve(ctx, o)
	}
	if again {
		return saidAgain, err
	}
	return carriedOut, err
}

func (c *visit) resolve(ctx context.Context, o intents.Order) (again bool, err error) {
	for range 3 {
		if again, err = c.s.operator.face.Resolve(ctx, c.id, o); !errors.Is(err, intents.ErrUnavailable) {
			break
		}
	}
	return again, err
}

// ask has the other side say what it knows of the slot, and of the reference. An error: nothing is decided.
func (c *visit) ask(ctx context.Context, w intents.Watch, o *intents.Order) (err error) {
	in, observer := w.Intent, c.s.operator.observer
	switch {
	case len(w.Attempts) == 0:
	case in.State == intents.NeedsReview:
		o.Seen, _, err = observer.Look(ctx, w)
	default:
		o.Seen, err = observer.Peek(ctx, w)
	}
	if err != nil || o.Verb != intents.Settle {
		return err
	}
	for _, a := range w.Attempts {
		o.Own = o.Own || a.Name == o.Ref && a.Kind.Pays()
	}
	seen, asked := o.Seen, in.Seen && len(w.Attempts) > 0
	if !o.Own {
		of, ok, err := observer.Refer(ctx, in, o.Ref)
		if err != nil {
			return err
		}
		if ok {
			seen, asked = of, true
		}
	}
	if asked {
		o.Proved = seen.Fact == intents.Final && strings.EqualFold(seen.Ref, o.Ref)
		if !o.Proved {
			o.Against = "the other side says " + seen.Fact.String()
		}
	}
	return nil
}

// count notes what became of an order.
func (c *visit) count(what string, err error) {
	_, moved := errors.AsType[*intents.MovedError](err)
	_, refused := errors.AsType[*intents.OrderError](err)
	_, cannot := errors.AsType[*intents.TransitionError](err)
	switch {
	case moved:
		what = stale
	case refused, cannot:
		what = notAllowed
	case err != nil:
		what = unheard
	}
	c.s.decided[string(c.order.Verb)+" "+what]++
	c.s.note("%s of %s by %s: %s: %s", c.order.Verb, c.id, c.order.Actor, what, brief(err))
}
