package relayer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// carry takes a claimed intent through prepare, attach and submit to its result, and writes that.
func (w *Worker) carry(j *job, c intents.Claimed, t term, p *Permit) Disposition {
	a, r, err := w.bytes(j, c, p)
	switch {
	case err != nil: // whether our bytes are stored is not known: the claim ends by itself
		w.count(j, r, err)
		w.log.ErrorContext(j.work, "bytes not stored, left", "intent", c.Intent.ID, "err", err)
		return Leave()
	case a.Bytes == nil: // r says why
	case j.work.Err() != nil || !t.ours(w.cfg.Now()):
		r = intents.Result{Verdict: intents.NotSent, After: time.Second}
	default:
		r = w.submit(j, a, p)
	}
	return w.complete(j, c, r)
}

// bytes gives the stored bytes to send: those there already, else it prepares and attaches them. Without bytes the
// result says what became of the attempt. Errors: it is not known what is stored.
func (w *Worker) bytes(j *job, c intents.Claimed, p *Permit) (intents.Attempt, intents.Result, error) {
	for _, a := range slices.Backward(c.Attempts) {
		if a.Kind.Pays() { // an empty use of the slot, or what a stranger sent, is not ours to send again
			return a, intents.Result{}, nil
		}
	}
	a, err := w.prepare(j.work, c.Intent, c.Slot())
	if refused, ok := errors.AsType[*intents.RefusedError](err); ok {
		return intents.Attempt{}, intents.Result{Verdict: intents.Declined, Evidence: evidence("prepare", refused)}, nil
	}
	if err != nil {
		wait := calmFor(j.work, w.log, p, err)
		w.log.WarnContext(j.work, "not now", "step", "prepare", "intent", c.Intent.ID, "err", err)
		return intents.Attempt{}, intents.Result{Verdict: intents.NotSent, After: w.cfg.Jitter(wait), Evidence: evidence("prepare", err)}, nil
	}
	a.Slot = c.Slot()
	stored, err := w.attach(j, a)
	if err != nil && !errors.Is(err, intents.ErrUnsure) { // nothing was stored, so nothing can leave
		return intents.Attempt{}, intents.Result{Verdict: intents.NotSent, Evidence: evidence("attach", err)}, nil
	}
	return stored, intents.Result{}, err
}

// attach stores bytes. The first bytes stored under slot and number are the ones to send, by whoever stored them.
func (w *Worker) attach(j *job, a intents.Attempt) (intents.Attempt, error) {
	ctx, cancel := context.WithTimeout(j.work, w.cfg.StoreTimeout)
	defer cancel()
	stored, err := w.store.Attach(ctx, a)
	if errors.Is(err, intents.ErrUnavailable) {
		w.probe.Down()
	}
	return stored, err
}

// submit puts the bytes on the wire once. The place in flight is given back when the call returns.
func (w *Worker) submit(j *job, a intents.Attempt, p *Permit) intents.Result {
	defer p.Done()
	ctx, cancel := within(j.work, w.cfg.SubmitTimeout)
	defer cancel()
	began := time.Now()
	r := w.sender.Submit(ctx, a)
	w.cfg.Meter.Took(j.work, StageSend, time.Since(began))
	w.cfg.Meter.Attempted(r.Verdict)
	ok := r.Alive || r.Verdict != intents.Unknown && r.Verdict != intents.NotSent
	if p.Report(ok) {
		w.log.WarnContext(j.work, "breaker turned", "open", ok, "verdict", r.Verdict.String())
	}
	calm(j.work, w.log, p, r.Calm, r.Known)
	return r
}

// complete writes the result and finishes the message. What cannot be written goes to the log whole.
func (w *Worker) complete(j *job, c intents.Claimed, r intents.Result) Disposition {
	in, err := w.write(j, c, r)
	w.count(j, r, err)
	switch {
	case err == nil:
		w.moved(j.work, c.Intent.State, in)
		return Finish()
	case errors.Is(err, intents.ErrMoved):
		w.log.WarnContext(j.work, "result met a row that others moved", "intent", c.Intent.ID, "verdict", r.Verdict.String())
		return Finish()
	}
	w.log.ErrorContext(j.work, "result cannot be written", "intent", c.Intent.ID, "claim", c.Intent.ClaimID, "slot", c.Slot().String(),
		"verdict", r.Verdict.String(), "ref", r.Ref, "evidence", string(r.Evidence), "err", err)
	return Leave()
}

func (w *Worker) count(j *job, r intents.Result, err error) {
	happened := r.Verdict == intents.Accepted || r.Verdict == intents.Done
	switch {
	case happened && err == nil:
		w.stats.sent.Add(1)
	case r.Verdict == intents.Declined && err == nil:
	case j.work.Err() != nil:
		w.stats.abandoned.Add(1)
	default:
		w.stats.retry.Add(1)
	}
}

// How a result is written again: while the store is away, for ever; while it refuses the row itself, a few times, at
// last without the evidence.
const (
	writePause     = 100 * time.Millisecond
	mostWritePause = 5 * time.Second
	dropEvidenceAt = 3
	giveUpAt       = 6
)

// write keeps trying while the process lives, in a drain until the grace after its deadline.
func (w *Worker) write(j *job, c intents.Claimed, r intents.Result) (intents.Intent, error) {
	ctx, cancel := w.lastWords.after(j.work, w.cfg.WriteGrace)
	defer cancel()
	refusals := 0
	for pause := writePause; ; pause = min(2*pause, mostWritePause) {
		in, err := w.writeOnce(ctx, c, r)
		if err == nil || errors.Is(err, intents.ErrMoved) {
			return in, err
		}
		w.log.WarnContext(j.work, "result not written yet", "intent", c.Intent.ID, "verdict", r.Verdict.String(), "err", err)
		if !away(err) {
			if refusals++; refusals == dropEvidenceAt {
				r.Evidence = evidence("evidence dropped", err)
			}
		}
		if refusals >= giveUpAt || !pauseFor(ctx, pause) {
			return in, err
		}
	}
}

func (w *Worker) writeOnce(ctx context.Context, c intents.Claimed, r intents.Result) (intents.Intent, error) {
	in, err := w.store.Complete(ctx, c, r)
	if errors.Is(err, intents.ErrUnavailable) {
		w.probe.Down()
	}
	return in, err
}

// away says whether an error is about the store, not about what was to be written.
func away(err error) bool {
	return errors.Is(err, intents.ErrUnavailable) || errors.Is(err, intents.ErrUnsure) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// pauseFor waits for d, or returns false when ctx ends first.
func pauseFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
