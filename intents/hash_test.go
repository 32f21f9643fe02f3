package intents_test

import (
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// sample is a full intent with every field that is asked.
func sample() intents.Intent {
	amount, _ := intents.ParseAmount("1000000000000000000")
	return intents.Intent{
		ID: "pi_0001", Route: "payouts", Account: "acct_1",
		Destination: "0x52908400098527886E0F7030069857D2E4169EE7", Asset: "ETH", Amount: amount,
		NotBefore: time.Date(2026, 1, 2, 3, 4, 5, 123456000, time.UTC),
		ExpiresAt: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
		Lane:      "acct_1:a", Metadata: map[string]string{"order": "7", "memo": "café <&> \"x\""},
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
}

// The hash is stored with every intent: a change of it would make each resent intent a conflict.
func TestHashNeverChanges(t *testing.T) {
	const (
		full  = "ee6a622bb3c19f8f15852700b32f294a136296e988bdc290eeb263d5f625c397"
		least = "ce73fbd44f6c76245828f85a0de5349e10040eb783c1565453fb85d3de7ee8ee"
	)
	if got := sample().Hash().String(); got != full {
		t.Errorf("hash of the full sample is %s, want %s", got, full)
	}
	in := intents.Intent{Route: "r", Account: "a", Destination: "d", Asset: "X", Amount: intents.NewAmount(1)}
	if got := in.Hash().String(); got != least {
		t.Errorf("hash of the least intent is %s, want %s", got, least)
	}
}

func TestHashCoversAllContent(t *testing.T) {
	changes := map[string]func(*intents.Intent){
		"route":          func(in *intents.Intent) { in.Route += "x" },
		"account":        func(in *intents.Intent) { in.Account += "x" },
		"destination":    func(in *intents.Intent) { in.Destination += "x" },
		"asset":          func(in *intents.Intent) { in.Asset += "x" },
		"amount":         func(in *intents.Intent) { in.Amount = in.Amount.Add(intents.NewAmount(1)) },
		"not_before":     func(in *intents.Intent) { in.NotBefore = in.NotBefore.Add(time.Microsecond) },
		"no not_before":  func(in *intents.Intent) { in.NotBefore = time.Time{} },
		"expires_at":     func(in *intents.Intent) { in.ExpiresAt = in.ExpiresAt.Add(time.Microsecond) },
		"no expires_at":  func(in *intents.Intent) { in.ExpiresAt = time.Time{} },
		"times swapped":  func(in *intents.Intent) { in.NotBefore, in.ExpiresAt = in.ExpiresAt, in.NotBefore },
		"lane":           func(in *intents.Intent) { in.Lane += "x" },
		"metadata value": func(in *intents.Intent) { in.Metadata["order"] = "8" },
		"metadata key":   func(in *intents.Intent) { delete(in.Metadata, "order"); in.Metadata["Order"] = "7" },
		"no metadata":    func(in *intents.Intent) { in.Metadata = nil },
		"field boundary": func(in *intents.Intent) { in.Route, in.Account = in.Route+"a", "cct_1" },
		"key boundary":   func(in *intents.Intent) { in.Metadata = map[string]string{"order7": "", "memo": in.Metadata["memo"]} },
	}
	seen := map[intents.Hash]string{sample().Hash(): "sample"}
	for name, change := range changes {
		in := sample()
		change(&in)
		if other, ok := seen[in.Hash()]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[in.Hash()] = name
	}
}

func TestHashLeavesOutWhatIsNotContent(t *testing.T) {
	changes := map[string]func(*intents.Intent){
		"id":          func(in *intents.Intent) { in.ID = "pi_0002" },
		"traceparent": func(in *intents.Intent) { in.Traceparent = "" },
		"state":       func(in *intents.Intent) { in.State, in.Version, in.Ref = intents.Settled, 5, "0x01" },
		"under a µs":  func(in *intents.Intent) { in.NotBefore = in.NotBefore.Add(999 * time.Nanosecond) },
		"time zone":   func(in *intents.Intent) { in.ExpiresAt = in.ExpiresAt.In(time.FixedZone("east", 3600)) },
		"key order":   func(in *intents.Intent) { in.Metadata = map[string]string{"memo": in.Metadata["memo"], "order": "7"} },
	}
	for name, change := range changes {
		in := sample()
		change(&in)
		if in.Hash() != sample().Hash() {
			t.Errorf("%s changes the hash", name)
		}
	}
	bare, empty := sample(), sample()
	bare.Metadata, empty.Metadata = nil, map[string]string{}
	if bare.Hash() != empty.Hash() {
		t.Error("no metadata and empty metadata have different hashes")
	}
}

// Case 10: the same content in another order of fields and keys, with other blanks and another zone, is the same.
func TestCase10HashIsOfContentNotOfBytes(t *testing.T) {
	one := `{"v":1,"id":"i-10","account":"a","destination":"d","asset":"X","amount":"1000","not_before":"2026-01-02T03:04:05Z","metadata":{"a":"1","b":"2"}}`
	two := "{ \"metadata\" : {\"b\":\"2\", \"\\u0061\":\"1\"},\n\t\"not_before\":\"2026-01-02T05:04:05.0000001+02:00\"," +
		`"amount":"1000","asset":"X","destination":"d","account":"a","id":"i-10","v":1}`
	other := `{"v":1,"id":"i-10","account":"a","destination":"d","asset":"X","amount":"2000","not_before":"2026-01-02T03:04:05Z","metadata":{"a":"1","b":"2"}}`
	hash := func(body string) intents.Hash {
		m, err := intents.Decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return m.Intent.Hash()
	}
	if hash(one) != hash(two) {
		t.Error("the same content in another order has another hash")
	}
	if hash(one) == hash(other) {
		t.Error("another amount has the same hash")
	}
}
