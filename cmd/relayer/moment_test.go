package main

import (
	"testing"
	"time"
)

// Days are of 24 hours, and stand first.
func TestDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90d": 90 * 24 * time.Hour, "1d12h": 36 * time.Hour, "0d": 0, "1d1ms": 24*time.Hour + time.Millisecond, "90m": 90 * time.Minute, "65535d": 65535 * 24 * time.Hour,
	} {
		if got, err := duration(text); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"d", "1.5d", "-1d", "+1d", "12h1d", "1d2d", "1d-1h", "99999d", "1dd", " 1d", "1d x"} {
		var p past
		if err := p.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %v", text, p)
		}
	}
}
