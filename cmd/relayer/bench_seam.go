//go:build !lean

package main

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/nsqworker"
)

// benchRecorder stands at the seams of a route and notes when what happened. It keeps no more than what is under way: its
// memory counts as the relayer's.
type benchRecorder struct {
	prefix    string
	scheduled string // begins the ids of scheduled intents
	first     atomic.Int64

	mu      sync.Mutex
	slots   map[int64]string // ids by slot, where attempts are not named by their intent
	submits map[string]int64 // when, by id
	done    []benchDone
	due     int   // scheduled intents that came to their end
	dueEnd  int64 // when the last of them did
}

func newBenchRecorder(tag string) *benchRecorder {
	return &benchRecorder{prefix: "bench-" + tag + "-", scheduled: scheduledPrefix(tag), slots: map[int64]string{}, submits: map[string]int64{}}
}

// seams has the recorder stand everywhere, and with sender none at the sender's place.
func (r *benchRecorder) seams(sender, mode string) seams {
	return seams{
		store: func(c pgstore.Config) pgstore.Config {
			c.RowMode = mode == "row"
			return c
		},
		ledger: func(_ string, l ledger) ledger { return timedLedger{l, r} },
		way: func(_ string, w way) way {
			switch w := w.(type) {
			case evmWay:
				return timedEVM{w, r}
			case webhookWay:
				if sender != "none" {
					return timedHook{w, r}
				}
				w.Close()
			}
			return idleWay{r}
		},
		handler: func(_ string, h nsqworker.Handler) nsqworker.Handler { return timedHandler{h, r} },
		meter:   noSeams().meter,
	}
}

// report takes what is new.
func (r *benchRecorder) report() benchReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	done, due := r.done, r.due
	r.done, r.due = nil, 0
	return benchReport{First: r.first.Load(), Done: done, Due: due, DueEnd: r.dueEnd}
}

// number is an intent's, or false for one that is not the bench's.
func (r *benchRecorder) number(id string) (int, bool) {
	text, ours := strings.CutPrefix(id, r.prefix)
	n, err := strconv.Atoi(text)
	return n, ours && err == nil
}

// submitted notes the first call for an attempt.
func (r *benchRecorder) submitted(a intents.Attempt) {
	now := time.Now().UnixNano()
	r.mu.Lock()
	defer r.mu.Unlock()
	id := cmp.Or(r.slots[a.Slot.ID], a.Name)
	if r.submits[id] == 0 {
		r.submits[id] = now
	}
}

// claimed notes whose a slot is that does not tell.
func (r *benchRecorder) claimed(in intents.Intent) {
	if in.Slot.Kind != intents.Counter {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slots[in.Slot.ID] = in.ID
}

// wrote notes an intent that has come to its end.
func (r *benchRecorder) wrote(in intents.Intent) {
	if !in.State.Final() && in.State != intents.NeedsReview {
		return
	}
	n, ok := r.number(in.ID)
	if !ok {
		r.wroteDue(in)
		return
	}
	d := benchDone{N: n, Settled: in.State == intents.Settled, End: time.Now().UnixNano()}
	r.mu.Lock()
	defer r.mu.Unlock()
	d.Submit = r.submits[in.ID]
	delete(r.submits, in.ID)
	delete(r.slots, in.Slot.ID)
	r.done = append(r.done, d)
}

// wroteDue counts a scheduled intent.
func (r *benchRecorder) wroteDue(in intents.Intent) {
	if !strings.HasPrefix(in.ID, r.scheduled) || in.State != intents.Settled {
		return
	}
	now := time.Now().UnixNano()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.submits, in.ID)
	r.due++
	r.dueEnd = max(r.dueEnd, now)
}

// timedHandler notes the first delivery.
type timedHandler struct {
	nsqworker.Handler
	r *benchRecorder
}

func (h timedHandler) Handle(work, lease context.Context, d nsqworker.Delivery) nsqworker.Disposition {
	if h.r.first.Load() == 0 {
		h.r.first.CompareAndSwap(0, time.Now().UnixNano())
	}
	return h.Handler.Handle(work, lease, d)
}

// timedLedger notes ends that are written.
type timedLedger struct {
	ledger
	r *benchRecorder
}

func (l timedLedger) Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error) {
	got, err := l.ledger.Claim(ctx, c)
	if err == nil {
		l.r.claimed(got.Intent)
	}
	return got, err
}

func (l timedLedger) Complete(ctx context.Context, c intents.Claimed, r intents.Result) (intents.Intent, error) {
	in, err := l.ledger.Complete(ctx, c, r)
	if err == nil {
		l.r.wrote(in)
	}
	return in, err
}

func (l timedLedger) Refuse(ctx context.Context, in intents.Intent, reason intents.Reason, detail []byte) (intents.Intent, error) {
	in, err := l.ledger.Refuse(ctx, in, reason, detail)
	if err == nil {
		l.r.wrote(in)
	}
	return in, err
}

func (l timedLedger) Record(ctx context.Context, ws []intents.Watch, os []intents.Observation, p intents.Patience) ([]intents.Intent, error) {
	ins, err := l.ledger.Record(ctx, ws, os, p)
	if err == nil {
		for _, in := range ins {
			l.r.wrote(in)
		}
	}
	return ins, err
}

// timedEVM and timedHook note when they are called. They stay what they are in everything else.
type timedEVM struct {
	evmWay
	r *benchRecorder
}

func (w timedEVM) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	w.r.submitted(a)
	return w.evmWay.Submit(ctx, a)
}

type timedHook struct {
	webhookWay
	r *benchRecorder
}

func (w timedHook) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	w.r.submitted(a)
	return w.webhookWay.Submit(ctx, a)
}

// idleWay does nothing: its slot is a key, the other side remembers it for ever, and what is sent is done.
type idleWay struct{ r *benchRecorder }

func (idleWay) Plan(context.Context, intents.Intent) (intents.Plan, error) {
	return intents.Plan{Slot: intents.Key, Scope: "none", Again: intents.Always}, nil
}

// idleBytes is what the bytes of an intent weigh, about as much as those of a small transaction.
const idleBytes = 120

func (idleWay) Prepare(_ context.Context, in intents.Intent, slot intents.Slot, _ intents.Kind, _ []intents.Attempt) (intents.Attempt, error) {
	b := make([]byte, idleBytes)
	for n := 0; n < len(b); n += copy(b[n:], in.ID) {
		continue
	}
	return intents.Attempt{Slot: slot, No: 1, Kind: intents.First, Bytes: b, Name: in.ID}, nil
}

func (w idleWay) Submit(_ context.Context, a intents.Attempt) intents.Result {
	w.r.submitted(a)
	return intents.Result{Verdict: intents.Done, Ref: "none-" + a.Name}
}

func (idleWay) Observe(context.Context, []intents.Watch) ([]intents.Observation, error) {
	return nil, nil
}

func (idleWay) Canonical(in intents.Intent) (intents.Intent, error) { return in, nil }

func (idleWay) open(context.Context, signers) error { return nil }

func (idleWay) Close() {}
