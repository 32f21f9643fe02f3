package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/tracing"
	"github.com/nsqrelayer/relayer/nsqworker"
	"github.com/nsqrelayer/relayer/relayer"
)

// traces stand at the seams of a process and make spans of what passes. Where traces are off there are none, nil, and nothing
// stands anywhere.
type traces struct {
	tracer *tracing.Tracer
	cfg    config.Config

	mu      sync.Mutex
	flights map[string]*flight // by claim
}

// lastSpans is how long a process that ends waits for the collector.
const lastSpans = 5 * time.Second

// startTraces starts traces where the environment wants them. Payments do not wait for that: what is wrong with it is logged.
func startTraces(ctx context.Context, cfg config.Config, log *slog.Logger) (t *traces, done func()) {
	tell := func(msg string, err error) { log.WarnContext(ctx, msg, "err", config.Scrub(err.Error())) }
	tracer, err := tracing.Start(ctx, version().Version, instanceName(), func(err error) { tell("traces", err) })
	if err != nil {
		tell("traces are off", err)
	}
	if tracer == nil {
		return nil, func() {}
	}
	return &traces{tracer: tracer, cfg: cfg, flights: map[string]*flight{}}, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
		defer cancel()
		if err := tracer.Close(ctx); err != nil {
			tell("the last spans are lost", err)
		}
	}
}

// seams puts the traces before what stands at a route's seams already.
func (t *traces) seams(s seams) seams {
	if t == nil {
		return s
	}
	had := s
	s.ledger = func(route string, l ledger) ledger { return tracedLedger{had.ledger(route, l), t} }
	s.meter = func(route string, m relayer.Meter) relayer.Meter { return tracedMeter{had.meter(route, m)} }
	s.way = func(route string, w way) way { return tracedWay(had.way(route, w)) }
	s.handler = func(route string, h nsqworker.Handler) nsqworker.Handler {
		return tracedHandler{had.handler(route, h), t, route}
	}
	return s
}

// tracedHandler makes a flight of each delivery.
type tracedHandler struct {
	nsqworker.Handler
	t     *traces
	route string
}

func (h tracedHandler) Handle(work, lease context.Context, d nsqworker.Delivery) nsqworker.Disposition {
	f := h.t.flight(h.route, d.ID)
	defer h.t.land(f)
	return h.Handler.Handle(f.in(work), f.in(lease), d)
}

// tracedLedger makes spans of the store's steps.
type tracedLedger struct {
	ledger
	t *traces
}

func (l tracedLedger) Take(ctx context.Context, m intents.Message) (intents.Intent, error) {
	began := time.Now()
	in, err := l.ledger.Take(ctx, m)
	if f := flightOf(ctx); f != nil && err == nil {
		f.open(in)
		f.span().Child(tracing.Internal, "take", began).End("")
	}
	return in, err
}

func (l tracedLedger) Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error) {
	f := flightOf(ctx)
	s := f.span().Child(tracing.Internal, "claim", time.Now())
	got, err := l.ledger.Claim(ctx, c)
	if err == nil {
		l.t.claimed(f, got.Intent)
		s.Set(stateOf(got.Intent))
	}
	s.End(failed(err, "not claimed"))
	return got, err
}

// Complete finds its delivery by the claim: deliveries share the context of their last words.
func (l tracedLedger) Complete(ctx context.Context, c intents.Claimed, r intents.Result) (intents.Intent, error) {
	f := l.t.flightFor(c.Intent.ClaimID)
	s := f.span().Child(tracing.Internal, "complete", time.Now(), verdictOf(r))
	in, err := l.ledger.Complete(ctx, c, r)
	if err == nil {
		s.Set(stateOf(in))
		f.span().Set(stateOf(in))
	}
	s.End(failed(err, "not written"))
	return in, err
}

// tracedMeter makes spans of the waits for a permit.
type tracedMeter struct{ relayer.Meter }

func (m tracedMeter) Took(ctx context.Context, s relayer.Stage, d time.Duration) {
	m.Meter.Took(ctx, s, d)
	if s == relayer.StageThrottle {
		flightOf(ctx).span().Child(tracing.Internal, "throttle wait", time.Now().Add(-d)).End("")
	}
}

// tracedWay makes spans of a way's calls. It stays what it is in everything else; one that is not ours is left alone.
func tracedWay(w way) way {
	switch w := w.(type) {
	case evmWay:
		return tracedEVM{w}
	case webhookWay:
		return tracedHook{w}
	}
	return w
}

type tracedEVM struct{ evmWay }

func (w tracedEVM) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	return submitted(ctx, w.evmWay, a)
}

type tracedHook struct{ webhookWay }

func (w tracedHook) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	return submitted(ctx, w.webhookWay, a)
}

// submitted submits, and makes a span of that. It ends also when the call panics.
func submitted(ctx context.Context, w way, a intents.Attempt) (r intents.Result) {
	s := flightOf(ctx).span().Child(tracing.Client, "submit", time.Now(), tracing.String("relayer.attempt", a.Name))
	fault := "panic"
	defer func() { s.End(fault) }()
	r = w.Submit(ctx, a)
	s.Set(verdictOf(r))
	fault = ""
	if r.Verdict == intents.Unknown {
		fault = "unknown outcome"
	}
	return r
}

func stateOf(in intents.Intent) tracing.Attr {
	return tracing.String("relayer.state", in.State.String())
}

func verdictOf(r intents.Result) tracing.Attr {
	return tracing.String("relayer.verdict", r.Verdict.String())
}

// failed is what a span says of an error. Its text may hold addresses, and is in the log.
func failed(err error, what string) string {
	if err == nil {
		return ""
	}
	return what
}
