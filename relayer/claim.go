package relayer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// takeOver looks at an intent that somebody claimed before.
func (w *Worker) takeOver(j *job, in intents.Intent) (out Disposition, moved bool) {
	switch now := in.ReadAt; {
	case in.Claimed(now):
		return w.park(j, in, in.ClaimUntil.Sub(now))
	case in.Silent >= intents.MostSilent, !in.MayTakeOver(now), in.Stored == 0 && in.Expired(now):
		return w.handOver(j, in)
	case now.Before(in.TryAt):
		return w.park(j, in, in.TryAt.Sub(now))
	case in.Paused:
		return w.park(j, in, 0)
	}
	permit, out, ok := w.permit(j, w.cfg.Weight)
	if !ok {
		return out, false
	}
	defer permit.Return() // until Done
	return w.claim(j, intents.Claim{Intent: in}, permit)
}

// handOver has the store decide on an intent that must not be sent: it goes to the observer or to a person. Asking for
// the claim is what writes that. Had it by a clock that went back, the claim is ended again at once.
func (w *Worker) handOver(j *job, in intents.Intent) (out Disposition, moved bool) {
	c, err := w.ask(j, intents.Claim{Intent: in})
	if err != nil {
		return w.unclaimed(j, in, err)
	}
	return w.complete(j, c, intents.Result{Verdict: intents.NotSent}), false
}

// ask has the store claim.
func (w *Worker) ask(j *job, c intents.Claim) (intents.Claimed, error) {
	c.ID, c.Owner, c.Term, c.Wait = newClaimID(), w.cfg.Owner, w.cfg.Term(), w.cfg.WaitForFunds
	return w.store.Claim(j.lease, c)
}

// claim claims, and on success carries the intent through to its result.
func (w *Worker) claim(j *job, c intents.Claim, p *Permit) (out Disposition, moved bool) {
	if j.over() {
		return Requeue(0), false
	}
	t := term{asked: w.cfg.Now(), length: w.cfg.Term()}
	claimed, err := w.ask(j, c)
	if err != nil {
		w.unslotted(c, err)
		return w.unclaimed(j, c.Intent, err)
	}
	if needsNumber(c.Intent, c.Plan) {
		w.gates.open(claimed.Slot().Scope)
	}
	w.moved(j.work, c.Intent.State, claimed.Intent)
	return w.carry(j, claimed, t, p), false
}

// unclaimed ends a delivery whose claim was not had. Where the row says who looks next the message is finished.
func (w *Worker) unclaimed(j *job, in intents.Intent, err error) (out Disposition, moved bool) {
	not, ok := errors.AsType[*intents.NotClaimedError](err)
	switch {
	case ok && not.Why == intents.WhyMoved:
		return Disposition{}, true
	case ok && not.Why == intents.WhyNoSlot:
		return Requeue(w.cfg.Jitter(firstShut)), false
	case ok:
		w.log.InfoContext(j.work, "not claimed", "intent", in.ID, "why", string(not.Why))
		return Finish(), false
	case errors.Is(err, intents.ErrUnsure): // perhaps it is ours, and nobody can tell: as after a crash
		w.stats.retry.Add(1)
		w.log.ErrorContext(j.work, "claim unsure, left", "intent", in.ID, "err", err)
		return Leave(), false
	case errors.Is(err, intents.ErrNoSigner):
		w.log.ErrorContext(j.work, "signer is not open", "intent", in.ID, "err", err)
	}
	return w.putOff(j, "claim", err), false
}

// ownMargin is how long before its end an owner stops believing in its claim.
const ownMargin = 5 * time.Second

// term is a claim as its owner counts it: from the moment it asked, on the monotonic and on the wall clock, whichever
// ends first. The database counts from the commit, which is later.
type term struct {
	asked  time.Time
	length time.Duration
}

// ours says whether the claim is surely still ours at now.
func (t term) ours(now time.Time) bool {
	monotonic := now.Sub(t.asked)
	wall := now.Round(0).Sub(t.asked.Round(0))
	return max(monotonic, wall) < t.length-ownMargin
}

// lastWords is the context that results are written in: it ends a grace after work does, or after the result is there,
// whichever is later. Deliveries of one run share it, since their work ends at one time.
type lastWords struct {
	mu   sync.Mutex
	work <-chan struct{} // its Done
	ctx  context.Context
}

func (l *lastWords) after(work context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if work.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(work), grace)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.work != work.Done() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(work))
		context.AfterFunc(work, func() { time.AfterFunc(grace, cancel) })
		l.work, l.ctx = work.Done(), ctx
	}
	return l.ctx, func() {}
}
