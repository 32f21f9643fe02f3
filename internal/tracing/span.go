package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Kind says on which side of a call a span stands.
type Kind = trace.SpanKind

// The kinds.
const (
	Internal = trace.SpanKindInternal
	Client   = trace.SpanKindClient
	Producer = trace.SpanKindProducer
	Consumer = trace.SpanKindConsumer
)

// Span is a step of an intent's way. A nil Span takes every call and does nothing. It may be used from anywhere.
type Span struct {
	tracer trace.Tracer
	ctx    context.Context // carries the span, for its children; never ends
	span   trace.Span
}

const header = "traceparent"

// Start begins a span at a time that may be past, below a traceparent; below none, or one that is no traceparent, it begins a
// trace.
func (t *Tracer) Start(parent string, kind Kind, name string, at time.Time, attrs ...Attr) *Span {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{header: parent})
	return begin(ctx, t.tracer, kind, name, at, attrs)
}

// Child begins a span below this one.
func (s *Span) Child(kind Kind, name string, at time.Time, attrs ...Attr) *Span {
	if s == nil {
		return nil
	}
	return begin(s.ctx, s.tracer, kind, name, at, attrs)
}

func begin(ctx context.Context, t trace.Tracer, kind Kind, name string, at time.Time, attrs []Attr) *Span {
	ctx, span := t.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(at), trace.WithAttributes(attrs...))
	return &Span{t, ctx, span}
}

// Set adds attributes.
func (s *Span) Set(attrs ...Attr) {
	if s != nil {
		s.span.SetAttributes(attrs...)
	}
}

// End ends the span now. failed says in a word what went wrong; empty: nothing.
func (s *Span) End(failed string) {
	if s == nil {
		return
	}
	if failed != "" {
		s.span.SetStatus(codes.Error, failed)
	}
	s.span.End()
}

// Traceparent is what others carry to stand below this span.
func (s *Span) Traceparent() string {
	if s == nil {
		return ""
	}
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(s.ctx, c)
	return c[header]
}

// IDs are those of trace and span, in hex.
func (s *Span) IDs() (traceID, spanID string) {
	if s == nil {
		return "", ""
	}
	c := s.span.SpanContext()
	return c.TraceID().String(), c.SpanID().String()
}
