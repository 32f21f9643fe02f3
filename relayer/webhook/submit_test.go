package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// says is a server that gives one answer to everything.
func says(t *testing.T, h http.HandlerFunc) string {
	srv := httptest.NewServer(h)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

type told struct {
	Call, Location, Answer, Error, Note string
	Status                              int
	Wrote, Answered                     bool
}

func evidence(t *testing.T, b []byte) (e told) {
	t.Helper()
	if err := json.Unmarshal(b, &e); err != nil {
		t.Fatalf("evidence %q: %v", b, err)
	}
	return e
}

func TestSubmitVerdict(t *testing.T) {
	t.Parallel()
	const id = `"id":"pi_0000"`
	const (
		unknown  = intents.Unknown
		accepted = intents.Accepted
		done     = intents.Done
		notSent  = intents.NotSent
		declined = intents.Declined
	)
	tests := []struct {
		name   string
		status int
		body   string
		want   intents.Verdict
		ref    string
	}{
		{"done with a reference", 200, `{` + id + `,"reference":"p-9","status":"Paid"}`, done, "p-9"},
		{"done without a word", 201, `{` + id + `}`, done, "pi_0000"},
		{"still pending", 200, `{` + id + `,"reference":"p-9","status":"processing"}`, accepted, "p-9"},
		{"a word we do not know", 200, `{` + id + `,"status":"on_hold"}`, unknown, ""},
		{"case 94: 200 failed", 200, `{"status":"failed","error":"limit"}`, declined, ""},
		{"case 94: 200 failed with our id", 200, `{` + id + `,"status":"declined"}`, declined, ""},
		{"case 94: 200 failed with another id", 200, `{"id":"pi_9999","status":"failed"}`, unknown, ""},
		{"case 94: 200 {}", 200, `{}`, unknown, ""},
		{"case 94: 200 non-JSON", 200, `OK`, unknown, ""},
		{"case 94: 200 empty", 200, ``, unknown, ""},
		{"case 94: 202", 202, `{"id":"p1"}`, accepted, "p1"},
		{"case 94: 202 empty", 202, ``, accepted, ""},
		{"case 94: 204", 204, ``, unknown, ""},
		{"case 94: 207", 207, `{` + id + `}`, unknown, ""},
		{"case 94: 200 with another's id", 200, `{"id":"pi_00001","status":"done"}`, unknown, ""},
		{"case 94: 200 with a number as id", 200, `{"id":1}`, unknown, ""},
		{"200 with bytes behind the object", 200, `{` + id + `} {}`, unknown, ""},
		{"200 with a list", 200, `[{` + id + `}]`, unknown, ""},
		{"case 95: 409 conflict", 409, `{"error":"idempotency_conflict"}`, unknown, ""},
		{"case 95: 409 in progress", 409, `{"error":"in_progress"}`, unknown, ""},
		{"case 95: 422 other body", 422, `key reused with different body`, unknown, ""},
		{"case 95: 400 other body", 400, `{"type":"idempotency_error"}`, unknown, ""},
		{"422", 422, `{"error":"account closed"}`, declined, ""},
		{"400", 400, `{"error":"amount too small"}`, declined, ""},
		{"400 of a gateway", 400, `<html>The plain HTTP request was sent to HTTPS port</html>`, unknown, ""},
		{"401", 401, ``, notSent, ""}, {"403", 403, ``, notSent, ""}, {"404", 404, ``, notSent, ""},
		{"405", 405, ``, notSent, ""}, {"407", 407, ``, notSent, ""}, {"413", 413, ``, notSent, ""},
		{"415", 415, ``, notSent, ""}, {"429", 429, ``, notSent, ""},
		{"402 declined", 402, `{` + id + `,"status":"declined"}`, declined, ""}, {"402 unclear", 402, `{}`, unknown, ""},
		{"402 of another", 402, `{"id":"pi_1","status":"declined"}`, unknown, ""},
		{"case 95: 422 in other words", 422, `{"error":"this idempotency key was used with another body"}`, unknown, ""},
		{"408", 408, ``, unknown, ""}, {"425", 425, ``, unknown, ""}, {"499", 499, ``, unknown, ""},
		{"case 102: 500", 500, `{` + id + `,"status":"failed"}`, unknown, ""},
		{"case 102: 502", 502, `<html>`, unknown, ""}, {"case 102: 503", 503, ``, unknown, ""}, {"case 102: 504", 504, ``, unknown, ""},
		{"304", 304, ``, unknown, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, config(t, says(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			})))
			r := s.Submit(t.Context(), prepared(t, s, 0))
			if r.Verdict != tt.want || r.Ref != tt.ref {
				t.Errorf("%d %s: %v, ref %q; want %v, ref %q", tt.status, tt.body, r.Verdict, r.Ref, tt.want, tt.ref)
			}
			if e := evidence(t, r.Evidence); e.Status != tt.status || !e.Wrote || !e.Answered {
				t.Errorf("evidence %s, want status %d, wrote and answered", r.Evidence, tt.status)
			}
		})
	}
}

// TestSubmitRetryAfter is case 58.
func TestSubmitRetryAfter(t *testing.T) {
	t.Parallel()
	hourAhead := time.Now().Add(time.Hour).UTC()
	tests := []struct {
		status      int
		after, date string
		want        time.Duration
	}{
		{429, "7", "", 7 * time.Second},
		{429, "", "", time.Second},
		{429, "3600", "", 5 * time.Minute},
		{429, "9999999999", "", 5 * time.Minute},
		{429, "-5", "", time.Second},
		{429, "abc", "", time.Second},
		{429, "1.5", "", time.Second},
		{429, hourAhead.Add(30 * time.Second).Format(http.TimeFormat), hourAhead.Format(http.TimeFormat), 30 * time.Second},
		{429, time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), "", time.Second},
		{429, time.Now().AddDate(10, 0, 0).UTC().Format(http.TimeFormat), "", 5 * time.Minute},
		{503, "30", "", 30 * time.Second},
		{503, "", "", 0},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("case 58: %d %s", tt.status, tt.after), func(t *testing.T) {
			s := open(t, config(t, says(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", tt.after)
				if tt.date != "" {
					w.Header().Set("Date", tt.date)
				}
				w.WriteHeader(tt.status)
			})))
			if r := s.Submit(t.Context(), prepared(t, s, 0)); r.Calm != tt.want || r.After != tt.want {
				t.Errorf("calm %v, after %v; want %v", r.Calm, r.After, tt.want)
			}
		})
	}
}

// TestSubmitElsewhere: bytes made for one provider never go to another.
func TestSubmitElsewhere(t *testing.T) {
	t.Parallel()
	old := open(t, config(t, "http://old.example"))
	s := open(t, config(t, says(t, func(http.ResponseWriter, *http.Request) { t.Error("a call arrived") })))
	r := s.Submit(t.Context(), prepared(t, old, 0))
	if e := evidence(t, r.Evidence); r.Verdict != intents.NotSent || !strings.Contains(e.Note, "old.example") {
		t.Errorf("%v, want not_sent: %s", r.Verdict, r.Evidence)
	}
}

// TestSubmitSecrets is case 111: what an answer repeats of our secrets is not kept.
func TestSubmitSecrets(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, says(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != bearer {
			t.Error("the call came without its authorization")
		}
		http.Error(w, "no entry for "+r.Header.Get("Authorization")+" at "+r.URL.String()+"\x00\xff", http.StatusForbidden)
	})))
	r := s.Submit(t.Context(), prepared(t, s, 0))
	if e := evidence(t, r.Evidence); strings.Contains(string(r.Evidence), "SECRET") || !strings.HasPrefix(e.Answer, "no entry for [hidden] at /v1/[hidden]") {
		t.Errorf("case 111: evidence %s", r.Evidence)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := s.Submit(ctx, prepared(t, s, 0)); strings.Contains(string(r.Evidence), "SECRET") {
		t.Errorf("case 111: evidence %s", r.Evidence)
	}
}
