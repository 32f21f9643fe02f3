package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer/webhook"
)

func watch(t *testing.T, s *webhook.Sender, n int) intents.Watch {
	a := prepared(t, s, n)
	in := payment(n)
	in.State, in.Slot, in.Stored, in.Seen = intents.Confirming, a.Slot, 1, true
	return intents.Watch{Intent: in, Slot: a.Slot, Attempts: []intents.Attempt{a}}
}

func TestObserveFact(t *testing.T) {
	t.Parallel()
	const id = `{"id":"pi_0001","reference":"r1","status":`
	tests := []struct {
		name   string
		status int
		body   string
		want   intents.Fact
		ref    string
	}{
		{"done", 200, id + `"settled"}`, intents.Final, "r1"},
		{"pending", 200, id + `"processing"}`, intents.Pending, "r1"},
		{"no word", 200, `{"id":"pi_0001"}`, intents.Pending, "pi_0001"},
		{"failed", 200, id + `"failed"}`, intents.Reverted, "r1"},
		{"a word we do not know", 200, id + `"on_hold"}`, intents.NotSeen, ""},
		{"case 103: not found is no proof", 404, `{}`, intents.NotSeen, ""},
		{"case 103: a longer id", 200, `[{"id":"pi_00010","status":"done"}]`, intents.NotSeen, ""},
		{"case 103: rejected and pending", 200, `[` + id + `"rejected"},` + id + `"pending"}]`, intents.Pending, "r1"},
		{"case 103: pending and rejected", 200, `{"data":[` + id + `"pending"},` + id + `"rejected"}]}`, intents.Pending, "r1"},
		{"case 103: rejected, and more pages", 200, `{"data":[` + id + `"rejected"}],"has_more":true}`, intents.NotSeen, ""},
		{"case 103: rejected and unreadable", 200, `[` + id + `"rejected"},` + id + `"limbo"}]`, intents.NotSeen, ""},
		{"case 103: rejected and paid", 200, `[` + id + `"rejected"},` + id + `"paid"}]`, intents.Final, "r1"},
		{"no JSON", 200, `paid`, intents.NotSeen, ""},
		{"empty list", 200, `[]`, intents.NotSeen, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, config(t, says(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/pi_0001") || r.Header.Get("Authorization") != bearer {
					t.Errorf("lookup is %s %s", r.Method, r.URL)
				}
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})))
			os, err := s.Observe(t.Context(), []intents.Watch{watch(t, s, 1)})
			if err != nil {
				t.Fatal(err)
			}
			if os[0].Fact != tt.want || os[0].Ref != tt.ref || os[0].No != 1 {
				t.Errorf("%s: %v, ref %q, no %d; want %v, ref %q", tt.body, os[0].Fact, os[0].Ref, os[0].No, tt.want, tt.ref)
			}
		})
	}
}

// TestObserveSome: one lookup that fails does not hide the others; when all do, nothing was observed.
func TestObserveSome(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, says(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/pi_0001") {
			w.Header().Set("Retry-After", "9")
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `{"id":"pi_0002","status":"done"}`)
	})))
	os, err := s.Observe(t.Context(), []intents.Watch{watch(t, s, 1), watch(t, s, 2)})
	if err != nil || os[0].Fact != intents.NotSeen || os[0].After != 9*time.Second || os[1].Fact != intents.Final {
		t.Errorf("Observe = %+v, %v; want not seen for 9s, and settled", os, err)
	}
	if os, err := s.Observe(t.Context(), []intents.Watch{watch(t, s, 1)}); err == nil {
		t.Errorf("Observe with every lookup failed = %+v, want an error", os)
	}
}

func TestObserveWithoutLookup(t *testing.T) {
	t.Parallel()
	cfg := config(t, says(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("a call: %s", r.Method) }))
	cfg.Lookup = ""
	s := open(t, cfg)
	os, err := s.Observe(t.Context(), []intents.Watch{watch(t, s, 1)})
	if err != nil || len(os) != 1 || os[0].Fact != intents.NotSeen {
		t.Errorf("Observe = %+v, %v; want not seen", os, err)
	}
}
