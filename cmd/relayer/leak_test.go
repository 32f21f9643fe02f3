package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bearer answers every call as a provider that repeats what it was told, and refuses.
func bearer(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusUnauthorized)
	fmt.Fprintf(w, "bad credentials %s for %s", r.Header.Get("Authorization"), r.URL)
}

// badURLs are places that go wrong in ways of their own, by name, each with keys in path and query.
func badURLs(t *testing.T) map[string]string {
	t.Helper()
	quiet := make(chan struct{})
	refusing := httptest.NewServer(http.HandlerFunc(bearer))
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-quiet:
		case <-r.Context().Done():
		}
	}))
	tls := httptest.NewUnstartedServer(http.HandlerFunc(bearer))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	panicking := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(func() { close(quiet); refusing.Close(); hanging.Close(); tls.Close(); panicking.Close() })
	all := map[string]string{"401": refusing.URL, "timeout": hanging.URL, "TLS": tls.URL, "cut off": panicking.URL, "DNS": "http://nowhere.invalid"}
	for name, url := range all {
		all[name] = url + "/v2/SECRETKEY?apikey=SECRET2"
	}
	return all
}

// Case 111: whichever way a node and a provider fail, the keys in their URLs and the bearer value
// stand in no log, no metric, no probe and no timeline. (Passwords of databases: testdata/script/secrets.txt.)
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	headers := filepath.Join(w.dir, "headers")
	w.must(os.WriteFile(headers, []byte("Authorization: Bearer SECRETBEARER\n"), 0o600))
	n := 0
	for name, url := range badURLs(t) {
		n++
		t.Run(name, func(t *testing.T) { w.leaks(t, fmt.Sprintf("leak%d", n), url, headers) })
	}
}

// leaks runs a process whose node and provider are at url, until both have failed, and looks at everything it shows.
func (w *world) leaks(t *testing.T, id, url, headers string) {
	env := []string{
		"RELAYER_ROUTES_PAYOUTS_RPC_URL=" + url, "RELAYER_ROUTES_WEBHOOKS_URL=" + url, "RELAYER_ROUTES_WEBHOOKS_HEADERS_FILE=" + headers,
		"RELAYER_ROUTES_PAYOUTS_SUBMIT_TIMEOUT=1s", "RELAYER_ROUTES_WEBHOOKS_SUBMIT_TIMEOUT=1s",
	}
	p := w.startIn(env, "run", "--http-address", "127.0.0.1:0", "--log-level", "debug")
	in := demoIntents(id, 2)[1]
	w.publish(demoIntents(id, 2)[1:])
	until(t, "the node has failed", func() bool { return p.saidOf("payouts", "sender cannot be opened yet") > 0 })
	var timeline strings.Builder
	until(t, "a call has come to something", func() bool {
		timeline.Reset()
		events, err := w.store.Events(t.Context(), in.ID)
		evidence := 0
		for _, e := range events {
			evidence += len(e.Detail)
			fmt.Fprintf(&timeline, "%+v %s\n", e, e.Detail)
		}
		return err == nil && evidence > 0
	})
	address := "http://" + p.address()
	shown := map[string]string{"the log": p.stderr.String(), "stdout": p.stdout.String(), "metrics": get(t, address+"/metrics"), "the timeline": timeline.String()}
	client := &http.Client{Timeout: time.Minute}
	if resp, err := client.Get(address + "/readyz?verbose"); err == nil {
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		shown["readyz"] = string(body)
	}
	for where, text := range shown {
		if strings.Contains(text, "SECRET") {
			t.Errorf("%s tells a secret:\n%s", where, text)
		}
	}
	_ = p.cmd.Process.Kill()
	<-p.done
}
