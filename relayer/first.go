package relayer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// notNow is when an intent is looked at again that its sender cannot plan or prepare now.
const notNow = 10 * time.Second

// first brings an authorized intent to its claim: plan, permit, bytes of a key slot, claim.
func (w *Worker) first(j *job, in intents.Intent) (out Disposition, moved bool) {
	switch now := in.ReadAt; {
	case in.Expired(now):
		return w.refuse(j, in, intents.ReasonExpired, nil)
	case now.Before(in.TryAt):
		return w.park(j, in, in.TryAt.Sub(now))
	case in.Paused:
		return w.park(j, in, 0)
	}
	if wait, frozen := w.gates.closed(time.Now()); wait > 0 && in.Slot.Kind == intents.NoSlot {
		return w.shutOut(j, in, wait, frozen)
	}
	plan, err := w.plan(j, in)
	if err != nil {
		return w.unplanned(j, in, "plan", w.throttle, err)
	}
	if wait, frozen := w.pass(in, plan); wait > 0 {
		return w.shutOut(j, in, wait, frozen)
	}
	permit, out, ok := w.permit(j, plan.Weight)
	if !ok {
		return out, false
	}
	defer permit.Return() // until Done
	c := intents.Claim{Intent: in, Plan: plan}
	if plan.Slot != intents.Counter && in.Stored == 0 {
		a, err := w.prepare(j.lease, in, intents.Slot{Kind: plan.Slot, Scope: plan.Scope, Name: in.ID})
		if err != nil {
			return w.unplanned(j, in, "prepare", permit, err)
		}
		c.Attempt = &a
	}
	return w.claim(j, c, permit)
}

// plan has the sender plan. A weight that no permit can ever have is as good as not now: it would be asked for in vain.
func (w *Worker) plan(j *job, in intents.Intent) (intents.Plan, error) {
	ctx, cancel := within(j.lease, w.cfg.PlanTimeout)
	defer cancel()
	plan, err := w.sender.Plan(ctx, in)
	plan.Weight = cmp.Or(plan.Weight, w.cfg.Weight)
	if err == nil {
		err = w.throttle.cfg.Fits(plan.Weight)
	}
	return plan, err
}

// prepare makes the first bytes of an intent in a slot. Nothing is sent.
func (w *Worker) prepare(ctx context.Context, in intents.Intent, slot intents.Slot) (intents.Attempt, error) {
	ctx, cancel := within(ctx, w.cfg.PrepareTimeout)
	defer cancel()
	a, err := w.sender.Prepare(ctx, in, slot, intents.First, nil)
	a.No, a.Kind = 1, intents.First
	return a, err
}

// unplanned ends a delivery whose sender said never, or not now. Nothing is claimed.
func (w *Worker) unplanned(j *job, in intents.Intent, step string, by calmer, err error) (out Disposition, moved bool) {
	if refused, ok := errors.AsType[*intents.RefusedError](err); ok {
		return w.refuse(j, in, intents.ReasonRefused, evidence(step, refused))
	}
	wait := calmFor(j.work, w.log, by, err)
	if j.over() {
		return Requeue(0), false
	}
	w.log.WarnContext(j.work, "not now", "step", step, "intent", in.ID, "err", err)
	return w.park(j, in, w.cfg.Jitter(wait))
}

// park writes when to look again, unless the row says so already.
func (w *Worker) park(j *job, in intents.Intent, wait time.Duration) (out Disposition, moved bool) {
	if in.DueAt.Equal(in.ReadAt.Add(wait)) {
		return Finish(), false
	}
	ctx, cancel := w.storeCtx(j)
	defer cancel()
	return w.after(j, "park", w.desk.Park(ctx, in, wait))
}

func (w *Worker) refuse(j *job, in intents.Intent, reason intents.Reason, detail []byte) (out Disposition, moved bool) {
	ctx, cancel := w.storeCtx(j)
	defer cancel()
	failed, err := w.desk.Refuse(ctx, in, reason, detail)
	if err == nil {
		w.moved(j.work, in.State, failed)
	}
	return w.after(j, "refuse", err)
}

// leaseMargin is how long before its lease ends a waiting delivery is given back: the REQ must still arrive.
const leaseMargin = time.Second

// permit waits for a permit of the throttle within the lease. false: the delivery is decided, nothing is written.
func (w *Worker) permit(j *job, weight int) (*Permit, Disposition, bool) {
	ctx, now := j.lease, time.Now()
	if until := j.d.Until; !until.IsZero() {
		until = until.Add(-min(leaseMargin, until.Sub(now)/4))
		if wait := w.throttle.Predict(now); now.Add(wait).After(until) {
			return nil, Requeue(w.cfg.Jitter(max(wait, time.Second))), false
		}
		var cancel func()
		ctx, cancel = by(j.lease, until)
		defer cancel()
	}
	began := time.Now()
	p, err := w.throttle.Acquire(ctx, weight)
	w.cfg.Meter.Took(j.work, StageThrottle, time.Since(began))
	switch {
	case err == nil:
		return p, Disposition{}, true
	case j.over():
		return nil, Requeue(0), false
	}
	w.log.DebugContext(j.work, "no permit within the lease", "message", j.d.ID, "err", err)
	return nil, Requeue(w.cfg.Jitter(max(w.throttle.Predict(time.Now()), time.Second))), false
}

// evidence says in JSON at which step what went wrong.
func evidence(step string, err error) []byte {
	b, _ := json.Marshal(map[string]string{"step": step, "error": err.Error()})
	return b
}
