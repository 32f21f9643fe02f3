package wire

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	const most = 5 * time.Minute
	for value, want := range map[string]time.Duration{ // case 58
		"":                        0,
		"7":                       7 * time.Second,
		" 7 ":                     7 * time.Second,
		"3600":                    most,
		"9999999999":              most,
		"99999999999999999999":    most,
		"-5":                      0,
		"1.5":                     0,
		"abc":                     0,
		httpDate(now, 30):         30 * time.Second,
		httpDate(now, -30):        0,
		httpDate(now, 10*31536e3): most,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {value}}, now, most); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
}

func httpDate(now time.Time, seconds int) string {
	return now.Add(time.Duration(seconds) * time.Second).Format(http.TimeFormat)
}

// The other clock is an hour off: the date is taken relative to the answer's own.
func TestRetryAfterTrustsTheOtherClockOnlyAgainstItself(t *testing.T) {
	ours := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	theirs := ours.Add(-time.Hour)
	h := http.Header{"Retry-After": {httpDate(theirs, 30)}, "Date": {httpDate(theirs, 0)}}
	if got := RetryAfter(h, ours, time.Minute); got != 30*time.Second {
		t.Errorf("got %s, want 30s", got)
	}
}

// call makes one call and tells how far it got.
func call(ctx context.Context, url string) *Trace {
	ctx, trace := Watch(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		panic(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if resp, err := client.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return trace
}

func TestWatch(t *testing.T) {
	answers := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer answers.Close()
	hangsUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer hangsUp.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + l.Addr().String()
	l.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name            string
		ctx             context.Context
		url             string
		wrote, answered bool
	}{
		{"answered", t.Context(), answers.URL, true, true},
		{"hung up", t.Context(), hangsUp.URL, true, false},
		{"nobody listens", t.Context(), dead, false, false},
		{"over before it began", over, answers.URL, false, false},
	} {
		trace := call(tt.ctx, tt.url)
		if trace.Wrote.Load() != tt.wrote || trace.Answered.Load() != tt.answered {
			t.Errorf("%s: wrote %v, answered %v", tt.name, trace.Wrote.Load(), trace.Answered.Load())
		}
	}
}
