package webhook_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// TestSubmitReused: a connection from the pool dies after the call was written. net/http would send a call with an
// Idempotency-Key header again by itself if it could rewind the body.
func TestSubmitReused(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var calls, conns atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			go answerOnce(c, &calls)
		}
	}()
	s := open(t, config(t, "http://"+l.Addr().String()))
	if r := s.Submit(t.Context(), prepared(t, s, 0)); r.Verdict != intents.Accepted {
		t.Fatalf("first Submit = %v: %s", r.Verdict, r.Evidence)
	}
	if r := s.Submit(t.Context(), prepared(t, s, 1)); r.Verdict != intents.Unknown {
		t.Errorf("Submit on a connection that died = %v, want unknown: %s", r.Verdict, r.Evidence)
	}
	if calls.Load() != 2 || conns.Load() != 1 {
		t.Errorf("%d calls on %d connections, want 2 on 1: the second must neither be repeated nor redialed", calls.Load(), conns.Load())
	}
}

// answerOnce answers the first call of a connection and hangs up on the second.
func answerOnce(c net.Conn, calls *atomic.Int32) {
	defer c.Close()
	in := bufio.NewReader(c)
	for n := 0; ; n++ {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := fmt.Fscan(req.Body, new(string)); err != nil { // the body is one word up to its end
			return
		}
		calls.Add(1)
		if n > 0 {
			return
		}
		fmt.Fprint(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
	}
}

// TestSubmitRedirect is case 99: redirects are not followed, whatever their code.
func TestSubmitRedirect(t *testing.T) {
	t.Parallel()
	var landed atomic.Int32
	other := says(t, func(w http.ResponseWriter, _ *http.Request) {
		landed.Add(1)
		fmt.Fprint(w, `{"id":"pi_0000","status":"done"}`)
	})
	for _, code := range []int{301, 302, 303, 307, 308} {
		s := open(t, config(t, says(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other+"/landing-SECRET", code)
		})))
		r := s.Submit(t.Context(), prepared(t, s, 0))
		if r.Verdict != intents.Unknown {
			t.Errorf("case 99: %d = %v, want unknown", code, r.Verdict)
		}
		if e := evidence(t, r.Evidence); "http://"+e.Location != other || strings.Contains(string(r.Evidence), "landing") && e.Answer == "" {
			t.Errorf("case 99: evidence %s, want the host of the redirect", r.Evidence)
		}
	}
	if n := landed.Load(); n != 0 {
		t.Errorf("case 99: %d calls landed at the other host", n)
	}
}

// TestSubmitSlow is case 101: answers without end.
func TestSubmitSlow(t *testing.T) {
	t.Parallel()
	drip := func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for r.Context().Err() == nil {
			fmt.Fprint(w, " ")
			w.(http.Flusher).Flush()
			<-tick.C
		}
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    intents.Verdict
		status  int
	}{
		{"a huge body", func(w http.ResponseWriter, r *http.Request) {
			block := []byte(strings.Repeat("x", 1<<16))
			for r.Context().Err() == nil {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, intents.Unknown, 200},
		{"a dripping body", drip, intents.Unknown, 200},
		{"a dripping body after 202", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(202); drip(w, r) }, intents.Accepted, 202},
		{"1xx without end", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				w.Header().Set("Link", strings.Repeat("l", 4096))
				w.WriteHeader(http.StatusEarlyHints)
			}
		}, intents.Unknown, 0},
		{"headers above 64 KiB", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("h", 80<<10))
			fmt.Fprint(w, `{"id":"pi_0000"}`)
		}, intents.Unknown, 0},
		{"a gzip body nobody asked for", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "" {
				t.Error("case 101: we ask for compression")
			}
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "\x1f\x8b\x08 bomb")
		}, intents.Unknown, 200},
	}
	for _, tt := range tests {
		t.Run("case 101: "+tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, says(t, tt.handler))
			cfg.Timeout = 5 * time.Second
			s := open(t, cfg)
			r := s.Submit(t.Context(), prepared(t, s, 0))
			if e := evidence(t, r.Evidence); r.Verdict != tt.want || e.Status != tt.status || len(r.Evidence) > 4096 {
				t.Errorf("%v with %d bytes of evidence, want %v: %s", r.Verdict, len(r.Evidence), tt.want, r.Evidence)
			}
		})
	}
}

// TestSubmitNotSent is cases 91 and 93: names that do not resolve, handshakes that fail.
func TestSubmitNotSent(t *testing.T) {
	t.Parallel()
	plain := says(t, func(http.ResponseWriter, *http.Request) { t.Error("a call arrived") })
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a call arrived") }))
	secure.Config.ErrorLog = nil
	t.Cleanup(secure.Close)
	for name, base := range map[string]string{
		"case 91: no such name":              "http://nothing.invalid",
		"case 93: TLS with an unknown CA":    secure.URL,
		"case 93: TLS with a plain listener": "https" + strings.TrimPrefix(plain, "http"),
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, config(t, base))
			r := s.Submit(t.Context(), prepared(t, s, 0))
			if e := evidence(t, r.Evidence); r.Verdict != intents.NotSent || e.Wrote || e.Error == "" {
				t.Errorf("%v, want not_sent with the error: %s", r.Verdict, r.Evidence)
			}
		})
	}
}
