package intents

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func seeds() []string {
	const full = `{"v":1,"id":"i-1","account":"a","destination":"d","asset":"X","amount":"1000"`
	return []string{
		`{"v":1,"intent_id":"pi_0001"}`, `{"intent_id":"pi_0001","v":1}`, `{"v":2,"x":[{}]}`, full + `}`,
		full + `,"not_before":"2026-01-02T03:04:05.1234567+01:00","expires_at":"2026-02-02T03:04:05Z","lane":"l","metadata":{"a":"\u00e9\ud83d\ude00"},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`,
		`{"id":"i-1"`, ``, ` `, `null`, `[]`, `"x"`, `{}`, // case 1
		full + `} garbage`, full + `}` + full + `}`, "\xef\xbb\xbf" + full + `}`, full + "}\n", // case 3
		strings.Replace(full, `"1000"`, `9007199254740993`, 1) + `}`,        // case 5
		strings.Replace(full, `1000`, `33066915805160912602`, 1) + `}`,      // case 6
		strings.Replace(full, `1000`, `1e18`, 1) + `}`,                      // case 8
		"{\"v\":1,\"intent_id\":\"a\xff\"}", `{"v":1,"intent_id":"\ud800"}`, // case 9
		full + `,"metadata":{"memo":"x\u0000"}}`,               // case 11
		full + `,"Amount":"2000"}`, full + `,"amount":"2000"}`, // case 13
		full + `,"not_before":1764000000000}`,    // case 14
		`{"v":1,"x":` + strings.Repeat("[", 100), // case 16
	}
}

// FuzzDecode: it never panics; its errors are the documented ones; what it accepts, encoding/json reads as the same id,
// Validate allows, and Encode writes so that it decodes to an equal message. The short way agrees with the long one.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := Decode(body)
		if err != nil {
			checkRefusal(t, m, err)
			return
		}
		checkJSON(t, body, m)
		checkAgain(t, m)
		long, err := decodeObject(body)
		if diff := cmp.Diff(long, m); err != nil || diff != "" {
			t.Errorf("the long way: %v\n%s", err, diff)
		}
	})
}

func checkRefusal(t *testing.T, m Message, err error) {
	_, invalid := errors.AsType[*InvalidError](err)
	_, newer := errors.AsType[*NewerError](err)
	_, long := errors.AsType[*TooLongError](err)
	if !invalid && !newer && !long {
		t.Errorf("undocumented error %T: %v", err, err)
	}
	if !utf8.ValidString(err.Error()) || strings.ContainsRune(err.Error(), 0) {
		t.Errorf("the error's text cannot be stored: %q", err.Error())
	}
	if !cmp.Equal(m, Message{}) {
		t.Errorf("%+v beside the error %v", m, err)
	}
}

// checkJSON reads an accepted body as any program would.
func checkJSON(t *testing.T, body []byte, m Message) {
	var plain struct {
		V           int
		Intent_ID   string
		ID          string
		Account     string
		Destination string
		Asset       string
		Amount      string
		Lane        string
		Metadata    map[string]string
		Traceparent string
	}
	if err := json.Unmarshal(body, &plain); err != nil {
		t.Fatalf("accepted, but encoding/json says %v", err)
	}
	if plain.V != 1 || plain.ID+plain.Intent_ID != m.ID || m.Full != (plain.ID != "") {
		t.Errorf("encoding/json reads %+v, we %+v", plain, m)
	}
	got := []string{plain.ID, plain.Account, plain.Destination, plain.Asset, plain.Lane, plain.Traceparent}
	in := m.Intent
	if diff := cmp.Diff(got, []string{in.ID, in.Account, in.Destination, in.Asset, in.Lane, in.Traceparent}); diff != "" {
		t.Error(diff)
	}
	if m.Full && (plain.Amount != in.Amount.String() || len(plain.Metadata) != len(in.Metadata)) {
		t.Errorf("encoding/json reads %+v, we %+v", plain, m)
	}
}

// checkAgain writes an accepted message and reads it back.
func checkAgain(t *testing.T, m Message) {
	body, err := EncodeReference(m.ID)
	if m.Full {
		if err := m.Intent.Validate(); err != nil {
			t.Errorf("accepted, but invalid: %v", err)
		}
		body, err = Encode(m.Intent)
	}
	if err != nil {
		t.Fatalf("accepted, but not written: %v", err)
	}
	again, err := Decode(body)
	if diff := cmp.Diff(m, again); err != nil || diff != "" {
		t.Errorf("%s: %v\n%s", body, err, diff)
	}
	if m.Intent.Hash() != again.Intent.Hash() {
		t.Errorf("%s: other content", body)
	}
}

// FuzzReference: the short way takes an id exactly when the long way does and JSON needs no escapes for it.
func FuzzReference(f *testing.F) {
	for _, id := range []string{"pi_0001", "", " ", "i-9", `\u0041`, `a"`, `","v":1,"x":"`, "a\x00", "café", strings.Repeat("i", 65)} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		body := []byte(referenceHead + id + referenceTail)
		short, ok := plainReference(body)
		long, err := decodeObject(body)
		switch {
		case ok && (err != nil || long.ID != short || long.Full || short != id):
			t.Errorf("short way %q, long way %+v, %v", short, long, err)
		case !ok && err == nil && !strings.Contains(id, `\`):
			t.Errorf("only the long way takes %q", id)
		}
	})
}

// FuzzParseAmount: accepted exactly by the grammar, and written back as it came.
func FuzzParseAmount(f *testing.F) {
	for _, s := range []string{"1", "0", "-1", "+5", "1.5", "1e18", "0x10", "010", "1_000", " 7", "७", strings.Repeat("9", 78), strings.Repeat("9", 79)} {
		f.Add(s)
	}
	grammar := regexp.MustCompile(`^[1-9][0-9]{0,77}$`)
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAmount(s)
		if grammar.MatchString(s) != (err == nil) || (err == nil && a.String() != s) {
			t.Errorf("ParseAmount(%q) = %s, %v", s, a, err)
		}
	})
}
