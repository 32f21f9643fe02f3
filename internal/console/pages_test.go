package console_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/console"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// furnished is a house with something on every page.
func furnished(t *testing.T) *house {
	t.Helper()
	h := newHouse(t)
	h.created("pi_new")
	h.reviewed("pi_stuck", intents.Never)
	h.failed("pi_failed")
	l := intents.DeadLetter{Topic: "intents.webhooks", Hash: [32]byte{1}, Body: []byte(`{"x":"<script>dead</script>"}`), Size: 29, Reason: intents.DeadInvalid, Detail: "<b>bad</b>", Route: "webhooks"}
	if err := h.store.Bury(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	return h
}

var pages = []string{"/", "/live", "/review", "/intents", "/intents/pi_new", "/intents/pi_stuck", "/intents/pi_stuck?ask=1", "/intents/pi_failed",
	"/dead-letters", "/dead-letters/01", "/routes", "/signers", "/instances", "/signin", "/review/nowhere"}

// Whatever strangers wrote is shown as text; nothing on a page is a script or a style of its own, or comes from elsewhere.
func TestPagesCarryNothingForeign(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(>|[^>]*>[^<])|javascript:|(src|href|action|hx-get)="(https?:)?//`)
	for _, path := range pages {
		a := h.get(path)
		if found := inline.FindString(a.body); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		h.lacks(a, "<script>alert", "<script>none", "<script>dead", "<b>bad", "<b>nothing", "<i>7", "BYTES", "ZgotmplZ")
		for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8"} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	h.wants(h.get("/intents/pi_stuck?ask=1"), http.StatusOK, "&lt;script&gt;alert(1)&lt;/script&gt;", "said", "123456789012345678")
}

// What a page loads is there, and served from here.
func TestPagesLoadWhatIsThere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	body := h.get("/").body
	found := regexp.MustCompile(`(?:href|src)="(/static/[^"]+)"`).FindAllStringSubmatch(body, -1)
	if len(found) < 5 {
		t.Fatalf("only %v", found)
	}
	for _, f := range found {
		h.wants(h.get(f[1]), http.StatusOK)
	}
	h.wants(h.get("/static/"), http.StatusNotFound)
}

// A person reads what is known, what is not, what the other side says, and what each decision would do.
func TestIntentPageInReview(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	a := h.get("/intents/pi_stuck")
	h.wants(a, http.StatusOK, "What is known", "One attempt is stored", "What is not known", "Whether the payment happened", "Not asked yet",
		"It happened", "It did not happen and cannot", "Send it again", "may be paid twice", `name="version" value="4"`, `hx-get="/intents/pi_stuck/now"`)
	h.wants(h.get("/intents/pi_stuck?ask=1"), http.StatusOK, "It does not show it. That proves nothing")
	h.wants(h.get("/intents/pi_stuck/now", "HX-Request", "true"), http.StatusOK, "It does not show it", `id="now"`)
	h.wants(h.get("/intents/pi_stuck/now"), http.StatusSeeOther, "/intents/pi_stuck?ask=1")
	h.wants(h.get("/intents/pi_failed"), http.StatusOK, "It happened after all", "asked them")
	h.lacks(h.get("/intents/pi_new"), "It happened")
	h.wants(h.get("/intents/pi_none"), http.StatusNotFound, "There is no such intent")
}

// Case 111: what the other side's error says is shown without secrets, and the page is there all the same.
func TestOtherSideIsSilent(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	h.other.err = fmt.Errorf("get https://rpc.example/v2/SECRETKEY: timeout")
	a := h.get("/intents/pi_stuck?ask=1")
	h.wants(a, http.StatusOK, "It cannot be asked", "rpc.example")
	h.lacks(a, "SECRETKEY")
}

// With what the other side says other decisions are possible: a page that is open already gets these too.
func TestFreshAnswerChangesWhatMayBeDone(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	h.lacks(h.get("/intents/pi_stuck/now", "HX-Request", "true"), "hx-swap-oob")
	h.other.fact = intents.Final // then its own reference is suggested
	h.wants(h.get("/intents/pi_stuck/now", "HX-Request", "true"), http.StatusOK, `id="decide" aria-labelledby="decide-title" hx-swap-oob="true"`, `value="seen"`)
	in := h.read("pi_stuck")
	if _, _, err := h.store.Resolve(t.Context(), "pi_stuck", intents.Order{Verb: intents.Settle, Version: in.Version, Actor: "bob", Reason: "seen", Ref: "r", Own: true}); err != nil {
		t.Fatal(err)
	}
	if a := h.get("/intents/pi_stuck/now", "HX-Request", "true"); a.header.Get("HX-Refresh") != "true" {
		t.Errorf("a page about what is settled is not told to go: %v", a.header)
	}
}

func TestIntentsAreFiltered(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	h.wants(h.get("/intents?state=needs_review"), http.StatusOK, "pi_stuck")
	h.lacks(h.get("/intents?state=needs_review"), "pi_new")
	h.wants(h.get("/intents?q=pi_new"), http.StatusSeeOther, "/intents/pi_new")
	h.wants(h.get("/intents?q=key-pi_stuck"), http.StatusSeeOther, "/intents/pi_stuck")
	h.wants(h.get("/intents?since=1h"), http.StatusOK, "pi_new", `value="1h" selected`)
	h.wants(h.get("/intents?since=-1h"), http.StatusBadRequest)
	h.wants(h.get("/intents?q=pi_none"), http.StatusOK, "Nothing matches")
	h.wants(h.get("/intents?state=lost"), http.StatusBadRequest)
	h.wants(h.get("/intents?before=x"), http.StatusBadRequest)
	h.lacks(h.get("/intents?state=needs_review", "HX-Request", "true"), "<html")

	for i := range intents.DefaultLimit {
		h.created(fmt.Sprintf("pi_many_%02d", i))
	}
	a := h.get("/intents")
	h.lacks(a, "pi_stuck")
	older := regexp.MustCompile(`href="(/intents\?before=\d+)"`).FindStringSubmatch(a.body)
	if older == nil {
		t.Fatalf("no older ones in %s", a.body)
	}
	b := h.get(older[1])
	h.wants(b, http.StatusOK, "pi_stuck")
	h.lacks(b, "hx-trigger=\"every", "pi_many_49")
}

// slow is a database in which a search takes for ever.
type slow struct{ *memstore.Store }

func (slow) List(ctx context.Context, _ intents.Filter) ([]intents.Intent, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Case 110: a search that would read everything ends, and says how to narrow it.
func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *console.Config) { c.Reviews, c.Search = slow{c.Reviews.(*memstore.Store)}, time.Millisecond })
	h.wants(h.get("/intents?asset=RARE"), http.StatusServiceUnavailable, "takes too long to find")
}

// The other side may take its time; the page does not.
func TestAskingIsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *console.Config) { c.Ask = time.Millisecond })
	h.reviewed("pi_1", intents.Never)
	h.other.hangs = true
	h.wants(h.get("/intents/pi_1"), http.StatusOK, "Not asked yet")
	h.wants(h.get("/intents/pi_1?ask=1"), http.StatusOK, "It cannot be asked", "deadline exceeded")
	h.wants(h.order("pi_1", intents.Fail, h.read("pi_1").Version, "reason", "x"), http.StatusBadGateway, "nothing was done")
}

// The review list begins with what waits longest.
func TestReviewListIsOldestFirst(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := newHouse(t, func(c *console.Config) { c.Now = func() time.Time { return now } })
	h.wants(h.get("/review"), http.StatusOK, "Nothing waits for a person")
	h.wants(h.get("/"), http.StatusOK, "Nothing waits for a person")
	h.reviewed("pi_first", intents.Never)
	now = now.Add(time.Second) // what is counted is shown so long
	h.reviewed("pi_second", intents.For(time.Hour))
	a := h.get("/review")
	h.wants(a, http.StatusOK, `<span class="count">2</span>`, "safe to send again", "sending again may pay twice")
	if strings.Index(a.body, "pi_first") > strings.Index(a.body, "pi_second") {
		t.Error("the second comes first")
	}
	if a := h.get("/review?route=payouts"); strings.Contains(a.body, "pi_first") {
		t.Error("another route's is shown")
	}
}

// Case 110: many who look at once cost one count.
func TestCountsAreShared(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := newHouse(t, func(c *console.Config) { c.Now = func() time.Time { return now } })
	h.reviewed("pi_1", intents.Never)
	for range 20 {
		h.wants(h.get("/live"), http.StatusOK, "1 or more payment waits")
	}
	if h.rest.counted != 1 {
		t.Errorf("counted %d times", h.rest.counted)
	}
	now = now.Add(time.Second)
	h.get("/live")
	if h.rest.counted != 2 {
		t.Errorf("counted %d times, want once more", h.rest.counted)
	}
}

// The chart counts each key once, one look after its window has ended, so that what was committed late is counted.
func TestChart(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	var c *console.Console
	h := newHouse(t, func(cfg *console.Config) { cfg.Now = func() time.Time { return now } })
	cfg := console.Config{Reviews: h.store, Pulse: h.rest, Now: func() time.Time { return now }}
	c, err := console.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.rest.flows = []intents.Flow{{Head: 100}, {Head: 110}, {Created: 4, Settled: 2, Head: 120}, {Created: 20, Settled: 0, Head: 130}}
	for range 5 { // the last fails
		console.Sample(t.Context(), c)
		now = now.Add(2 * time.Second)
	}
	want := [][2]int64{{0, 0}, {100, 100}, {100, 110}, {110, 120}, {120, 130}}
	if fmt.Sprint(h.rest.windows) != fmt.Sprint(want) {
		t.Errorf("windows %v, want %v", h.rest.windows, want)
	}
	created, settled, said := console.Drawn(c)
	if n := len(strings.Fields(created)); n != 2 || said != "10.0 created and 0.0 settled a second" || !strings.HasSuffix(settled, ",139.0") {
		t.Errorf("created %q, settled %q, said %q", created, settled, said)
	}
	if x, err := strconv.ParseFloat(strings.Split(strings.Fields(created)[1], ",")[0], 64); err != nil || x != 900 {
		t.Errorf("the last sample is at %v, want the right edge", x)
	}
}

func TestWithoutADatabase(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.rest.down = fmt.Errorf("dial: %w", intents.ErrUnavailable)
	h.wants(h.get("/"), http.StatusServiceUnavailable, "The database cannot be reached")
}
