package api_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/api"
	"github.com/nsqrelayer/relayer/internal/desk"
)

const failIt = `{"verb":"fail","version":4,"reason":"never arrived"}`

func TestReviews(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.reviewed("pi_1")
	o.reviewed("pi_2")
	if r := o.want(o.get("/v1/reviews?limit=1"), 200, ""); !slices.Equal(r.ids("id"), []string{"pi_1"}) || r.body["has_more"] != true {
		t.Errorf("got %s", r.text)
	}
	if r := o.want(o.get("/v1/reviews?route=none"), 200, ""); len(r.ids("id")) != 0 {
		t.Errorf("got %s", r.text)
	}
	r := o.want(o.get("/v1/reviews/pi_1"), 200, "")
	for _, want := range []string{`"now":{"fact":"not_seen","attempt":1,"ref":"ref-pi_1","evidence":{"status":404}}`, `{"do":"settle","allowed":true}`,
		`{"do":"fail","allowed":true}`, `{"do":"retry","allowed":true,"may_pay_twice":true,"why":"its bytes must not be sent again`, `{"do":"note","allowed":true}`} {
		if !strings.Contains(r.text, want) {
			t.Errorf("got %s, want %s", r.text, want)
		}
	}
	if r := o.get("/v1/reviews/pi_1?ask=false"); strings.Contains(r.text, `"now"`) {
		t.Errorf("got %s", r.text)
	}
	o.down = errDown
	if r := o.want(o.get("/v1/reviews/pi_1"), 200, ""); !strings.Contains(r.text, `"error":"dial https://***@node.example: no route to host"`) {
		t.Errorf("got %s", r.text)
	}
	o.want(o.get("/v1/reviews/pi_none"), 404, "not_found")
}

// A decision is about the version that was seen. The same again is told as done; of another it is told who was first.
func TestResolve(t *testing.T) {
	t.Parallel()
	o := open(t)
	ann, bob := o.token("ann", intents.ScopeOperate), o.token("bob", intents.ScopeOperate)
	o.reviewed("pi_1")
	o.want(o.post("/v1/reviews/pi_1/resolve", strings.Replace(failIt, "4", "3", 1), ann...), 409, "moved")
	o.want(o.post("/v1/reviews/pi_1/resolve", strings.Replace(failIt, "4", "9", 1), ann...), 422, "invalid")
	for _, bad := range []string{`"fail"→"flip"`, `"never arrived"→""`, `4→"4"`, `4→0`, `"reason"→"why"`, `"fail"→"settle"`} {
		from, to, _ := strings.Cut(bad, "→")
		o.want(o.post("/v1/reviews/pi_1/resolve", strings.Replace(failIt, from, to, 1), ann...), 422, "invalid")
	}
	for n := range 2 {
		r := o.want(o.post("/v1/reviews/pi_1/resolve", failIt, ann...), 200, "")
		if r.body["already_resolved"] != (n == 1) || !strings.Contains(r.text, `"state":"failed"`) || r.str("seen") != map[int]string{0: "not_seen"}[n] {
			t.Errorf("got %s", r.text)
		}
	}
	r := o.want(o.post("/v1/reviews/pi_1/resolve", failIt, bob...), 409, "moved")
	if by, _ := r.body["by"].(map[string]any); by["actor"] != "ann" || by["to"] != "failed" || by["version"] != 5.0 {
		t.Errorf("got %s", r.text)
	}
	o.want(o.post("/v1/reviews/pi_1/resolve", `{"verb":"retry","version":5,"reason":"again"}`, bob...), 409, "wrong_state")
	o.want(o.post("/v1/reviews/pi_none/resolve", failIt, bob...), 404, "not_found")
}

// Two persons decide at once: one counts, the other is told what happened.
func TestTwoPersonsResolve(t *testing.T) {
	t.Parallel()
	o := open(t)
	people := map[string][]string{"ann": o.token("ann", intents.ScopeOperate), "bob": o.token("bob", intents.ScopeOperate)}
	orders := map[string]string{"ann": failIt, "bob": `{"verb":"settle","version":4,"reason":"seen","ref":"pi_%d"}`}
	for n := range 5 {
		id := fmt.Sprint("pi_", n)
		o.reviewed(id)
		var both sync.WaitGroup
		var mu sync.Mutex
		got := map[string]reply{}
		for who, header := range people {
			both.Go(func() {
				r := o.post("/v1/reviews/"+id+"/resolve", strings.ReplaceAll(orders[who], "%d", fmt.Sprint(n)), header...)
				mu.Lock()
				defer mu.Unlock()
				got[who] = r
			})
		}
		both.Wait()
		winner, loser := "ann", "bob"
		if got["bob"].status == 200 {
			winner, loser = "bob", "ann"
		}
		o.want(got[winner], 200, "")
		r := o.want(got[loser], 409, "moved")
		if by, _ := r.body["by"].(map[string]any); by["actor"] != winner {
			t.Errorf("%s is told %s", loser, r.text)
		}
	}
}

// What is refused says which way there is; insisting takes it. Where the other side cannot be asked nothing is decided, and
// no secret is shown.
func TestResolveAsksFirst(t *testing.T) {
	t.Parallel()
	o := open(t)
	for _, id := range []string{"pi_1", "pi_2", "pi_3"} {
		o.reviewed(id)
	}
	retry := `{"verb":"retry","version":4,"reason":"again"}`
	if r := o.want(o.post("/v1/reviews/pi_1/resolve", retry), 409, "refused"); r.str("way") != "may_pay_twice" {
		t.Errorf("got %s", r.text)
	}
	o.want(o.post("/v1/reviews/pi_1/resolve", `{"verb":"settle","version":4,"reason":"seen","ref":"nonsense"}`), 422, "invalid")
	o.mu.Lock()
	o.down = errDown
	o.mu.Unlock()
	r := o.want(o.post("/v1/reviews/pi_1/resolve", failIt), 502, "other_side")
	if strings.Contains(r.text, "hunter2") || r.header.Get("Retry-After") == "" || o.must(o.store.Get(t.Context(), "pi_1")).Version != 4 {
		t.Errorf("got %v %s", r.header, r.text)
	}
	o.mu.Lock()
	o.down = nil
	o.facts["pi_2"] = intents.Final
	o.mu.Unlock()
	if r := o.want(o.post("/v1/reviews/pi_1/resolve", strings.Replace(retry, "{", `{"may_pay_twice":true,`, 1)), 200, ""); !strings.Contains(r.text, `"state":"settling"`) {
		t.Errorf("got %s", r.text)
	}
	if r := o.want(o.post("/v1/reviews/pi_2/resolve", failIt), 200, ""); r.body["by_proof"] != true || r.body["served"] != false || !strings.Contains(r.text, `"state":"settled"`) {
		t.Errorf("got %s", r.text)
	}
	none := open(t, func(c *api.Config) {
		c.Other = func(context.Context, string) (desk.Other, error) { return nil, errors.New("keystore: hunter2") }
	})
	none.reviewed("pi_1")
	none.want(none.post("/v1/reviews/pi_1/resolve", failIt), 502, "other_side")
	none.want(none.get("/v1/reviews/pi_1"), 200, "")
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	o := open(t)
	bury := func(body, reason string, size int) string {
		t.Helper()
		hash := intents.HashSecret(body) // SHA-256 of any text
		if err := o.store.Bury(t.Context(), intents.DeadLetter{Topic: "intents.webhooks", Hash: hash, Body: []byte(body), Size: size, Reason: reason, Route: "webhooks"}); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", hash)
	}
	body := `{"v":1,"id":"pi_1","account":"a","destination":"x","asset":"EUR","amount":"1"}`
	whole, cut, bad := bury(body, "invalid", len(body)), bury("{", "too_long", 100), bury("nonsense", "invalid", 8)
	var got []string
	for path := "/v1/deadletters?limit=2"; path != ""; {
		r := o.want(o.get(path), 200, "")
		got = append(got, r.ids("hash")...)
		if path = ""; r.body["has_more"] == true {
			path = "/v1/deadletters?limit=2&cursor=" + r.str("next")
		}
	}
	if !slices.Equal(got, []string{bad, cut, whole}) {
		t.Errorf("got %q", got)
	}
	if r := o.want(o.get("/v1/deadletters/"+whole[:12]), 200, ""); r.str("body") != body || r.str("reason") != "invalid" {
		t.Errorf("got %s", r.text)
	}
	replay := func(hash string) reply { return o.post("/v1/deadletters/"+hash+"/replay", "") }
	if r := o.want(replay(whole), 202, ""); r.body["published"] != true || r.str("id") != "pi_1" || !slices.Equal(o.published, []string{"intents.webhooks " + body}) {
		t.Errorf("got %s, published %q", r.text, o.published)
	}
	m, err := intents.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	m.Intent.Route, m.Route = "webhooks", "webhooks"
	o.must(o.store.Take(t.Context(), m))
	if r := o.want(replay(whole), 202, ""); r.body["published"] != false || len(o.published) != 1 {
		t.Errorf("got %s", r.text)
	}
	other := strings.Replace(body, `"1"}`, `"2"}`, 1)
	o.want(replay(bury(other, "other_content", len(other))), 409, "still_dead")
	o.want(replay(cut), 409, "cut")
	o.want(replay(bad), 409, "still_dead")
	o.want(replay("000000"), 404, "not_found")
	o.want(o.get("/v1/deadletters/00000"), 422, "invalid")
	o.want(o.get("/v1/deadletters?cursor=x"), 422, "invalid")
	o.deaf = errors.New("no nsqd")
	fresh := strings.Replace(body, "pi_1", "pi_2", 1)
	o.want(replay(bury(fresh, "invalid", len(fresh))), 503, "unavailable")
}

func TestFleet(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.want(o.create("pi_1"), 202, "")
	for _, deed := range []string{"pause", "resume"} {
		r := o.want(o.post("/v1/routes/webhooks/"+deed, ""), 200, "")
		if want := deed == "pause"; r.body["paused"] != want {
			t.Errorf("%s: %s", deed, r.text)
		}
		if list := o.get("/v1/routes"); !strings.Contains(list.text, fmt.Sprintf(`"paused":%v,"by":"anonymous"`, deed == "pause")) {
			t.Errorf("%s: %s", deed, list.text)
		}
	}
	o.want(o.post("/v1/routes/webhook/pause", ""), 404, "not_found")
	if r := o.want(o.get("/v1/routes"), 200, ""); !slices.Equal(r.ids("route"), []string{"webhooks"}) {
		t.Errorf("got %s", r.text)
	}
	if err := o.store.Beat(t.Context(), "host-1", intents.Pulse{Host: "host", PID: 1, InFlight: 3, Routes: []string{"webhooks"}}); err != nil {
		t.Fatal(err)
	}
	if r := o.want(o.get("/v1/instances"), 200, ""); !strings.Contains(r.text, `"name":"host-1","host":"host","pid":1`) || !strings.Contains(r.text, `"in_flight":3`) {
		t.Errorf("got %s", r.text)
	}
	// Case 110: many who ask cost one count.
	if r := o.want(o.get("/v1/stats"), 200, ""); !strings.Contains(r.text, `"open":{"webhooks":{"states":{"authorized":1},"oldest_due_at":"20`) || r.body["at_least"] != false {
		t.Errorf("got %s", r.text)
	}
	o.want(o.create("pi_2"), 202, "")
	if r := o.get("/v1/stats"); !strings.Contains(r.text, `"authorized":1`) {
		t.Errorf("counted again at once: %s", r.text)
	}
	o.pass(6 * time.Second)
	if r := o.get("/v1/stats"); !strings.Contains(r.text, `"authorized":2`) {
		t.Errorf("got %s", r.text)
	}
}
