package relayer

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Worker carries out the deliveries of one route. It is safe for concurrent use: one Worker serves all goroutines of
// a route's consumer.
type Worker struct {
	cfg      Config
	store    Store
	desk     Desk
	sender   Sender
	throttle *Throttle
	probe    *Probe
	log      *slog.Logger
	stats    stats
	gates    gates // of counter scopes

	lastWords lastWords
}

// NewWorker makes a worker. probe is told when the store cannot be reached.
// Errors: those of Config.Validate.
func NewWorker(cfg Config, store Store, desk Desk, sender Sender, throttle *Throttle, probe *Probe) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	return &Worker{cfg: cfg, store: store, desk: desk, sender: sender, throttle: throttle, probe: probe,
		log: cfg.Logger.With("route", cfg.Route)}, nil
}

// Stats tells what became of the deliveries so far.
func (w *Worker) Stats() Stats { return w.stats.read() }

// job is one delivery on its way.
type job struct {
	work  context.Context // ends at the drain deadline: cut the send, keep its result
	lease context.Context // ends when the message is no longer ours or draining begins: wait no more, claim nothing
	d     Delivery
}

// over says whether the delivery must claim nothing any more.
func (j *job) over() bool { return j.lease.Err() != nil }

// Handle works one delivery through to its disposition. lease ends when the message is no longer ours or draining
// begins; work ends at the drain deadline. A panic is counted and leaves the message alone; nothing is written.
func (w *Worker) Handle(work, lease context.Context, d Delivery) (out Disposition) {
	defer func() {
		if v := recover(); v != nil {
			w.stats.panics.Add(1)
			w.log.ErrorContext(work, "panic in a delivery", "message", d.ID, "panic", v, "stack", string(debug.Stack()))
			out = Leave()
		}
	}()
	j := &job{work: work, lease: lease, d: d}
	if !d.Published.IsZero() {
		w.cfg.Meter.Took(j.work, StageQueue, w.age(j))
	}
	m, out, ok := w.read(j)
	if !ok {
		return out
	}
	return w.pursue(j, m)
}

// mostLooks bounds how often one delivery reads an intent again that others keep moving.
const mostLooks = 3

// pursue looks at the intent until the delivery is decided.
func (w *Worker) pursue(j *job, m intents.Message) Disposition {
	for range mostLooks {
		in, out, ok := w.take(j, m)
		if !ok {
			return out
		}
		out, moved := w.look(j, in)
		if !moved {
			return out
		}
	}
	return Requeue(w.cfg.Jitter(time.Second))
}

// look decides by the intent's state. moved asks to read again: somebody else changed the row meanwhile.
func (w *Worker) look(j *job, in intents.Intent) (out Disposition, moved bool) {
	switch in.State {
	case intents.Authorized:
		return w.first(j, in)
	case intents.Settling:
		return w.takeOver(j, in)
	case intents.Created, intents.Confirming, intents.Settled, intents.Failed, intents.Canceled, intents.NeedsReview:
	}
	return Finish(), false // also states unknown to us
}

// storeCtx bounds one call of the desk. Until a batch is sealed the call may be left when the lease ends.
func (w *Worker) storeCtx(j *job) (context.Context, context.CancelFunc) {
	return context.WithTimeout(j.lease, w.cfg.StoreTimeout)
}

// unavailableDelay is the REQ of a delivery that met a store it could not reach.
const unavailableDelay = 5 * time.Second

// putOff answers a delivery whose store call failed before anything was written.
func (w *Worker) putOff(j *job, step string, err error) Disposition {
	if j.over() {
		return Requeue(0)
	}
	w.log.WarnContext(j.work, "store call put off", "step", step, "message", j.d.ID, "err", err)
	if errors.Is(err, intents.ErrUnavailable) {
		w.probe.Down()
	}
	return Requeue(unavailableDelay)
}

// after answers a delivery once a write of the desk is made: finished, or read again when the row has moved.
func (w *Worker) after(j *job, step string, err error) (out Disposition, moved bool) {
	switch {
	case err == nil:
		return Finish(), false
	case errors.Is(err, intents.ErrMoved):
		return Disposition{}, true
	}
	return w.putOff(j, step, err), false
}

// moved tells of an intent that a delivery found in one state and left in another, or the same.
func (w *Worker) moved(ctx context.Context, was intents.State, in intents.Intent) {
	if in.State != was {
		w.cfg.Meter.Moved(in.State)
	}
	if !w.log.Enabled(ctx, slog.LevelInfo) { // several times for each delivery
		return
	}
	w.log.InfoContext(ctx, "intent moved", "intent", in.ID, "state", in.State.String(), "version", in.Version,
		"reason", string(in.Reason), "ref", in.Ref)
}
