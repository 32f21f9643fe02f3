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
// waste. It is not safe for concurrent use.
type Observer struct {
	cfg      Config
	due      Due
	witness  Witness
	store    Store
	sender   Sender
	throttle *Throttle
	log      *slog.Logger
	census   census
	stats    loopStats
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
	lead, err := o.due.Lead(ctx, o.lease(), o.cfg.Owner, max(leaseTicks*o.cfg.ObserveEvery, o.patience()))
	n := 0
	if err == nil && lead {
		n, err = o.observe(ctx)
	}
	o.stats.note(lead, n, err)
	return n, err
}

// observe is one look of the leader.
func (o *Observer) observe(ctx context.Context) (int, error) {
	ws, err := o.witness.Watches(ctx, o.cfg.Route, o.cfg.ObserveMost)
	if err == nil {
		o.number(ctx, len(ws) > 0)
	}
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

// patience is how long one look may take. One that waits for its units in line has plans before it.
func (o *Observer) patience() time.Duration {
	if o.cfg.Metered {
		return o.cfg.PlanTimeout + o.cfg.SubmitTimeout + o.cfg.StoreTimeout
	}
	return o.cfg.SubmitTimeout + o.cfg.StoreTimeout
}

// look asks the sender and gives one observation for each watch, in order. What names no next look comes again with the
// next round, after those that were not looked at yet.
func (o *Observer) look(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	by, done, err := o.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	os, err := o.ask(ctx, ws)
	if err != nil {
		calmFor(ctx, o.log, by, err)
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

// want sends what a sender asks for: further attempts, which it makes and stores first, or stored ones again. No claim is
// needed: it is the same slot. Nothing is sent for an intent in review, where a person decides, and none in a paused route.
// Lower numbers go first: those above them wait for them.
func (o *Observer) want(ctx context.Context, ws []intents.Watch, os []intents.Observation, ins []intents.Intent) error {
	var errs []error
	for _, i := range byNumber(ws) {
		do, what := o.wanted(ws[i], os[i], ins[i])
		if do == nil {
			continue
		}
		if err := ctx.Err(); err != nil { // what is left is asked for again
			return errors.Join(append(errs, err)...)
		}
		if err := o.apart(ctx, do); err != nil {
			errs = append(errs, fmt.Errorf("%s of %s: %w", what, ws[i].Slot, err))
		}
	}
	return errors.Join(errs...)
}

// byNumber gives the indexes of watches, lowest numbers first.
func byNumber(ws []intents.Watch) []int {
	order := make([]int, len(ws))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ws[a].Slot.Number, ws[b].Slot.Number) })
	return order
}

// wanted says what is to be done for a slot, nil for nothing. in is its intent after what was seen was recorded.
func (o *Observer) wanted(w intents.Watch, ob intents.Observation, in intents.Intent) (do deed, what string) {
	switch {
	case in.State == intents.NeedsReview, in.Paused:
	case ob.Want != 0:
		return func(ctx context.Context, p *Permit) error { return o.attempt(ctx, w, ob.Want, p) }, ob.Want.String()
	case ob.Resend && mayResend(w, in):
		for _, a := range w.Attempts {
			if a.No == ob.No {
				return func(ctx context.Context, p *Permit) error { return o.submit(ctx, a, p) }, "resend"
			}
		}
	}
	return nil, ""
}

// mayResend says whether an observer may send the bytes of a slot again: of a filler, and of an intent that is under way
// in this slot, has no running claim, and may be sent again without one.
func mayResend(w intents.Watch, in intents.Intent) bool {
	if w.Intent.ID == "" {
		return true
	}
	open := in.State == intents.Confirming || in.State == intents.Settling && !in.Claimed(in.ReadAt)
	return open && !in.ClaimsOnly() && in.Slot.ID == w.Slot.ID && in.MayResend(in.ReadAt)
}

// attempt adds one attempt to a slot.
func (o *Observer) attempt(ctx context.Context, w intents.Watch, kind intents.Kind, p *Permit) error {
	prepare, cancel := context.WithTimeout(ctx, o.cfg.PrepareTimeout)
	defer cancel()
	a, err := o.sender.Prepare(prepare, w.Intent, w.Slot, kind, w.Attempts)
	if err != nil {
		calmFor(ctx, o.log, p, err)
		return err
	}
	stored, err := o.attach(ctx, w, a, kind)
	if err != nil {
		return err
	}
	return o.submit(ctx, stored, p)
}

// submit sends stored bytes. The result is not judged here: the next observation tells.
func (o *Observer) submit(ctx context.Context, a intents.Attempt, p *Permit) error {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.SubmitTimeout)
	defer cancel()
	r := o.sender.Submit(ctx, a)
	o.cfg.Meter.Attempted(r.Verdict)
	calm(ctx, o.log, p, r.Calm, r.Known)
	o.log.InfoContext(ctx, "attempt sent", "slot", a.Slot.String(), "kind", a.Kind.String(), "no", a.No, "verdict", r.Verdict.String())
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

// lease is the name of what the one observer of a route has.
func (o *Observer) lease() string { return "observe/" + o.cfg.Route }

// Run observes every ObserveEvery until ctx ends. A panic ends one look, not the watching. Another process may lead at once
// when it has ended.
func (o *Observer) Run(ctx context.Context) {
	every(ctx, o.cfg.ObserveEvery, o.log, func() {
		once, cancel := context.WithTimeout(ctx, o.patience())
		defer cancel()
		if _, err := o.Observe(once); err != nil && ctx.Err() == nil {
			o.log.WarnContext(ctx, "observation put off", "err", err)
		}
	})
	resign(ctx, o.due, o.lease(), o.cfg.Owner, o.cfg.StoreTimeout)
}
