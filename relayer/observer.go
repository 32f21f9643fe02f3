package relayer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Observer finds out what became of what was sent. It works for every intent with stored bytes that is not final, also
// for those in review: there it only reads, and proof may end it. One works per route, by a lease row; two at once only
// waste.
type Observer struct {
	cfg      Config
	due      Due
	witness  Witness
	store    Store
	sender   Sender
	throttle *Throttle
	log      *slog.Logger
}

// NewObserver makes the observer of a route. It draws its permits from the throttle's share for reads.
func NewObserver(cfg Config, due Due, witness Witness, store Store, sender Sender, throttle *Throttle) *Observer {
	cfg = cfg.WithDefaults()
	return &Observer{cfg: cfg, due: due, witness: witness, store: store, sender: sender, throttle: throttle,
		log: cfg.Logger.With("route", cfg.Route)}
}

// Observe looks once at up to ObserveMost slots, if this process leads, and says how many.
// Errors: those of Due, Witness and Sender.Observe.
func (o *Observer) Observe(ctx context.Context) (int, error) {
	lead, err := o.due.Lead(ctx, "observe/"+o.cfg.Route, o.cfg.Owner, max(leaseTicks*o.cfg.ObserveEvery, o.patience()))
	if err != nil || !lead {
		return 0, err
	}
	ws, err := o.witness.Watches(ctx, o.cfg.Route, o.cfg.ObserveMost)
	if err != nil || len(ws) == 0 {
		return 0, err
	}
	seen, err := o.look(ctx, ws)
	if err != nil {
		return 0, err
	}
	p := intents.Patience{ReviewAfter: o.cfg.ReviewAfter, ConfirmAfter: o.cfg.ConfirmAfter}
	ins, err := o.witness.Record(ctx, ws, seen, p)
	if err != nil {
		return 0, err
	}
	o.tell(ctx, ws, ins)
	return len(ws), o.want(ctx, ws, seen, ins)
}

// patience is how long one look may take.
func (o *Observer) patience() time.Duration { return o.cfg.SubmitTimeout + o.cfg.StoreTimeout }

// look asks the sender and gives one observation for each watch, in order. What names no next look comes again with the
// next round, after those that were not looked at yet.
func (o *Observer) look(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	p, err := o.throttle.AcquireRead(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer p.Done()
	os, err := o.ask(ctx, ws)
	if err != nil {
		calmFor(o.throttle, err)
		return nil, fmt.Errorf("observe: %w", err)
	}
	seen := strongest(ws, os)
	for i := range seen {
		seen[i].Of = len(ws[i].Attempts)
		seen[i].After = cmp.Or(seen[i].After, o.cfg.ObserveEvery)
	}
	return seen, nil
}

// poisonRest is how long a slot is left alone at whose sight the sender panicked.
const poisonRest = time.Minute

// ask asks the sender. Where it panics the slots are halved, until the one at fault stands alone and is not seen.
func (o *Observer) ask(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	os, err := o.askOnce(ctx, ws)
	if _, panicked := errors.AsType[*panicError](err); !panicked {
		return os, err
	}
	if len(ws) == 1 {
		o.log.ErrorContext(ctx, "sender panics at a slot", "slot", ws[0].Slot.String(), "intent", ws[0].Intent.ID, "err", err)
		return []intents.Observation{{Slot: ws[0].Slot, After: poisonRest}}, nil
	}
	left, err := o.ask(ctx, ws[:len(ws)/2])
	if err != nil {
		return nil, err
	}
	right, err := o.ask(ctx, ws[len(ws)/2:])
	return append(left, right...), err
}

func (o *Observer) askOnce(ctx context.Context, ws []intents.Watch) (os []intents.Observation, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v}
		}
	}()
	return o.sender.Observe(ctx, ws)
}

// strongest picks what counts for each watch: proof of the effect before anything else, and death only when nothing
// speaks for life: a slot is dead when every attempt of it is.
func strongest(ws []intents.Watch, os []intents.Observation) []intents.Observation {
	bySlot := make(map[int64][]intents.Observation, len(ws))
	for _, ob := range os {
		bySlot[ob.Slot.ID] = append(bySlot[ob.Slot.ID], ob)
	}
	out := make([]intents.Observation, len(ws))
	for i, w := range ws {
		out[i] = verdictOf(w, bySlot[w.Slot.ID])
	}
	return out
}

func verdictOf(w intents.Watch, os []intents.Observation) intents.Observation {
	best := intents.Observation{Slot: w.Slot}
	for _, ob := range os {
		if rank(ob.Fact) > rank(best.Fact) || best.No == 0 && best.Fact == ob.Fact {
			best = ob
		}
	}
	switch {
	case best.Fact != intents.Dead || best.No == 0:
	case allDead(w.Attempts, os):
		best.No = 0
	default:
		best.No, best.Fact = 0, intents.NotSeen
	}
	return best
}

// allDead says whether each attempt was observed to be dead.
func allDead(as []intents.Attempt, os []intents.Observation) bool {
	for _, a := range as {
		dead := func(ob intents.Observation) bool { return ob.No == a.No && ob.Fact == intents.Dead }
		if !slices.ContainsFunc(os, dead) {
			return false
		}
	}
	return len(as) > 0
}

func rank(f intents.Fact) int {
	switch f {
	case intents.Final:
		return 5
	case intents.Reverted:
		return 4
	case intents.Included:
		return 3
	case intents.Pending:
		return 2
	case intents.Dead:
		return 1
	case intents.NotSeen:
	}
	return 0
}

func (o *Observer) tell(ctx context.Context, ws []intents.Watch, ins []intents.Intent) {
	for i, in := range ins {
		if in.Version != ws[i].Intent.Version {
			o.log.InfoContext(ctx, "intent moved", "intent", in.ID, "state", in.State.String(), "version", in.Version,
				"reason", string(in.Reason), "ref", in.Ref)
		}
	}
}

// want makes, stores and sends the further attempts a sender asks for. No claim is needed: it is the same slot. Nothing
// is sent for an intent in review, where a person decides, and none in a paused route.
func (o *Observer) want(ctx context.Context, ws []intents.Watch, os []intents.Observation, ins []intents.Intent) error {
	var errs []error
	for i, ob := range os {
		if ob.Want == 0 || ins[i].State == intents.NeedsReview || ins[i].Paused {
			continue
		}
		if err := o.attempt(ctx, ws[i], ob.Want); err != nil {
			errs = append(errs, fmt.Errorf("%s of %s: %w", ob.Want, ws[i].Slot, err))
		}
	}
	return errors.Join(errs...)
}

// attempt adds one attempt to a slot. Its result is not judged here: the next observation tells. A panic is an error of
// this attempt alone.
func (o *Observer) attempt(ctx context.Context, w intents.Watch, kind intents.Kind) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v}
		}
	}()
	p, err := o.throttle.AcquireRead(ctx, 1)
	if err != nil {
		return err
	}
	defer p.Done()
	prepare, cancel := context.WithTimeout(ctx, o.cfg.PrepareTimeout)
	defer cancel()
	a, err := o.sender.Prepare(prepare, w.Intent, w.Slot, kind, w.Attempts)
	if err != nil {
		calmFor(o.throttle, err)
		return err
	}
	stored, err := o.attach(ctx, w, a, kind)
	if err != nil {
		return err
	}
	submit, cancel := context.WithTimeout(ctx, o.cfg.SubmitTimeout)
	defer cancel()
	r := o.sender.Submit(submit, stored)
	o.throttle.Calm(r.Calm)
	o.log.InfoContext(ctx, "attempt sent", "slot", w.Slot.String(), "kind", kind.String(), "no", stored.No, "verdict", r.Verdict.String())
	return nil
}

// attach stores an attempt as the slot's next, unless the slot has these very bytes: then they go out again.
func (o *Observer) attach(ctx context.Context, w intents.Watch, a intents.Attempt, kind intents.Kind) (intents.Attempt, error) {
	for _, known := range w.Attempts {
		if bytes.Equal(known.Bytes, a.Bytes) {
			return known, nil
		}
	}
	a.Slot, a.Kind, a.No = w.Slot, kind, len(w.Attempts)+1
	return o.store.Attach(ctx, a)
}

// Run observes every ObserveEvery until ctx ends. A panic ends one look, not the watching.
func (o *Observer) Run(ctx context.Context) {
	every(ctx, o.cfg.ObserveEvery, o.log, func() {
		once, cancel := context.WithTimeout(ctx, o.patience())
		defer cancel()
		if _, err := o.Observe(once); err != nil && ctx.Err() == nil {
			o.log.WarnContext(ctx, "observation put off", "err", err)
		}
	})
}
