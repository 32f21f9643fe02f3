package webhook_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer/webhook"
)

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		field string
		spoil func(*webhook.Config)
	}{
		{"key-retention", func(c *webhook.Config) { c.KeyRetention = 0 }},
		{"key-retention", func(c *webhook.Config) { c.KeyRetention = time.Hour }},
		{"key-retention", func(c *webhook.Config) { c.Idempotent = false }},
		{"url", func(c *webhook.Config) { c.URL = "" }},
		{"url", func(c *webhook.Config) { c.URL = "ftp://pay.example" }},
		{"url", func(c *webhook.Config) { c.URL = "http:///path" }},
		{"url", func(c *webhook.Config) { c.URL = "http://user:pw-SECRET@pay.example" }},
		{"url", func(c *webhook.Config) { c.URL = "http://pay.example/%zz-SECRET" }},
		{"url", func(c *webhook.Config) { c.URL = "http://pay.example/#SECRET" }},
		{"url", func(c *webhook.Config) { c.URL = "http://pay.example/" + strings.Repeat("SECRET", 500) }},
		{"lookup", func(c *webhook.Config) { c.Lookup = "http://pay.example/SECRET" }},
		{"lookup", func(c *webhook.Config) { c.Lookup = "http://{id}.pay.example/" }},
		{"headers", func(c *webhook.Config) { c.Headers = map[string]string{"idempotency-key": "SECRET"} }},
		{"headers", func(c *webhook.Config) { c.Headers = map[string]string{"X Y": "SECRET"} }},
		{"headers", func(c *webhook.Config) { c.Headers = map[string]string{"X": "SECRET\r\nY: Z"} }},
		{"allow", func(c *webhook.Config) { c.Allow = []string{"10.0.0.0/99"} }},
		{"timeout", func(c *webhook.Config) { c.Timeout = -1 }},
		{"max-conns", func(c *webhook.Config) { c.MaxConns = -1 }},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(tt.field, i), func(t *testing.T) {
			cfg := config(t, "http://pay.example")
			if err := cfg.Validate(); err != nil {
				t.Fatalf("before: %v", err)
			}
			tt.spoil(&cfg)
			_, err := webhook.New(cfg)
			if e, ok := errors.AsType[*intents.InvalidError](err); !ok || e.Field != tt.field {
				t.Errorf("New = %v, want an error that names %s", err, tt.field)
			}
			if err != nil && strings.Contains(err.Error(), "SECRET") {
				t.Errorf("case 111: %v", err)
			}
		})
	}
}

func TestConfigValidateNamesAll(t *testing.T) {
	t.Parallel()
	cfg := webhook.Config{URL: "x", Lookup: "y", Idempotent: true}
	err := cfg.Validate()
	for _, field := range []string{"url", "lookup", "key-retention"} {
		if err == nil || !strings.Contains(err.Error(), field+": ") {
			t.Errorf("Validate does not name %s: %v", field, err)
		}
	}
}
