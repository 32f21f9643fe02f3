package tracing_test

import (
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/internal/tracing"
)

// Without an endpoint, or where the SDK is disabled, there is no tracer; a protocol that is not spoken is told.
func TestOffUnlessAskedFor(t *testing.T) {
	const endpoint = "http://127.0.0.1:1"
	for _, c := range []struct {
		name    string
		env     map[string]string
		on, bad bool
	}{
		{name: "nothing"},
		{name: "others", env: map[string]string{"OTEL_SERVICE_NAME": "x", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": endpoint}},
		{name: "endpoint", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, on: true},
		{name: "traces", env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint + "/v1/traces"}, on: true},
		{name: "disabled", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SDK_DISABLED": "true"}},
		{name: "none", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_EXPORTER": "none"}},
		{name: "grpc", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, bad: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"ENDPOINT", "TRACES_ENDPOINT", "PROTOCOL", "TRACES_PROTOCOL"} {
				t.Setenv("OTEL_EXPORTER_OTLP_"+name, "")
			}
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			got, err := tracing.Start(t.Context(), "v1", "host-1", func(error) {})
			if (got != nil) != c.on || (err != nil) != c.bad {
				t.Fatalf("%v, %v", got, err)
			}
			if got != nil {
				_ = got.Close(t.Context())
			}
		})
	}
}

// A span that is not there takes every call.
func TestNoSpan(t *testing.T) {
	t.Parallel()
	var s *tracing.Span
	s.Set(tracing.String("a", "b"))
	s.Child(tracing.Client, "c", time.Time{}).End("d")
	if trace, span := s.IDs(); trace+span+s.Traceparent() != "" {
		t.Error("it has ids")
	}
}
