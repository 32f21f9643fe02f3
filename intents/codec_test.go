package intents_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nsqrelayer/relayer/intents"
	"pgregory.net/rapid"
)

// wantInvalid checks that err is an *InvalidError for the field and says what would be right.
func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	invalid, ok := errors.AsType[*intents.InvalidError](err)
	switch {
	case !ok:
		t.Errorf("got error %v, want an *InvalidError", err)
	case invalid.Field != field || invalid.Want == "":
		t.Errorf("got %v, want it about %s", err, field)
	}
}

// with is a valid full body with one field replaced by raw JSON, left out (""), or added.
func with(field, raw string) string {
	fields := map[string]string{
		"v": `1`, "id": `"i-1"`, "account": `"acct_1"`, "destination": `"0x52908400098527886E0F7030069857D2E4169EE7"`,
		"asset": `"ETH"`, "amount": `"1000"`,
	}
	fields[field] = raw
	var b strings.Builder
	for name := range maps.Keys(fields) {
		if fields[name] != "" {
			fmt.Fprintf(&b, ",%q:%s", name, fields[name])
		}
	}
	return "{" + b.String()[1:] + "}"
}

func refuse(t *testing.T, field, body string) {
	t.Helper()
	m, err := intents.Decode([]byte(body))
	if err == nil {
		t.Errorf("accepted %.100s as %+v", body, m)
		return
	}
	wantInvalid(t, err, field)
	if !cmp.Equal(m, intents.Message{}) {
		t.Errorf("%.100s gives %+v beside its error", body, m)
	}
}

func accept(t *testing.T, body string) intents.Message {
	t.Helper()
	m, err := intents.Decode([]byte(body))
	if err != nil {
		t.Fatalf("%.200s: %v", body, err)
	}
	return m
}

func TestDecodeReference(t *testing.T) {
	for _, body := range []string{
		`{"v":1,"intent_id":"pi_0001"}`,
		`{"intent_id":"pi_0001","v":1}`,
		" {\t\"v\" : 1 ,\r\n \"intent_id\" : \"pi_0001\" } ",
		`{"\u0076":1,"intent_id":"pi\u005f0001"}`,
		"{\"v\":1,\"intent_id\":\"pi_0001\"}\n",
	} {
		if diff := cmp.Diff(intents.Message{ID: "pi_0001"}, accept(t, body)); diff != "" {
			t.Errorf("%s:\n%s", body, diff)
		}
	}
}

func TestDecodeFull(t *testing.T) {
	m := accept(t, `{"v":1,"id":"pi_0001","account":"acct_1","destination":"0x52908400098527886E0F7030069857D2E4169EE7","asset":"ETH",
		"amount":"1000000000000000000","not_before":"2026-01-02T04:04:05.123456789+01:00","expires_at":"2026-02-03T04:05:06Z","lane":"acct_1:a",
		"metadata":{"order":"7","memo":"caf\u00e9 <&> \"x\""},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`)
	want := sample()
	want.Route = ""
	if diff := cmp.Diff(intents.Message{ID: "pi_0001", Full: true, Intent: want}, m); diff != "" {
		t.Error(diff)
	}
	if m.Intent.NotBefore.Location() != time.UTC {
		t.Errorf("not_before is in %v", m.Intent.NotBefore.Location())
	}
}

func TestDecodeFullWithoutTheOptionalFields(t *testing.T) {
	in := accept(t, with("metadata", `{}`)).Intent
	if !in.NotBefore.IsZero() || !in.ExpiresAt.IsZero() || in.Lane != "" || in.Metadata != nil || in.Traceparent != "" {
		t.Errorf("got %+v", in)
	}
}

func TestCase1NotAnIntent(t *testing.T) {
	for _, body := range []string{
		`{"id":"i-1"`, ` `, ``, `null`, `[]`, `"x"`, `1`, `true`, `{`, `{]`, `[{"v":1,"intent_id":"i-1"}]`, `{"v":1,"intent_id":"i-1"`,
		`{"v":1,"intent_id":"i-1",}`, `{"v":1 "intent_id":"i-1"}`, `{"v":1,"intent_id" "i-1"}`, `{v:1,"intent_id":"i-1"}`, `{'v':1}`, `{"v":1,,"intent_id":"i-1"}`,
	} {
		refuse(t, "body", body)
	}
	refuse(t, "v", `{}`)
	refuse(t, "id", `{"v":1}`)
}

func TestCase3TrailingData(t *testing.T) {
	good := `{"v":1,"intent_id":"i-3"}`
	for _, tail := range []string{" garbage", `{"v":1,"intent_id":"i-3b"}`, "\n" + good, "}", ",", "\x00", " null", "\xef\xbb\xbf", "\u00a0"} {
		refuse(t, "body", good+tail)
		refuse(t, "body", with("lane", `"l"`)+tail)
	}
	refuse(t, "body", "\xef\xbb\xbf"+good)
	_, err := intents.Decode([]byte(good + " garbage"))
	if !strings.Contains(fmt.Sprint(err), "trailing data") {
		t.Errorf("%v does not name the trailing data", err)
	}
	accept(t, with("lane", `"l"`)+"\n")
}

// Case 5: amounts as JSON numbers are refused, as strings they are exact.
func TestCase5AmountAsNumber(t *testing.T) {
	for _, raw := range []string{"9007199254740993", "1", "1e18", "1.0", "0", "-1", "null", "true", "{}", `["1"]`} {
		refuse(t, "amount", with("amount", raw))
	}
	if got := accept(t, with("amount", `"9007199254740993"`)).Intent.Amount.String(); got != "9007199254740993" {
		t.Errorf("got %s", got)
	}
}

func TestCase6AmountAbove64Bits(t *testing.T) {
	in := accept(t, with("amount", `"33066915805160912602"`)).Intent
	shown, _ := json.Marshal(intents.JSON(in))
	if got := in.Amount.String(); got != "33066915805160912602" || !strings.Contains(string(shown), `"amount":"33066915805160912602"`) {
		t.Errorf("got %s, shown as %s", got, shown)
	}
}

func TestCase8AmountGrammar(t *testing.T) {
	for _, s := range badAmounts() {
		raw, _ := json.Marshal(s)
		refuse(t, "amount", with("amount", string(raw)))
	}
	refuse(t, "amount", with("amount", ""))
}

// Case 9: an id is ASCII, so NFC and NFD do not arise; letter case distinguishes.
func TestCase9Ids(t *testing.T) {
	long := strings.Repeat("i", 64)
	for _, id := range []string{
		``, ` `, ` i-9`, `i-9 `, `i 9`, `i-9\u200b`, `\ufeffi-9`, `i\n9`, `i\t9`, `i-9\u0000`, `\ud800`, `\ud801`, `\ufffd`, "café", "cafe\u0301", "і-9",
		`.`, `-9`, `_9`, `:9`, `i/9`, `i'9`, `i\"9`, `i\\9`, `i%009`, long + "i",
	} {
		refuse(t, "id", with("id", `"`+id+`"`))
		refuse(t, "intent_id", `{"v":1,"intent_id":"`+id+`"}`)
		refuse(t, "account", with("account", `"`+id+`"`))
		refuse(t, "lane", with("lane", `"`+id+`"`))
	}
	for _, body := range []string{with("id", "\"a\xff\""), with("id", "\"a\xfe\""), "{\"v\":1,\"intent_id\":\"a\xff\"}", with("metadata", "{\"a\":\"\xc0\x80\"}")} {
		refuse(t, "body", body)
	}
	for _, id := range []string{"i-9", "I-9", "9", "a_b.c:d-e", long} {
		if got := accept(t, with("id", `"`+id+`"`)); got.ID != id || got.Intent.ID != id {
			t.Errorf("id %s became %s and %s", id, got.ID, got.Intent.ID)
		}
		if got := accept(t, `{"v":1,"intent_id":"`+id+`"}`); got.ID != id {
			t.Errorf("id %s became %s", id, got.ID)
		}
	}
}

func TestCase11NulAndControlCharacters(t *testing.T) {
	refuse(t, "id", with("id", `"a\u0000b"`))
	refuse(t, "body", with("id", "\"a\x00b\""))
	refuse(t, "body", with("id", "\"a\nb\""))
	refuse(t, "destination", with("destination", `"0x\u0000"`))
	for _, memo := range []string{`x\u0000`, `\ud800`, `\udc00\ud800`, `x\ufffd`, `a\nb`, `\u007f`, `\u0085`} {
		refuse(t, "metadata", with("metadata", `{"memo":"`+memo+`"}`))
		refuse(t, "metadata", with("metadata", `{"`+memo+`":"x"}`))
	}
	in := accept(t, with("metadata", `{"memo":"zażółć \ud83d\ude00 \u200d '; drop table intents"}`)).Intent
	if got := in.Metadata["memo"]; got != "zażółć 😀 \u200d '; drop table intents" {
		t.Errorf("memo became %q", got)
	}
}

func TestCase13UnknownMisspelledAndRepeatedFields(t *testing.T) {
	for _, body := range []string{
		with("acount", `"a"`), with("memo2", `"a"`), with("route", `"payouts"`), with("chain", `"sepolia"`), with("", `"a"`),
		with("Id", `"i-1"`), with("ID", `"i-2"`), with("Amount", `"2"`), with("amount ", `"2"`), with("metadatA", `{}`), with("laN\u212ae", `"k"`),
		with("intents", `[{"id":"x"}]`), `{"v":1,"intent_id":"i-1","id":"i-1"}`, with("intent_id", `"i-1"`), `{"v":1,"intent_id":"i-1","lane":"l"}`,
		`{"v":1,"intent_id":"i-1","intent_id":"i-1"}`, `{"v":1,"v":1,"intent_id":"i-1"}`, `{"v":1,"intent_id":"i-1","intent_\u0069d":"i-2"}`,
		with("metadata", `{"a":"1","a":"1"}`),
	} {
		refuse(t, "body", body)
	}
	refuse(t, "body", `{"v":1,"Intent_ID":"i-1"}`)
	refuse(t, "body", strings.Replace(with("", ""), `"account"`, `"Account"`, 1))
}

func TestEveryRequiredFieldIsMissed(t *testing.T) {
	for _, field := range []string{"v", "id", "account", "destination", "asset", "amount"} {
		refuse(t, field, with(field, ""))
	}
}

func TestEveryFieldRefusesOtherTypes(t *testing.T) {
	for _, field := range []string{"id", "account", "destination", "asset", "amount", "not_before", "expires_at", "lane", "metadata", "traceparent"} {
		for _, raw := range []string{`null`, `1`, `true`, `[]`, `["a"]`, `""`} {
			refuse(t, field, with(field, raw))
		}
	}
	for _, raw := range []string{`{"a":1}`, `{"a":null}`, `{"a":{}}`, `{"a":[]}`, `{"a":true}`, `{"":"x"}`, `{"a b":"x"}`} {
		refuse(t, "metadata", with("metadata", raw))
	}
	for _, raw := range []string{`null`, `7`, `{}`} {
		refuse(t, "intent_id", `{"v":1,"intent_id":`+raw+`}`)
	}
}

func TestCase14Times(t *testing.T) {
	for _, raw := range []string{
		`1764000000000`, `1764000000`, `63746702582048`, `0`, `-1`, `"1764000000"`, `"0"`, `"2026-13-01T00:00:00Z"`, `"2026-02-30T00:00:00Z"`,
		`"2026-01-01"`, `"2026-01-01T00:00:00"`, `"2026-01-01 00:00:00Z"`, `"2026-01-01T00:00:00z"`, `"2026-01-01T1:00:00Z"`, `"2026-01-01T00:00:00,5Z"`,
		`"2026-01-01T24:00:00Z"`, `"2026-01-01T00:00:60Z"`, `"2026-01-01T00:00:00+25:00"`, `"2026-01-01T00:00:00+24:00"`, `"2026-01-01T00:00:00-00:60"`, `"2026-01-01T00:00:00+0100"`, `"2026-01-01T00:00:00"`, `"0001-01-01T00:00:00Z"`, `"1970-01-01T00:00:00Z"`,
		`"1999-12-31T23:59:59Z"`, `"2000-01-01T00:30:00+01:00"`, `"2100-01-01T00:00:00Z"`, `"2099-12-31T23:30:00-01:00"`, `"57869-01-01T00:00:00Z"`,
		`" 2026-01-01T00:00:00Z"`, `"infinity"`, `"now"`,
	} {
		refuse(t, "not_before", with("not_before", raw))
		refuse(t, "expires_at", with("expires_at", raw))
	}
	for raw, want := range map[string]string{
		"2000-01-01T00:00:00Z":         "2000-01-01T00:00:00Z",
		"2099-12-31T23:59:59.999999Z":  "2099-12-31T23:59:59.999999Z",
		"2026-01-01T01:00:00+01:00":    "2026-01-01T00:00:00Z",
		"2026-01-01T00:00:00.1234567Z": "2026-01-01T00:00:00.123456Z",
	} {
		if got := accept(t, with("expires_at", `"`+raw+`"`)).Intent.ExpiresAt.Format(time.RFC3339Nano); got != want {
			t.Errorf("%s became %s, want %s", raw, got, want)
		}
	}
}

func TestExpiryComesAfterNotBefore(t *testing.T) {
	both := func(notBefore, expires string) string {
		return strings.Replace(with("not_before", `"`+notBefore+`"`), "{", `{"expires_at":"`+expires+`",`, 1)
	}
	refuse(t, "expires_at", both("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"))
	refuse(t, "expires_at", both("2026-01-01T00:00:00Z", "2025-12-31T23:59:59Z"))
	refuse(t, "expires_at", both("2026-01-01T00:00:00.0000001Z", "2026-01-01T00:00:00.0000009Z")) // the same microsecond
	accept(t, both("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z"))
}

// Case 15: no expiry is never, not 1970, and no body can say 0.
func TestCase15NoExpiryIsNotExpired(t *testing.T) {
	in := accept(t, with("lane", `"l"`)).Intent
	if in.Expired(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)) || in.Expired(time.Time{}) {
		t.Error("an intent without expiry has expired")
	}
}

func TestCase16OversizedBodies(t *testing.T) {
	for _, n := range []int{intents.MaxBody + 1, 1<<20 + 1} {
		_, err := intents.Decode([]byte(strings.Repeat(" ", n-2) + "{}"))
		long, ok := errors.AsType[*intents.TooLongError](err)
		if !ok || long.Size != n || long.Most != intents.MaxBody || !strings.Contains(fmt.Sprint(err), fmt.Sprint(n)) {
			t.Errorf("%d bytes: got %v", n, err)
		}
	}
	full := `{"v":1,"intent_id":"i-16"}`
	accept(t, strings.Repeat(" ", intents.MaxBody-len(full))+full)
	refuse(t, "id", with("id", `"`+strings.Repeat("x", 6400)+`"`))
	refuse(t, "metadata", with("metadata", `{"memo":"`+strings.Repeat("x", 513)+`"}`))
	accept(t, with("metadata", `{"memo":"`+strings.Repeat("x", 512)+`"}`))
	refuse(t, "metadata", with("metadata", `{"`+strings.Repeat("k", 65)+`":""}`))
}

func TestCase16NestedBodies(t *testing.T) {
	deep := strings.Repeat("[", 20_000)
	for _, body := range []string{
		deep, deep + strings.Repeat("]", 20_000), with("lane", deep+strings.Repeat("]", 20_000)), strings.Repeat(`{"a":`, 10_000),
		`{"v":2,"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`,
	} {
		refuse(t, "body", body)
	}
}

func TestCase16ManyNames(t *testing.T) {
	object := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":"x"`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	refuse(t, "body", object(4000))
	refuse(t, "metadata", with("metadata", object(33)))
	accept(t, with("metadata", object(32)))
}

func TestDestinations(t *testing.T) {
	for _, s := range []string{" ", "a b", "a\\tb", "\x7f", "é", strings.Repeat("x", 257)} {
		refuse(t, "destination", with("destination", `"`+s+`"`))
	}
	for _, s := range []string{"x", "https://example.com/pay?a=b&c=%20#<>", "!~", strings.Repeat("x", 256)} {
		if got := accept(t, with("destination", `"`+s+`"`)).Intent.Destination; got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
}

func TestAssets(t *testing.T) {
	for _, s := range []string{"-", "E T", strings.Repeat("x", 33)} {
		refuse(t, "asset", with("asset", `"`+s+`"`))
	}
	accept(t, with("asset", `"`+strings.Repeat("x", 32)+`"`))
}

func TestTraceparents(t *testing.T) {
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	accept(t, with("traceparent", `"`+good+`"`))
	for _, s := range []string{
		good + "0", good[1:], "01" + good[2:], "ff" + good[2:], strings.ToUpper(good), strings.ReplaceAll(good, "-", "_"),
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01", good + "-x",
	} {
		refuse(t, "traceparent", with("traceparent", `"`+s+`"`))
	}
}

func TestNewerVersionsAreToldFromInvalidBodies(t *testing.T) {
	for body, want := range map[string]int{
		`{"v":2,"intent_id":"i-1"}`:                        2,
		`{"who":{"knows":[1,null,{"x":1.5}]},"v":3}`:       3,
		`{"ID":"i-1","amount":7,"v":17}`:                   17,
		`{"v":2}`:                                          2,
		strings.Replace(with("lane", `""`), `:1`, `:2`, 1): 2,
		`{"v":2,"metadata":{"a":{"b":{"c":{"d":["e"]}}}}}`: 2,
	} {
		_, err := intents.Decode([]byte(body))
		newer, ok := errors.AsType[*intents.NewerError](err)
		if _, invalid := errors.AsType[*intents.InvalidError](err); !ok || invalid || newer.Version != want {
			t.Errorf("%s: got %v, want version %d to be newer", body, err, want)
		}
	}
	for _, v := range []string{`0`, `-1`, `1.0`, `1e0`, `2.0`, `"1"`, `"2"`, `null`, `true`, `[1]`, `99999999999999999999`} {
		refuse(t, "v", `{"v":`+v+`,"intent_id":"i-1"}`)
	}
	for _, body := range []string{`{"v":2`, `{"v":2}}`, `{"v":2,"v":3}`, `{"v":2,"a":1,"a":1}`} {
		refuse(t, "body", body)
	}
}

func TestErrorsNameEveryBadField(t *testing.T) {
	_, err := intents.Decode([]byte(`{"v":1,"id":" ","account":"a","destination":"d e","asset":"X","amount":"1","lane":"é"}`))
	for _, field := range []string{"id", "destination", "lane"} {
		if !strings.Contains(fmt.Sprint(err), field+": ") {
			t.Errorf("%v does not name %s", err, field)
		}
	}
	if strings.Contains(fmt.Sprint(err), "asset: ") {
		t.Errorf("%v names asset", err)
	}
}

func TestErrorsNeverShowMetadataValues(t *testing.T) {
	_, err := intents.Decode([]byte(with("metadata", `{"iban":"DE00\u00001234"}`)))
	if s := fmt.Sprint(err); strings.Contains(s, "DE00") || !strings.Contains(s, "iban") {
		t.Errorf("got %s", s)
	}
}

func TestValidateHasTheRulesOfDecode(t *testing.T) {
	if err := sample().Validate(); err != nil {
		t.Fatal(err)
	}
	wide := map[string]string{}
	for i := range 33 {
		wide[fmt.Sprint(i)] = ""
	}
	changes := map[string][]func(*intents.Intent){
		"id":          {func(in *intents.Intent) { in.ID = "" }, func(in *intents.Intent) { in.ID = "a b" }},
		"account":     {func(in *intents.Intent) { in.Account = "" }},
		"destination": {func(in *intents.Intent) { in.Destination = "" }, func(in *intents.Intent) { in.Destination = "\xff" }},
		"asset":       {func(in *intents.Intent) { in.Asset = "" }},
		"amount": {
			func(in *intents.Intent) { in.Amount = intents.Amount{} },
			func(in *intents.Intent) { in.Amount = in.Amount.Neg() },
			func(in *intents.Intent) { in.Amount = intents.AmountOf(pow10(78)) },
			func(in *intents.Intent) { in.Amount = intents.AmountOf(pow10(1_000_000)) },
		},
		"not_before": {func(in *intents.Intent) { in.NotBefore = time.Unix(1764000000000, 0) }, func(in *intents.Intent) { in.NotBefore = time.Unix(0, 0) }},
		"expires_at": {
			func(in *intents.Intent) { in.ExpiresAt = time.Unix(0, 0) },
			func(in *intents.Intent) { in.ExpiresAt = in.NotBefore.Add(999 * time.Nanosecond) },
		},
		"lane": {func(in *intents.Intent) { in.Lane = " " }},
		"metadata": {
			func(in *intents.Intent) { in.Metadata[""] = "x" },
			func(in *intents.Intent) { in.Metadata["memo"] = "\xff" },
			func(in *intents.Intent) { in.Metadata["memo"] = "\x00" },
			func(in *intents.Intent) { in.Metadata = wide },
		},
		"traceparent": {func(in *intents.Intent) { in.Traceparent = "x" }},
	}
	for field, all := range changes {
		for i, change := range all {
			in := sample()
			change(&in)
			err := in.Validate()
			wantInvalid(t, err, field)
			if n := strings.Count(fmt.Sprint(err), " is invalid, want "); n != 1 {
				t.Errorf("%s change %d: %d errors, want 1: %.200v", field, i, n, err)
			}
			if _, err := intents.Encode(in); err == nil {
				t.Errorf("%s change %d is written", field, i)
			}
		}
	}
}

func TestEncodeWritesAFixedOrder(t *testing.T) {
	got, err := intents.Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"id":"pi_0001","account":"acct_1","destination":"0x52908400098527886E0F7030069857D2E4169EE7","asset":"ETH","amount":"1000000000000000000",` +
		`"not_before":"2026-01-02T03:04:05.123456Z","expires_at":"2026-02-03T04:05:06Z","lane":"acct_1:a","metadata":{"memo":"café <&> \"x\"","order":"7"},` +
		`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	bare := intents.Intent{ID: "i", Account: "a", Destination: "https://x/?a=1&b=<2>", Asset: "X", Amount: intents.NewAmount(1)}
	got, err = intents.Encode(bare)
	if want := `{"v":1,"id":"i","account":"a","destination":"https://x/?a=1&b=<2>","asset":"X","amount":"1"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestEncodeReference(t *testing.T) {
	got, err := intents.EncodeReference("pi_0001")
	if want := `{"v":1,"intent_id":"pi_0001"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	_, err = intents.EncodeReference(`pi"`)
	wantInvalid(t, err, "intent_id")
}

// drawIntent makes any valid intent.
func drawIntent(t *rapid.T) intents.Intent {
	name := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}`)
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "none") {
			return time.Time{}
		}
		zone := time.FixedZone("", rapid.IntRange(-12*3600, 14*3600).Draw(t, "zone"))
		return time.Unix(rapid.Int64Range(946684800, 4102444799).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(zone)
	})
	in := intents.Intent{
		ID: name.Draw(t, "id"), Account: name.Draw(t, "account"), Asset: rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.:-]{0,31}`).Draw(t, "asset"),
		Destination: rapid.StringMatching(`[!-~]{1,256}`).Draw(t, "destination"),
		NotBefore:   moment.Draw(t, "not_before"), ExpiresAt: moment.Draw(t, "expires_at"),
		Lane:        rapid.OneOf(rapid.Just(""), name).Draw(t, "lane"),
		Metadata:    rapid.MapOfN(rapid.StringMatching(`[A-Za-z0-9_.:-]{1,64}`), rapid.StringN(0, -1, 512), 0, 32).Draw(t, "metadata"),
		Traceparent: rapid.OneOf(rapid.Just(""), rapid.StringMatching(`00-[0-9a-f]{31}1-[0-9a-f]{15}1-[0-9a-f]{2}`)).Draw(t, "traceparent"),
	}
	in.Amount, _ = intents.ParseAmount(rapid.StringMatching(`[1-9][0-9]{0,77}`).Draw(t, "amount"))
	if in.Validate() != nil {
		t.Skip("control characters, or an expiry before its start")
	}
	return in
}

func TestWhatIsEncodedDecodesToTheSameContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawIntent(t)
		body, err := intents.Encode(in)
		if err != nil {
			t.Fatal(err)
		}
		m, err := intents.Decode(body)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		in.NotBefore, in.ExpiresAt = in.NotBefore.Truncate(time.Microsecond), in.ExpiresAt.Truncate(time.Microsecond)
		if len(in.Metadata) == 0 {
			in.Metadata = nil
		}
		if diff := cmp.Diff(intents.Message{ID: in.ID, Full: true, Intent: in}, m); diff != "" {
			t.Errorf("%s:\n%s", body, diff)
		}
		if m.Intent.Hash() != in.Hash() {
			t.Errorf("%s: other content", body)
		}
	})
}

func TestLongestValidIntentFitsABody(t *testing.T) {
	in := sample()
	in.Metadata = map[string]string{}
	for i := range 32 {
		in.Metadata[fmt.Sprintf("%064d", i)] = strings.Repeat("\u2028", 170) + `""` // JSON writes them as six bytes and two
	}
	in.Destination = strings.Repeat(`"`, 256)
	body, err := intents.Encode(in)
	if err != nil || len(body) > intents.MaxBody {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	accept(t, string(body))
}

func BenchmarkDecode(b *testing.B) {
	full, _ := intents.Encode(sample())
	for name, body := range map[string]string{
		"reference": `{"v":1,"intent_id":"pi_0001"}`, "reference_spaced": `{"v": 1, "intent_id": "pi_0001"}`, "full": string(full),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := intents.Decode([]byte(body)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	in := sample()
	b.Run("reference", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := intents.EncodeReference(in.ID); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("full", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := intents.Encode(in); err != nil {
				b.Fatal(err)
			}
		}
	})
}
