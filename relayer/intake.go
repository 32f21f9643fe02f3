package relayer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// How long a message that cannot be read yet may wait before it becomes a dead letter, and how it waits.
const (
	newerPatience   = time.Hour
	newerDelay      = 30 * time.Second
	unknownPatience = 5 * time.Minute
	unknownDelay    = 2 * time.Second
	buryDelay       = 5 * time.Second
)

// read decodes the body. false: the delivery is decided.
func (w *Worker) read(j *job) (intents.Message, Disposition, bool) {
	m, err := w.decode(j.d.Body)
	if err == nil {
		m.Route, m.Actor = w.cfg.Route, w.cfg.Owner
		return m, Disposition{}, true
	}
	if _, newer := errors.AsType[*intents.NewerError](err); newer && w.age(j) < newerPatience {
		return m, Requeue(w.cfg.Jitter(newerDelay)), false
	}
	return m, w.bury(j, deadReason(err), err), false
}

// age is how long ago the message was published, by our clock less that of its nsqd.
func (w *Worker) age(j *job) time.Duration { return w.cfg.Now().Sub(j.d.Published) }

// panicError is a panic where one body or one attempt is at fault, not the process.
type panicError struct{ v any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.v) }

// decode reads the body and brings it into the form in which it is stored. It does not panic, whatever the body holds.
func (w *Worker) decode(body []byte) (m intents.Message, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v}
		}
	}()
	if m, err = intents.Decode(body); err != nil {
		return m, err
	}
	return w.accept(m)
}

// accept checks a full intent against what the route takes, and brings its destination into canonical form.
func (w *Worker) accept(m intents.Message) (intents.Message, error) {
	if !m.Full {
		return m, nil
	}
	if !w.cfg.AcceptFull {
		return m, &intents.InvalidError{Field: "body", Value: "a full intent", Want: "a reference (the route accepts only references)"}
	}
	m.Intent.Route = w.cfg.Route
	if len(w.cfg.Assets) > 0 && !slices.Contains(w.cfg.Assets, m.Intent.Asset) {
		return m, &intents.InvalidError{Field: "asset", Value: m.Intent.Asset, Want: fmt.Sprintf("one of the route's: %v", w.cfg.Assets)}
	}
	canon, ok := w.sender.(Canon)
	if !ok {
		return m, nil
	}
	in, err := canon.Canonical(m.Intent)
	m.Intent = in
	return m, err
}

func deadReason(err error) string {
	if _, ok := errors.AsType[*intents.TooLongError](err); ok {
		return intents.DeadTooLong
	}
	if _, ok := errors.AsType[*intents.NewerError](err); ok {
		return intents.DeadNewer
	}
	if _, ok := errors.AsType[*panicError](err); ok {
		return intents.DeadPanic
	}
	return intents.DeadInvalid
}

// take reads or creates the intent. false: the delivery is decided.
func (w *Worker) take(j *job, m intents.Message) (intents.Intent, Disposition, bool) {
	in, err := w.store.Take(j.lease, m)
	if err == nil {
		if m.Full && in.CreatedAt.Equal(in.ReadAt) { // it is new: a new one is read when it is created
			w.moved(j.work, 0, in)
		}
		return in, Disposition{}, true
	}
	if conflict, ok := errors.AsType[*intents.ConflictError](err); ok {
		reason := intents.DeadConflict
		if conflict.Why == "route" {
			reason = intents.DeadRoute
		}
		return in, w.bury(j, reason, err), false
	}
	if errors.Is(err, intents.ErrNotFound) {
		if w.age(j) < unknownPatience {
			return in, Requeue(w.cfg.Jitter(unknownDelay)), false
		}
		return in, w.bury(j, intents.DeadUnknown, err), false
	}
	return in, w.putOff(j, "take", err), false
}

// bury keeps a message that cannot become an intent, and finishes it once that is written.
func (w *Worker) bury(j *job, reason string, cause error) Disposition {
	body := j.d.Body
	letter := intents.DeadLetter{
		Topic: j.d.Topic, Hash: sha256.Sum256(body), Size: len(body), Body: body[:min(len(body), intents.MaxDeadBody)],
		Reason: reason, Detail: cause.Error(), MessageID: j.d.ID, Route: w.cfg.Route,
	}
	ctx, cancel := context.WithTimeout(j.lease, w.cfg.StoreTimeout)
	defer cancel()
	if err := w.desk.Bury(ctx, letter); err != nil {
		w.putOff(j, "bury", err)
		w.log.ErrorContext(j.work, "dead letter cannot be stored", "message", j.d.ID, "reason", reason, "err", err)
		return Requeue(buryDelay)
	}
	w.cfg.Meter.Buried(reason)
	w.log.WarnContext(j.work, "dead letter", "message", j.d.ID, "reason", reason, "detail", letter.Detail, "size", letter.Size)
	return Finish()
}
