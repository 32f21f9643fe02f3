package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/api"
)

// follower reads a stream.
type follower struct {
	*office
	lines *bufio.Scanner
	last  string // id
	leave func()
}

// follow opens a stream. It returns once events that come are followed.
func (o *office) follow(query, last string) *follower {
	o.Helper()
	ctx, leave := context.WithCancel(o.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.url+"/v1/stream"+query, nil)
	if err != nil {
		o.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() { leave(); resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		o.Fatalf("got %s %v", resp.Status, resp.Header)
	}
	return &follower{office: o, lines: bufio.NewScanner(resp.Body), leave: leave}
}

// next is the data of the next event; empty when the stream has ended.
func (f *follower) next() string {
	for f.lines.Scan() {
		if id, ok := strings.CutPrefix(f.lines.Text(), "id: "); ok {
			f.last = id
		}
		if data, ok := strings.CutPrefix(f.lines.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}

// take reads so many events and gives what they are in short.
func (f *follower) take(n int) (all []string) {
	f.Helper()
	for range n {
		data := f.next()
		id, to, _ := strings.Cut(data, `","route"`)
		_, to, _ = strings.Cut(to, `"to":"`)
		to, _, _ = strings.Cut(to, `"`)
		all = append(all, strings.TrimPrefix(id, `{"intent":"`)+" "+to)
	}
	return all
}

// Events come as they are written, and after a break from where it was.
func TestStream(t *testing.T) {
	t.Parallel()
	o := open(t)
	f, canceled := o.follow("", ""), o.follow("?state=canceled&route=webhooks", "")
	o.want(o.create("pi_1"), 202, "")
	if got := f.take(2); !slices.Equal(got, []string{"pi_1 created", "pi_1 authorized"}) {
		t.Errorf("got %q", got)
	}
	f.leave()
	o.want(o.create("pi_2"), 202, "")
	o.want(o.post("/v1/intents/pi_1/cancel", ""), 200, "")
	f = o.follow("", f.last)
	if got := f.take(3); !slices.Equal(got, []string{"pi_2 created", "pi_2 authorized", "pi_1 canceled"}) {
		t.Errorf("got %q", got)
	}
	if got := canceled.take(1); !slices.Equal(got, []string{"pi_1 canceled"}) {
		t.Errorf("got %q", got)
	}
	for _, bad := range []string{"x", "1-2-3", "-1-2-3-4", "1-2-3-4-5"} {
		o.want(o.get("/v1/stream", "Last-Event-ID", bad), 422, "invalid")
	}
	o.want(o.get("/v1/stream", "Last-Event-ID", intents.Cursor{Tx: 1 << 50}.String()), 410, "cursor_ahead")
	o.want(o.get("/v1/stream?state=done"), 422, "invalid")
}

// Many write at once, and several follow, one of them breaking off all the time: each sees each event
// once.
func TestStreamLosesNothing(t *testing.T) {
	t.Parallel()
	o := open(t, func(c *api.Config) { c.Burst = 10_000 })
	const n = 40
	whole, broken := o.follow("", ""), o.follow("", "")
	for w := range 4 {
		go func() {
			for i := range n / 4 {
				o.create(fmt.Sprintf("pi_%d_%d", w, i))
			}
		}()
	}
	seen := map[string]int{}
	count := func(f *follower) {
		seen[f.next()]++
	}
	for range 2 * n {
		count(whole)
	}
	for i := range 2 * n {
		count(broken)
		if i%7 == 0 {
			broken.leave()
			broken = o.follow("", broken.last)
		}
	}
	if len(seen) != 2*n {
		t.Errorf("%d different events, want %d", len(seen), 2*n)
	}
	for data, times := range seen {
		if times != 2 {
			t.Errorf("seen %d times: %s", times, data)
		}
	}
}

// A quiet stream is kept alive beyond the server's own deadlines; there are only so many; all end with the server.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	ending := make(chan struct{})
	o := open(t, func(c *api.Config) { c.Streams, c.KeepAlive, c.Ending = 1, time.Millisecond, ending })
	f := o.follow("", "")
	for f.lines.Scan() && f.lines.Text() != ": alive" {
		continue
	}
	if r := o.want(o.get("/v1/stream"), 503, "too_many_streams"); r.header.Get("Retry-After") == "" {
		t.Errorf("got %v", r.header)
	}
	close(ending)
	if got := f.next(); got != "" || f.lines.Err() != nil {
		t.Errorf("got %q, %v", got, f.lines.Err())
	}
}

// The server's deadlines for writing and reading are for answers that end.
func TestStreamOutlivesDeadlines(t *testing.T) {
	t.Parallel()
	o := open(t, func(c *api.Config) { c.KeepAlive = time.Millisecond })
	server := httptest.NewUnstartedServer(o.handler)
	server.Config.WriteTimeout, server.Config.ReadTimeout = 200*time.Millisecond, 200*time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	o.url = server.URL
	f := o.follow("", "")
	begun := time.Now()
	for time.Since(begun) < 600*time.Millisecond { // that time passes is what is tested
		if !f.lines.Scan() {
			t.Fatalf("ended after %s: %v", time.Since(begun), f.lines.Err())
		}
	}
}
