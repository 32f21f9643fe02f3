package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	o := open(t)
	r := o.want(o.create("pi_1"), 202, "")
	if r.header.Get("Location") != "/v1/intents/pi_1" || r.header.Get("Idempotent-Replayed") != "" || r.str("state") != "authorized" || r.str("amount") != "100" {
		t.Errorf("got %v %s", r.header, r.text)
	}
	if want := []string{`intents.webhooks {"v":1,"intent_id":"pi_1"}`}; !slices.Equal(o.published, want) {
		t.Errorf("published %q, want %q", o.published, want)
	}
	if r := o.want(o.create("pi_1"), 202, ""); r.header.Get("Idempotent-Replayed") != "true" || r.body["version"] != 2.0 {
		t.Errorf("again: %v %s", r.header, r.text)
	}
	other := strings.Replace(payment, `"100"`, `"101"`, 1)
	o.want(o.post("/v1/intents", other, "Idempotency-Key", "pi_1"), 422, "other_content")
	o.want(o.post("/v1/intents", payment), 400, "no_idempotency_key")
	o.want(o.post("/v1/intents", strings.Replace(payment, `{`, `{"id":"pi_2",`, 1), "Idempotency-Key", "pi_2"), 202, "")
	r = o.want(o.post("/v1/intents", strings.Replace(payment, `{`, `{"id":"pi_4",`, 1), "Idempotency-Key", "pi_3"), 422, "invalid")
	if !strings.Contains(r.text, `"location":"body.id"`) {
		t.Errorf("got %s", r.text)
	}
	if in, err := o.store.Get(t.Context(), "pi_1"); err != nil || in.Amount.String() != "100" {
		t.Errorf("stored %+v, %v", in, err)
	}
	if _, err := o.store.Get(t.Context(), "pi_3"); !errors.Is(err, intents.ErrNotFound) {
		t.Errorf("pi_3: %v", err)
	}
	events, err := o.store.Events(t.Context(), "pi_1")
	if err != nil || events[0].Actor != "anonymous" {
		t.Errorf("events %+v, %v", events, err)
	}
}

// What the route does not take is refused before anything is stored, and each field that is wrong is named.
func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	o := open(t)
	for change, location := range map[string]string{
		`"webhooks"→"none"`:            "body.route",
		`"EUR"→"GBP"`:                  "body.asset",
		`"100"→"0"`:                    "body.amount",
		`"100"→"1e3"`:                  "body.amount",
		`"100"→100`:                    "body.amount",
		`"x"→"a b"`:                    "body.destination",
		`"acct_1"→""`:                  "body.account",
		`"route"→"rout"`:               "body",
		`{→{"metadata":{"a b":"c"},`:   "body.metadata",
		`{→{"expires_at":"tomorrow",`:  "body.expires_at",
		`{→{"traceparent":"00-0-0-0",`: "body.traceparent",
		`{→{"authorize":"yes",`:        "body.authorize",
	} {
		from, to, _ := strings.Cut(change, "→")
		r := o.want(o.post("/v1/intents", strings.Replace(payment, from, to, 1), "Idempotency-Key", "pi_1"), 422, "invalid")
		if !strings.Contains(r.text, `"location":"`+location) {
			t.Errorf("%s: got %s, want %s", change, r.text, location)
		}
	}
	r := o.want(o.post("/v1/intents", `{"route":"webhooks","account":"","destination":"","asset":"EUR","amount":"1"}`, "Idempotency-Key", "not a name"), 422, "invalid")
	if n := strings.Count(r.text, `"location"`); n != 3 {
		t.Errorf("%d fields are named: %s", n, r.text)
	}
	if _, err := o.store.Get(t.Context(), "pi_1"); !errors.Is(err, intents.ErrNotFound) {
		t.Errorf("stored all the same: %v", err)
	}
}

// Of two steps the first moves nothing; who authorizes stands in the timeline.
func TestTwoSteps(t *testing.T) {
	t.Parallel()
	o := open(t)
	r := o.want(o.post("/v1/intents", strings.Replace(payment, `{`, `{"authorize":false,`, 1), "Idempotency-Key", "pi_1"), 202, "")
	if r.str("state") != "created" || len(o.published) != 0 {
		t.Errorf("got %s, published %q", r.text, o.published)
	}
	for range 2 {
		if r := o.want(o.post("/v1/intents/pi_1/authorize", ""), 200, ""); r.str("state") != "authorized" {
			t.Errorf("got %s", r.text)
		}
	}
	if len(o.published) == 0 {
		t.Error("nobody was told")
	}
	o.want(o.post("/v1/intents/pi_1/cancel", ""), 200, "")
	if r := o.want(o.post("/v1/intents/pi_1/cancel", ""), 200, ""); r.str("state") != "canceled" {
		t.Errorf("got %s", r.text)
	}
	o.want(o.post("/v1/intents/pi_1/authorize", ""), 409, "wrong_state")
}

// While no nsqd takes anything, one request in ten seconds finds that out; the sweeper publishes the rest.
func TestCreateWithoutNSQ(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.deaf = errors.New("no nsqd")
	for n, want := range []int{1, 1, 2} {
		if n == 2 {
			o.pass(11 * time.Second)
		}
		o.want(o.create(fmt.Sprint("pi_", n)), 202, "")
		if len(o.published) != want {
			t.Errorf("after %d: %d were tried, want %d", n+1, len(o.published), want)
		}
	}
}

func TestOneIntent(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.reviewed("pi_1")
	if r := o.want(o.get("/v1/intents/pi_1"), 200, ""); r.str("state") != "needs_review" || r.str("reason") != "unknown_outcome" {
		t.Errorf("got %s", r.text)
	}
	if r := o.want(o.get("/v1/intents/pi_1/events"), 200, ""); !slices.Equal(r.ids("to"), []string{"created", "authorized", "settling", "needs_review"}) || r.body["has_more"] != false {
		t.Errorf("got %s", r.text)
	}
	r := o.want(o.get("/v1/intents/pi_1/attempts"), 200, "")
	if !slices.Equal(r.ids("name"), []string{"pi_1"}) || strings.Contains(r.text, "bytes that pay") || strings.Contains(r.text, "Ynl0ZXM") {
		t.Errorf("got %s", r.text)
	}
	r = o.want(o.post("/v1/intents/pi_1/cancel", ""), 409, "too_late")
	if by, _ := r.body["by"].(map[string]any); by["actor"] != "worker" || by["to"] != "needs_review" {
		t.Errorf("got %s", r.text)
	}
	o.want(o.post("/v1/intents/pi_1/notes", `{"note":" "}`), 422, "invalid")
	o.want(o.post("/v1/intents/pi_1/notes", `{"note":"ticket 4711"}`), 200, "")
	if r := o.get("/v1/intents/pi_1/events"); !strings.Contains(r.text, `"note":"ticket 4711"`) {
		t.Errorf("got %s", r.text)
	}
	for _, path := range []string{"", "/events", "/attempts"} {
		o.want(o.get("/v1/intents/pi_none"+path), 404, "not_found")
	}
	for _, deed := range []string{"cancel", "authorize"} {
		o.want(o.post("/v1/intents/pi_none/"+deed, ""), 404, "not_found")
	}
}

// Of a pruned intent the tombstone is shown, also to who creates it again; nothing can be done with it.
func TestPruned(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.want(o.create("pi_1"), 202, "")
	o.want(o.post("/v1/intents/pi_1/cancel", ""), 200, "")
	if _, err := o.store.Prune(t.Context(), intents.Prune{Before: time.Now().Add(time.Hour)}, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if r := o.want(o.get("/v1/intents/pi_1"), 200, ""); r.str("pruned_at") == "" || r.str("state") != "canceled" {
		t.Errorf("got %s", r.text)
	}
	if r := o.want(o.create("pi_1"), 202, ""); r.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again: %v %s", r.header, r.text)
	}
	o.want(o.post("/v1/intents/pi_1/notes", `{"note":"x"}`), 410, "pruned")
}

// A list is read page by page, newest first, by the filters of the command line.
func TestList(t *testing.T) {
	t.Parallel()
	o := open(t)
	var want []string
	for n := range 5 {
		id := fmt.Sprint("pi_", n)
		want = append([]string{id}, want...)
		o.want(o.create(id), 202, "")
	}
	var got []string
	for path := "/v1/intents?limit=2"; path != ""; {
		r := o.want(o.get(path), 200, "")
		got = append(got, r.ids("id")...)
		if path = ""; r.body["has_more"] == true {
			path = "/v1/intents?limit=2&cursor=" + r.str("next")
		}
		if len(got) == 2 {
			o.want(o.create("pi_new"), 202, "") // does not shift the pages that follow
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	o.post("/v1/intents/pi_3/cancel", "")
	since := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for query, n := range map[string]int{"state=canceled": 1, "state=canceled&state=authorized": 6, "account=acct_1": 6, "account=none": 0, "route=webhooks": 6,
		"asset=USD": 0, "lane=a": 0, "ref=r": 0, "since=" + since: 0, "until=" + since: 6} {
		if r := o.want(o.get("/v1/intents?"+query), 200, ""); len(r.ids("id")) != n {
			t.Errorf("%s: %d, want %d", query, len(r.ids("id")), n)
		}
	}
	for _, query := range []string{"state=done", "limit=0", "limit=501", "cursor=-1", "cursor=$", "since=yesterday", "sate=settled"} {
		o.want(o.get("/v1/intents?"+query), http.StatusUnprocessableEntity, "invalid")
	}
}
