package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/nsqrelayer/relayer/intents"
)

// ear is a collector that keeps what it is told.
type ear struct {
	t     *testing.T
	url   string
	calls atomic.Int64

	mu    sync.Mutex
	spans []*otlp.Span
}

func newEar(t *testing.T) *ear {
	t.Helper()
	e := &ear{t: t}
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	e.url = s.URL
	return e
}

func (e *ear) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.calls.Add(1)
	body, err := io.ReadAll(r.Body)
	var m collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &m)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		e.t.Errorf("%s: %v", r.URL.Path, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, resource := range m.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			e.spans = append(e.spans, scope.Spans...)
		}
	}
}

// of gives the spans of a name in a trace.
func (e *ear) of(trace, name string) (found []*otlp.Span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.spans {
		if s.Name == name && hex.EncodeToString(s.TraceId) == trace {
			found = append(found, s)
		}
	}
	return found
}

// one waits for the only span of a name in a trace, and wants it below a parent, of a kind, with attributes.
func (e *ear) one(trace, name, parent string, kind otlp.Span_SpanKind, attrs ...string) *otlp.Span {
	e.t.Helper()
	until(e.t, "a span "+name+" of trace "+trace, func() bool { return len(e.of(trace, name)) > 0 })
	s := e.of(trace, name)[0]
	if got := hex.EncodeToString(s.ParentSpanId); got != parent {
		e.t.Errorf("%s is below %q, want %q", name, got, parent)
	}
	if s.Kind != kind {
		e.t.Errorf("%s is %s, want %s", name, s.Kind, kind)
	}
	for _, want := range attrs {
		key, value, _ := strings.Cut(want, "=")
		if got := attribute(s, key); got != value {
			e.t.Errorf("%s: %s is %q, want %q", name, key, got, value)
		}
	}
	return s
}

func attribute(s *otlp.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

func (e *ear) env(more ...string) []string {
	return append(more, "OTEL_EXPORTER_OTLP_ENDPOINT="+e.url, "OTEL_BSP_SCHEDULE_DELAY=100")
}

// below wants the steps of one payment below the span of its delivery.
func (e *ear) below(trace, parent string, in intents.Intent) {
	e.t.Helper()
	p := e.one(trace, "process intents."+in.Route, parent, otlp.Span_SPAN_KIND_CONSUMER, "messaging.system=nsq",
		"messaging.destination.name=intents."+in.Route, "messaging.consumer.group.name=relayer", "relayer.intent="+in.ID, "relayer.route="+in.Route)
	if attribute(p, "messaging.message.id") == "" {
		e.t.Error("no message id")
	}
	id := hex.EncodeToString(p.SpanId)
	for _, name := range []string{"take", "throttle wait", "claim", "complete"} {
		e.one(trace, name, id, otlp.Span_SPAN_KIND_INTERNAL)
	}
	s := e.one(trace, "submit", id, otlp.Span_SPAN_KIND_CLIENT)
	if attribute(s, "relayer.attempt") == "" {
		e.t.Error("no name of the attempt")
	}
	if s.StartTimeUnixNano < p.StartTimeUnixNano || s.EndTimeUnixNano > p.EndTimeUnixNano {
		e.t.Error("the send is not within its delivery")
	}
}

// A trace given with an intent goes on through submit and the worker: on a chain, and to a webhook, several at a time. No two
// deliveries mix, though they share the context in which results are written.
func TestTraceGoesThrough(t *testing.T) {
	t.Parallel()
	w, e := newWorld(t, ""), newEar(t)
	p := w.startIn(e.env(), "run")
	const parent = "b7ad6b7169203331"
	ins := append(ofRoute("webhooks", "traced", 8), ofRoute("payouts", "traced", 2)...)
	for _, route := range []string{"webhooks", "payouts"} {
		var lines []byte
		for i := range ins {
			if ins[i].Route == route {
				ins[i].Traceparent = "00-" + traceOf(i) + "-" + parent + "-01"
				line, err := intents.Encode(ins[i])
				w.must(err)
				lines = append(append(lines, line...), '\n')
			}
		}
		file := filepath.Join(t.TempDir(), "in.ndjson")
		w.must(os.WriteFile(file, lines, 0o600))
		w.startIn(e.env(), "submit", "--route", route, "-f", file).exits(exitOK)
	}
	w.settles(ins)
	for i, in := range ins {
		e.one(traceOf(i), "create", parent, otlp.Span_SPAN_KIND_INTERNAL, "relayer.intent="+in.ID)
		e.one(traceOf(i), "publish intents."+in.Route, parent, otlp.Span_SPAN_KIND_PRODUCER, "messaging.system=nsq")
		e.below(traceOf(i), parent, in)
	}
	p.drains()
	p.says(`"trace_id":"`+traceOf(0)+`"`, 1)
	w.once(ins)
}

func traceOf(i int) string { return fmt.Sprintf("%032x", i+1) }

// An intent that comes without one gets the trace of its creation over the API, which is that of the request where it has one.
func TestTraceBeginsAtCreation(t *testing.T) {
	t.Parallel()
	w, e := newWorld(t, ""), newEar(t)
	p := w.startIn(e.env(), "run", "--http-address", "127.0.0.1:0")
	in := ofRoute("webhooks", "begun", 1)[0]
	w.ask(p, in, "00-"+traceOf(7)+"-b7ad6b7169203331-01")
	c := e.one(traceOf(7), "create", "b7ad6b7169203331", otlp.Span_SPAN_KIND_INTERNAL)
	id := hex.EncodeToString(c.SpanId)
	stored, err := w.store.Get(t.Context(), in.ID)
	w.must(err)
	if want := "00-" + traceOf(7) + "-" + id + "-01"; stored.Traceparent != want {
		t.Errorf("stored %q, want %q", stored.Traceparent, want)
	}
	w.settles([]intents.Intent{in})
	e.one(traceOf(7), "publish intents.webhooks", id, otlp.Span_SPAN_KIND_PRODUCER)
	e.below(traceOf(7), id, in)
	p.drains()
}

// ask creates an intent over a program's API.
func (w *world) ask(p *program, in intents.Intent, traceparent string) {
	w.t.Helper()
	url := "http://" + p.address() + "/v1/intents"
	body := fmt.Sprintf(`{"route":%q,"account":%q,"destination":%q,"asset":%q,"amount":%q}`, in.Route, in.Account, in.Destination, in.Asset, in.Amount)
	until(w.t, "the API answers", func() bool {
		r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, url, strings.NewReader(body))
		w.must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", in.ID)
		r.Header.Set("traceparent", traceparent)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		if text, _ := io.ReadAll(resp.Body); resp.StatusCode >= 400 {
			w.t.Fatalf("%s: %s", resp.Status, text)
		}
		return true
	})
}

// Where traces are off nobody is called, and nothing is made up for the row. A collector that does not answer, or a protocol
// that is not spoken, stops no payment.
func TestTracesAreInNobodysWay(t *testing.T) {
	t.Parallel()
	w, e := newWorld(t, ""), newEar(t)
	var all []intents.Intent
	for i, env := range [][]string{
		e.env("OTEL_SDK_DISABLED=true"),
		e.env("OTEL_EXPORTER_OTLP_PROTOCOL=grpc"),
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"},
	} {
		p := w.startIn(env, "run", "--http-address", "127.0.0.1:0")
		in := ofRoute("webhooks", fmt.Sprint("off", i), 1)[0]
		all = append(all, in)
		w.ask(p, in, "")
		w.settles(all)
		stored, err := w.store.Get(t.Context(), in.ID)
		w.must(err)
		if on := i == 2; (stored.Traceparent != "") != on {
			t.Errorf("%v: traceparent %q", env, stored.Traceparent)
		}
		p.drains()
	}
	if n := e.calls.Load(); n != 0 {
		t.Errorf("%d calls", n)
	}
	w.once(all)
}
