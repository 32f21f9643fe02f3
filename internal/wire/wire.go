// Package wire is what senders over HTTP have in common: how far a call got, and for how long the other side asks to be
// left alone.
package wire

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Trace sees how far a call got.
type Trace struct {
	Wrote    atomic.Bool // a byte of the call may have been written
	Answered atomic.Bool // a byte of the answer came
}

// Watch adds a trace to ctx. Wrote turns true with the first header field, host, which net/http puts into a 4 KiB buffer
// behind the request line: until then nothing has reached the connection, as long as the request line is shorter. It
// errs to the safe side, the buffer may never be flushed.
func Watch(ctx context.Context) (context.Context, *Trace) {
	var t Trace
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaderField:     func(string, []string) { t.Wrote.Store(true) },
		GotFirstResponseByte: func() { t.Answered.Store(true) },
	}), &t
}

// RetryAfter reads the header of that name: seconds, or a date that is taken relative to the answer's own Date, so that
// the other clock may be wrong; now is for answers without one. At most most; what is past or makes no sense is 0.
func RetryAfter(h http.Header, now time.Time, most time.Duration) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v != "" && strings.Trim(v, "0123456789") == "" {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil { // out of range
			return most
		}
		return min(time.Duration(n)*time.Second, most)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), most)
}
