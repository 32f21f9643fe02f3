package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// future is a flag's time: RFC 3339, or how long from now ("10m").
type future struct{ time.Time }

// UnmarshalText reads the flag.
func (f *future) UnmarshalText(text []byte) (err error) {
	f.Time, err = moment(string(text), 1, `an RFC 3339 time, or a time from now such as "10m" or "7d"`)
	return err
}

// past is a flag's time: RFC 3339, or how long ago ("1h").
type past struct{ time.Time }

// UnmarshalText reads the flag.
func (p *past) UnmarshalText(text []byte) (err error) {
	p.Time, err = moment(string(text), -1, `an RFC 3339 time, or how long ago, such as "1h" or "90d"`)
	return err
}

func moment(text string, sign time.Duration, want string) (time.Time, error) {
	if d, err := duration(text); err == nil && d >= 0 && !strings.HasPrefix(text, "+") {
		return time.Now().Add(sign * d).UTC().Truncate(time.Microsecond), nil
	}
	var t time.Time
	if err := t.UnmarshalText([]byte(text)); err != nil {
		return t, &intents.InvalidError{Field: "time", Value: text, Want: want}
	}
	return t.UTC().Truncate(time.Microsecond), nil
}

// duration reads a duration that may begin with days of 24 hours: "90d", "1d12h".
func duration(text string) (time.Duration, error) {
	count, rest, found := strings.Cut(text, "d")
	if !found {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseUint(count, 10, 16) // of any more than these time.Duration has not enough
	if err != nil {
		return 0, err
	}
	if rest == "" {
		rest = "0"
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return d, err
	}
	return time.Duration(days)*24*time.Hour + d, nil
}
