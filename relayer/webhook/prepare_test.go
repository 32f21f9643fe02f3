package webhook_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func TestPrepareBytes(t *testing.T) {
	t.Parallel()
	cfg := config(t, "http://pay.example:8080")
	cfg.Clock = func() time.Time { return time.Unix(1_700_000_000, 0) }
	a := prepared(t, open(t, cfg), 0)
	const body = `{"id":"pi_0000","account":"acct_1","destination":"iban:DE00\u003c\u003e","asset":"EUR","amount":"1000","metadata":{"a":"1","b":"2"}}`
	mac := hmac.New(sha256.New, []byte(signKey))
	mac.Write([]byte("1700000000." + body))
	want := `{"v":1,"to":"pay.example","headers":{"Content-Type":"application/json","Idempotency-Key":"pi_0000",` +
		`"Relayer-Signature":"t=1700000000,v1=` + hex.EncodeToString(mac.Sum(nil)) + `"},"body":` + quote(body) + `}`
	if string(a.Bytes) != want {
		t.Errorf("bytes are\n%s\nwant, now and in every later version,\n%s", a.Bytes, want)
	}
}

// quote escapes as encoding/json does.
func quote(s string) string {
	s = string(bytes.ReplaceAll([]byte(s), []byte(`\`), []byte(`\\`)))
	return `"` + string(bytes.ReplaceAll([]byte(s), []byte(`"`), []byte(`\"`))) + `"`
}

// TestSubmitSameBytes is case 96: the stored bytes are what goes out, from any process and whenever.
func TestSubmitSameBytes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	base := says(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Idempotency-Key")+r.Header.Get("Relayer-Signature")+r.Header.Get("Content-Type")+string(body))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	cfg := config(t, base)
	a := prepared(t, open(t, cfg), 0)
	cfg.Secret = "rotated"
	cfg.Clock = func() time.Time { return time.Now().Add(time.Hour) }
	other := open(t, cfg)
	for range 3 {
		if r := other.Submit(t.Context(), a); r.Verdict != intents.Unknown {
			t.Fatalf("Submit = %v: %s", r.Verdict, r.Evidence)
		}
	}
	if len(seen) != 3 || seen[0] != seen[1] || seen[1] != seen[2] {
		t.Errorf("case 96: three attempts sent %q", seen)
	}
}

func TestPrepareOtherKinds(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, "http://pay.example"))
	for _, kind := range []intents.Kind{intents.Bump, intents.Cancel, intents.Fill} {
		_, err := s.Prepare(t.Context(), payment(0), intents.Slot{}, kind, nil)
		if _, ok := errors.AsType[*intents.RefusedError](err); !ok {
			t.Errorf("Prepare(%v) = %v, want it refused", kind, err)
		}
	}
}

// TestPlanAgain is case 97: the same bytes are sent until an hour before the provider forgets the key, never without keys.
func TestPlanAgain(t *testing.T) {
	t.Parallel()
	cfg := config(t, "http://pay.example")
	p, err := open(t, cfg).Plan(t.Context(), payment(0))
	if err != nil || p.Again != intents.For(23*time.Hour) || !p.Seen || p.Scope != "pay.example" {
		t.Errorf("Plan = %+v, %v; want again for 23h, seen, the host as scope", p, err)
	}
	cfg.Idempotent, cfg.KeyRetention, cfg.Lookup = false, 0, ""
	p, err = open(t, cfg).Plan(t.Context(), payment(0))
	if err != nil || p.Again != intents.Never || p.Seen {
		t.Errorf("Plan without keys = %+v, %v; want never again, not seen", p, err)
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	in, err := open(t, config(t, "http://pay.example")).Canonical(payment(0))
	if err != nil || in.Destination != payment(0).Destination {
		t.Errorf("Canonical = %q, %v; want the destination untouched", in.Destination, err)
	}
}
