package console_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// order posts a decision about the version given.
func (h *house) order(id string, verb intents.Verb, version int, more ...string) answer {
	h.Helper()
	return h.post("/intents/"+id+"/decide", append([]string{"verb", string(verb), "version", strconv.Itoa(version)}, more...)...)
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	in := h.reviewed("pi_1", intents.Never)
	h.wants(h.order("pi_1", intents.Settle, in.Version, "reason", "ticket 7", "ref", "prov_7"), http.StatusSeeOther, "/intents/pi_1?did=settle")
	if got := h.read("pi_1"); got.State != intents.Settled || got.Ref != "prov_7" {
		t.Errorf("got %+v", got)
	}
	h.wants(h.get("/intents/pi_1?did=settle"), http.StatusOK, "The hold was taken out", "ticket 7", "by console")

	in = h.reviewed("pi_2", intents.Never)
	h.wants(h.order("pi_2", intents.Fail, in.Version, "reason", "never came"), http.StatusSeeOther, "?did=fail")
	if got := h.read("pi_2"); got.State != intents.Failed {
		t.Errorf("got %+v", got)
	}

	in = h.reviewed("pi_3", intents.For(time.Hour))
	h.wants(h.order("pi_3", intents.Retry, in.Version, "reason", "they were down"), http.StatusSeeOther, "?did=retry")
	if got := h.read("pi_3"); got.State != intents.Settling {
		t.Errorf("got %+v", got)
	}
	// The same once more, as by a double click: nothing is done twice, and it is no error.
	h.wants(h.order("pi_3", intents.Retry, in.Version, "reason", "they were down"), http.StatusSeeOther, "?did=again")
}

// Case 104: two pages show the same review; the second decision is refused, and told who made the first and why.
func TestStalePageIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	in := h.reviewed("pi_1", intents.Never)
	bob := intents.Order{Verb: intents.Fail, Version: in.Version, Actor: "bob", Reason: "ticket 7: never came"}
	if _, _, err := h.store.Resolve(t.Context(), "pi_1", bob); err != nil {
		t.Fatal(err)
	}
	a := h.order("pi_1", intents.Settle, in.Version, "reason", "seen it", "ref", "prov_7")
	h.wants(a, http.StatusConflict, "your page was out of date", "bob moved it from needs review to failed", "ticket 7: never came")
	if got := h.read("pi_1"); got.State != intents.Failed {
		t.Errorf("got %+v", got)
	}
	h.wants(h.order("pi_1", intents.Fail, 99, "reason", "x"), http.StatusUnprocessableEntity, "The version")
	h.wants(h.order("pi_1", intents.Fail, in.Version+1, "reason", "x"), http.StatusConflict, "Nothing is left to decide", "It is failed")
}

// What is missing or wrong changes nothing, and what was written stays in the form.
func TestIncompleteDecisions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	in := h.reviewed("pi_1", intents.Never)
	h.wants(h.order("pi_1", intents.Settle, in.Version, "ref", "prov_7", "reason", "  "), http.StatusUnprocessableEntity, "The reason", `value="prov_7"`)
	if h.other.asked != 0 {
		t.Error("the other side was asked about what lacks a reason")
	}
	h.wants(h.order("pi_1", intents.Settle, in.Version, "reason", "seen"), http.StatusUnprocessableEntity, "The ref", `value="seen"`)
	h.wants(h.order("pi_1", "explode", in.Version, "reason", "x"), http.StatusUnprocessableEntity, "The verb")
	h.wants(h.order("pi_1", intents.Fail, 0, "reason", "x"), http.StatusConflict, "Nothing was done")
	if got := h.read("pi_1"); got.Version != in.Version {
		t.Errorf("got %+v", got)
	}
}

// Nothing is decided while the other side cannot be asked.
func TestDecideWhileTheOtherSideIsSilent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	in := h.reviewed("pi_1", intents.Never)
	h.other.err = errors.New("https://rpc/SECRETKEY: refused")
	a := h.order("pi_1", intents.Fail, in.Version, "reason", "gone")
	h.wants(a, http.StatusBadGateway, "cannot be asked, nothing was done", `value="gone"`)
	h.lacks(a, "SECRETKEY")
	if got := h.read("pi_1"); got.State != intents.NeedsReview {
		t.Errorf("got %+v", got)
	}
}

// Case 106: what the other side shows to have happened is settled, whatever was decided.
func TestProofGoesFirst(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	in := h.reviewed("pi_1", intents.Never)
	h.other.fact = intents.Final
	h.wants(h.order("pi_1", intents.Fail, in.Version, "reason", "gone"), http.StatusSeeOther, "?did=proof")
	if got := h.read("pi_1"); got.State != intents.Settled {
		t.Errorf("got %+v", got)
	}
}

// What the other side does not confirm takes a second, deliberate step; so does what may pay twice.
func TestDecisionsToInsistOn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	in := h.reviewed("pi_1", intents.Never)
	h.other.refer = &intents.Observation{Fact: intents.NotSeen}
	a := h.order("pi_1", intents.Settle, in.Version, "reason", "their word", "ref", "prov_7")
	h.wants(a, http.StatusConflict, "Refused, nothing was done", `name="unconfirmed"`, `value="their word"`, `value="prov_7"`)
	h.wants(h.order("pi_1", intents.Settle, in.Version, "reason", "their word", "ref", "prov_7", "unconfirmed", "yes"), http.StatusSeeOther, "?did=settle")

	in = h.reviewed("pi_2", intents.Never)
	h.wants(h.order("pi_2", intents.Retry, in.Version, "reason", "again"), http.StatusConflict, "you take the risk", `name="twice"`)
	if got := h.read("pi_2"); got.State != intents.NeedsReview {
		t.Errorf("got %+v", got)
	}
	h.wants(h.order("pi_2", intents.Retry, in.Version, "reason", "again", "twice", "yes"), http.StatusSeeOther, "?did=retry")
	if got := h.read("pi_2"); got.State != intents.Settling || got.Reason != intents.ReasonOnce {
		t.Errorf("got %+v", got)
	}
}

func TestNotesAndCalls(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.created("pi_1")
	h.wants(h.post("/intents/pi_1/note", "note", "asked <them>"), http.StatusSeeOther, "?did=noted")
	h.wants(h.get("/intents/pi_1"), http.StatusOK, "asked &lt;them&gt;")
	h.wants(h.post("/intents/pi_1/note", "note", " "), http.StatusUnprocessableEntity, "The note is empty")
	h.wants(h.post("/intents/pi_1/cancel"), http.StatusSeeOther, "?did=canceled")
	if got := h.read("pi_1"); got.State != intents.Canceled {
		t.Errorf("got %+v", got)
	}
	h.wants(h.post("/intents/pi_none/cancel"), http.StatusNotFound)

	h.reviewed("pi_2", intents.Never) // case 107
	h.wants(h.post("/intents/pi_2/cancel"), http.StatusConflict, "Too late to call it off", "worker moved it")
	h.wants(h.post("/intents/pi_2/drop"), http.StatusSeeOther, "?did=dropped")
	h.rest.dropped = errors.New("https://rpc/SECRETKEY refused it")
	a := h.post("/intents/pi_2/drop")
	h.wants(a, http.StatusConflict, "The slot is as it was")
	h.lacks(a, "SECRETKEY")
}

// Case 108: a dead letter is published again, unless that would do nothing, and the person is told which.
func TestReplay(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	body := []byte(`{"v":1,"id":"pi_1","account":"acct_1","destination":"you","asset":"EUR","amount":"5"}`)
	bury := func(n byte, b []byte, size int) {
		t.Helper()
		if err := h.store.Bury(t.Context(), intents.DeadLetter{Topic: "intents.webhooks", Hash: [32]byte{n}, Body: b, Size: size, Reason: intents.DeadInvalid, Route: "webhooks"}); err != nil {
			t.Fatal(err)
		}
	}
	bury(1, body, len(body))
	bury(2, []byte("nonsense"), 8)
	bury(3, body, 9000)
	h.wants(h.get("/dead-letters"), http.StatusOK, "010000000000", "020000000000")
	h.wants(h.post("/dead-letters/"+strings.Repeat("0", 64)+"/replay"), http.StatusNotFound)
	h.wants(h.post("/dead-letters/01/replay"), http.StatusOK, "Published to intents.webhooks", "pi_1")
	h.wants(h.post("/dead-letters/02/replay"), http.StatusConflict, "Not published", "dead again")
	h.wants(h.post("/dead-letters/03/replay"), http.StatusConflict, "of 9000 bytes are kept")
	h.must(h.store.Create(t.Context(), intents.Intent{ID: "pi_1", Route: "webhooks", Account: "acct_1", Destination: "you", Asset: "EUR", Amount: intents.NewAmount(5)}, true, "t"))
	h.wants(h.post("/dead-letters/01/replay"), http.StatusSeeOther, "/intents/pi_1?did=known")
	if want := "intents.webhooks " + string(body); len(h.rest.replayed) != 1 || h.rest.replayed[0] != want {
		t.Errorf("published %q, want %q once", h.rest.replayed, want)
	}
}

func TestSwitches(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wants(h.get("/routes"), http.StatusOK, "12,345", "no nsqd is known", "Pause payouts")
	h.wants(h.post("/routes/payouts/pause"), http.StatusSeeOther, "/routes?did=paused")
	h.wants(h.get("/routes"), http.StatusOK, "Resume payouts", "by console", "Pause webhooks")
	h.wants(h.post("/routes/payouts/resume"), http.StatusSeeOther, "/routes?did=resumed")
	h.wants(h.post("/routes/typo/pause"), http.StatusNotFound)

	h.wants(h.get("/signers"), http.StatusOK, "evm:1:0xabc", "1000000007", "used 2 nonces")
	h.wants(h.post("/signers/freeze", "scope", "evm:1:0xabc"), http.StatusConflict, "say why")
	h.wants(h.post("/signers/freeze", "scope", "evm:1:0xother", "reason", "x"), http.StatusConflict, "not open")
	h.wants(h.post("/signers/freeze", "scope", "evm:1:0xabc", "reason", "rotation"), http.StatusSeeOther, "?did=frozen")
	h.wants(h.post("/signers/unfreeze", "scope", "evm:1:0xabc", "reason", "done"), http.StatusConflict, "tick the box")
	h.wants(h.post("/signers/unfreeze", "scope", "evm:1:0xabc", "reason", "done", "unseen", "yes"), http.StatusSeeOther, "?did=unfrozen")
}
