package intents_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nsqrelayer/relayer/intents"
)

func shown(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestViewShowsWordsAndLeavesOutWhatIsEmpty(t *testing.T) {
	in := sample()
	in.Metadata = map[string]string{"order": "7"}
	in.State, in.Version, in.Ref, in.Stored = intents.Confirming, 4, "0x01", 1
	in.Slot = intents.Slot{ID: 9, Kind: intents.Counter, Scope: "0xabc", Number: 0}
	in.CreatedAt = time.Date(2026, 1, 2, 4, 4, 5, 0, time.FixedZone("", 3600))
	want := `{"id":"pi_0001","route":"payouts","account":"acct_1","destination":"0x52908400098527886E0F7030069857D2E4169EE7","asset":"ETH",` +
		`"amount":"1000000000000000000","not_before":"2026-01-02T03:04:05.123456Z","expires_at":"2026-02-03T04:05:06Z","lane":"acct_1:a",` +
		`"metadata":{"order":"7"},"state":"confirming","version":4,"ref":"0x01","created_at":"2026-01-02T03:04:05Z","slot":"0xabc#0","attempts":1}`
	if diff := cmp.Diff(want, shown(t, intents.JSON(in))); diff != "" {
		t.Error(diff)
	}
	in = intents.Intent{ID: "i", State: intents.NeedsReview, Version: 4, Reason: intents.ReasonUnknown}
	if diff := cmp.Diff(`{"id":"i","state":"needs_review","version":4,"reason":"unknown_outcome"}`, shown(t, intents.JSON(in))); diff != "" {
		t.Error(diff)
	}
}

func TestEventViewShowsEvidenceAsItIs(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := intents.Event{Version: 1, At: at, Kind: intents.Changed, To: intents.Created, Actor: "cli"}
	if diff := cmp.Diff(`{"version":1,"at":"2026-01-02T03:04:05Z","kind":"changed","to":"created","actor":"cli"}`, shown(t, intents.EventJSON(e))); diff != "" {
		t.Error(diff)
	}
	for detail, want := range map[string]string{`{"status": 503}`: `{"status":503}`, `half {`: `"half {"`, "\xff": `"\ufffd"`} {
		e := intents.Event{Version: 3, At: at, Kind: intents.Evidence, From: intents.Settling, To: intents.Settling, ClaimID: "c", Detail: []byte(detail)}
		want := `{"version":3,"at":"2026-01-02T03:04:05Z","kind":"evidence","from":"settling","to":"settling","claim_id":"c","detail":` + want + `}`
		if diff := cmp.Diff(want, shown(t, intents.EventJSON(e))); diff != "" {
			t.Error(diff)
		}
	}
}
