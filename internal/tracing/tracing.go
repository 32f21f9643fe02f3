// Package tracing sends spans to an OpenTelemetry collector over OTLP/HTTP, where the environment names one.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/nsqrelayer/relayer"

// Tracer makes spans. They are sent in the background; what a collector does not take in time is dropped, never waited for.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Start reads the OTEL_ variables. The tracer is nil, and nothing of it runs, unless OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set. The collector is not asked yet. Report hears when it
// cannot be reached later.
func Start(ctx context.Context, version, instance string, report func(error)) (*Tracer, error) {
	if !wanted() {
		return nil, nil
	}
	if p := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not spoken here, only http/protobuf", p)
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	res, err := resource.New(ctx, resource.WithAttributes(String("service.name", "relayer"), String("service.version", version),
		String("service.instance.id", instance)), resource.WithFromEnv())
	if err != nil {
		return nil, errors.Join(err, exporter.Shutdown(ctx))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(report))
	p := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(res))
	return &Tracer{p, p.Tracer(scope)}, nil
}

// Close sends what is left, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

func wanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") != ""
}

// first is the first variable that is set.
func first(names ...string) string {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// Attr is an attribute of a span.
type Attr = attribute.KeyValue

// String is an attribute with a text.
func String(key, value string) Attr { return attribute.String(key, value) }
