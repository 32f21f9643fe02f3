package relayer

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

// Look observes one slot now, whoever leads, and writes what it means, as Observe does. The intent is returned as it
// stands afterwards. Errors: those of Witness and Sender.Observe.
func (o *Observer) Look(ctx context.Context, w intents.Watch) (intents.Observation, intents.Intent, error) {
	ws := []intents.Watch{w}
	seen, err := o.look(ctx, ws)
	if err != nil {
		return intents.Observation{}, intents.Intent{}, err
	}
	p := intents.Patience{ReviewAfter: o.cfg.ReviewAfter, ConfirmAfter: o.cfg.ConfirmAfter}
	ins, err := o.witness.Record(ctx, ws, seen, p)
	if err != nil {
		return seen[0], intents.Intent{}, err
	}
	o.tell(ctx, ws, ins)
	return seen[0], ins[0], nil
}

// Peek observes one slot now and writes nothing. Errors: those of Sender.Observe.
func (o *Observer) Peek(ctx context.Context, w intents.Watch) (intents.Observation, error) {
	seen, err := o.look(ctx, []intents.Watch{w})
	if err != nil {
		return intents.Observation{}, err
	}
	return seen[0], nil
}

// Refer asks what a reference is that a person brings; false when the sender cannot tell. Errors: those of Referee.
func (o *Observer) Refer(ctx context.Context, in intents.Intent, ref string) (intents.Observation, bool, error) {
	r, ok := o.sender.(Referee)
	if !ok {
		return intents.Observation{}, false, nil
	}
	p, err := o.throttle.AcquireRead(ctx, 1)
	if err != nil {
		return intents.Observation{}, true, err
	}
	defer p.Done()
	seen, err := r.Refer(ctx, in, ref)
	return seen, true, err
}

// Make prepares a further attempt in the slot of an intent and stores it: nothing is sent. No claim is needed, it is the
// same slot. Errors: *intents.RefusedError and others of Sender.Prepare; those of Store.Attach.
func (o *Observer) Make(ctx context.Context, w intents.Watch, kind intents.Kind) (intents.Attempt, error) {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.PrepareTimeout+o.cfg.StoreTimeout)
	defer cancel()
	a, err := o.sender.Prepare(ctx, w.Intent, w.Slot, kind, w.Attempts)
	if err != nil {
		return intents.Attempt{}, err
	}
	return o.attach(ctx, w, a, kind)
}

// Send puts stored bytes on the wire once. What came of bytes that pay is written as that of any call; what came of
// others the next observation tells. Errors: intents.ErrClaimsOnly: nothing was sent; those of Store.Complete but
// intents.ErrMoved: the call was made all the same.
func (o *Observer) Send(ctx context.Context, in intents.Intent, a intents.Attempt) (intents.Result, error) {
	if in.ClaimsOnly() {
		return intents.Result{}, intents.ErrClaimsOnly
	}
	p, err := o.throttle.read(ctx, o.cfg.Weight)
	if err != nil {
		return intents.Result{}, err
	}
	defer p.Done()
	submit, cancel := context.WithTimeout(ctx, o.cfg.SubmitTimeout)
	defer cancel()
	r := o.sender.Submit(submit, a)
	if fact := r.Verdict == intents.Accepted || r.Verdict == intents.Done; !fact || !a.Kind.Pays() {
		return r, nil
	}
	_, err = o.store.Complete(ctx, intents.Claimed{Intent: in}, r)
	return r, err
}
