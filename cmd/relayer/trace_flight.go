package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/tracing"
)

// flight is one delivery as its trace sees it. What it belongs to is known once the intent is read: only then its span begins,
// with the time of the delivery. A nil flight has no span.
type flight struct {
	t     *traces
	began time.Time
	name  string
	attrs []tracing.Attr
	claim string // known to the delivery's own goroutine
	up    atomic.Pointer[tracing.Span]
}

type flightKey struct{}

// flight begins a delivery.
func (t *traces) flight(route, message string) *flight {
	f := &flight{t: t, began: time.Now()}
	var topic, channel string
	if r, err := t.cfg.Route(route); err == nil {
		topic, channel = r.Topic, r.Channel
	}
	f.name = "process " + topic
	f.attrs = append(messaging(topic, "process"), tracing.String("messaging.message.id", message),
		tracing.String("messaging.consumer.group.name", channel), tracing.String("relayer.route", route))
	return f
}

// messaging is what OpenTelemetry's conventions want to be said of a message.
func messaging(topic, operation string) []tracing.Attr {
	return []tracing.Attr{tracing.String("messaging.system", "nsq"), tracing.String("messaging.destination.name", topic),
		tracing.String("messaging.operation.name", operation)}
}

func (f *flight) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, flightKey{}, f)
}

// flightOf is the delivery that a context belongs to, or nil.
func flightOf(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	return f
}

// open begins the span, below the intent's traceparent, unless that is done.
func (f *flight) open(in intents.Intent) {
	if f.span() != nil {
		return
	}
	s := f.t.tracer.Start(in.Traceparent, tracing.Consumer, f.name, f.began, f.attrs...)
	s.Set(tracing.String("relayer.intent", in.ID), stateOf(in))
	f.up.Store(s)
}

func (f *flight) span() *tracing.Span {
	if f == nil {
		return nil
	}
	return f.up.Load()
}

// claimed lets a claim's result find its delivery.
func (t *traces) claimed(f *flight, in intents.Intent) {
	if f == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.flights, f.claim)
	f.claim = in.ClaimID
	t.flights[f.claim] = f
}

func (t *traces) flightFor(claim string) *flight {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flights[claim]
}

// land ends a delivery. One whose intent nobody could read has a trace of its own.
func (t *traces) land(f *flight) {
	t.mu.Lock()
	delete(t.flights, f.claim)
	t.mu.Unlock()
	s := f.span()
	if s == nil {
		s = t.tracer.Start("", tracing.Consumer, f.name, f.began, f.attrs...)
	}
	s.End("")
}

// logger has the lines of a delivery carry the ids of its trace.
func (t *traces) logger(log *slog.Logger) *slog.Logger {
	if t == nil {
		return log
	}
	return slog.New(tracedLog{log.Handler()})
}

type tracedLog struct{ slog.Handler }

func (l tracedLog) Handle(ctx context.Context, r slog.Record) error {
	if s := flightOf(ctx).span(); s != nil {
		trace, span := s.IDs()
		r.AddAttrs(slog.String("trace_id", trace), slog.String("span_id", span))
	}
	return l.Handler.Handle(ctx, r)
}

func (l tracedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracedLog{l.Handler.WithAttrs(attrs)}
}

func (l tracedLog) WithGroup(name string) slog.Handler { return tracedLog{l.Handler.WithGroup(name)} }
