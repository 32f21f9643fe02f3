package intents

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds on the fields of an intent, in bytes unless a comment says otherwise.
const (
	maxName        = 64 // id, account, lane, metadata key
	maxAsset       = 32
	maxDestination = 256
	maxMetadata    = 32 // keys
	maxValue       = 512
)

// What is right where a field is wrong.
const (
	wantName        = "1 to 64 of A-Z a-z 0-9 _ . : -, the first a letter or digit"
	wantAsset       = "1 to 32 of A-Z a-z 0-9 _ . : -, the first a letter or digit"
	wantDestination = "1 to 256 printable ASCII characters without blanks"
	wantAmount      = "a positive whole number of at most 78 digits"
	wantTime        = "an RFC 3339 time from 2000 up to 2100, like 2026-01-02T03:04:05Z"
	wantKey         = "metadata keys of 1 to 64 of A-Z a-z 0-9 _ . : -"
	wantValue       = "metadata values of at most 512 bytes of UTF-8, without control characters and U+FFFD"
	wantTraceparent = "a W3C traceparent of version 00, like 00-<32 hex>-<16 hex>-<2 hex>, ids not all zero"
)

// Validate checks what is asked, by the rules that [Decode] has for a body:
//
//   - ID, Account: ^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$. ASCII alone, so no two ids look the same or differ by form.
//   - Destination: 1 to 256 printable ASCII characters without blanks; the route's sender knows more.
//   - Asset: ^[A-Za-z0-9][A-Za-z0-9_.:-]{0,31}$.
//   - Amount: positive, at most [MaxAmountDigits] digits.
//   - NotBefore, ExpiresAt: zero, or from the year 2000 up to 2100; the expiry later by a microsecond or more.
//   - Lane: empty, or as ID.
//   - Metadata: at most 32 keys ^[A-Za-z0-9_.:-]{1,64}$, values of at most 512 bytes of UTF-8 without control
//     characters and without U+FFFD, which is what decoders make of broken text.
//   - Traceparent: empty, or ^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$ with neither id all zero.
//
// Route is not looked at: it names a part of the configuration. Errors: one *InvalidError for each field, joined.
// Errors about metadata show keys, never values.
func (in Intent) Validate() error {
	return errors.Join(
		checkName("id", in.ID),
		checkName("account", in.Account),
		check(isDestination(in.Destination), "destination", in.Destination, wantDestination),
		check(isName(in.Asset, maxAsset), "asset", in.Asset, wantAsset),
		checkAmount(in.Amount),
		checkTime("not_before", in.NotBefore),
		checkExpiry(in.NotBefore, in.ExpiresAt),
		check(in.Lane == "" || isName(in.Lane, maxName), "lane", in.Lane, wantName),
		checkMetadata(in.Metadata),
		check(in.Traceparent == "" || isTraceparent(in.Traceparent), "traceparent", in.Traceparent, wantTraceparent),
	)
}

func check(ok bool, field, value, want string) error {
	if ok {
		return nil
	}
	return &InvalidError{Field: field, Value: value, Want: want}
}

func checkName(field, s string) error { return check(isName(s, maxName), field, s, wantName) }

func checkAmount(a Amount) error {
	if bits := a.int().BitLen(); bits > 4*MaxAmountDigits { // also too long to be written out
		return &InvalidError{Field: "amount", Value: fmt.Sprintf("a number of %d bits", bits), Want: wantAmount}
	}
	s := a.String()
	return check(a.Sign() > 0 && len(s) <= MaxAmountDigits, "amount", s, wantAmount)
}

func checkTime(field string, t time.Time) error {
	if t.IsZero() || inWindow(t) {
		return nil
	}
	return &InvalidError{Field: field, Value: t.Format(time.RFC3339Nano), Want: wantTime}
}

// checkExpiry compares the times as the database keeps them.
func checkExpiry(notBefore, expires time.Time) error {
	if err := checkTime("expires_at", expires); err != nil || expires.IsZero() || !inWindow(notBefore) {
		return err
	}
	if expires.Truncate(time.Microsecond).After(notBefore.Truncate(time.Microsecond)) {
		return nil
	}
	return &InvalidError{Field: "expires_at", Value: expires.Format(time.RFC3339Nano), Want: "a time after not_before"}
}

func checkMetadata(all map[string]string) error {
	if len(all) > maxMetadata {
		return &InvalidError{Field: "metadata", Value: fmt.Sprintf("%d keys", len(all)), Want: "at most 32 keys"}
	}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if k == "" || len(k) > maxName || strings.ContainsFunc(k, notName) {
			return &InvalidError{Field: "metadata", Value: k, Want: wantKey}
		}
		if !isValue(all[k]) {
			return &InvalidError{Field: "metadata", Value: k, Want: wantValue}
		}
	}
	return nil
}

// isName says whether s is ^[A-Za-z0-9][A-Za-z0-9_.:-]*$ of at most so many bytes.
func isName(s string, most int) bool {
	return s != "" && len(s) <= most && isAlnum(rune(s[0])) && !strings.ContainsFunc(s, notName)
}

func isAlnum(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

func notName(r rune) bool {
	return !isAlnum(r) && r != '_' && r != '.' && r != ':' && r != '-'
}

func isDestination(s string) bool {
	return s != "" && len(s) <= maxDestination && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func isValue(s string) bool {
	bad := func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }
	return len(s) <= maxValue && !strings.ContainsFunc(s, bad)
}

func isTraceparent(s string) bool {
	const length = len("00-") + 32 + len("-") + 16 + len("-") + 2
	if len(s) != length || s[:3] != "00-" || s[35] != '-' || s[52] != '-' {
		return false
	}
	trace, parent, flags := s[3:35], s[36:52], s[53:]
	return isHex(trace+parent+flags) && strings.Trim(trace, "0") != "" && strings.Trim(parent, "0") != ""
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// inWindow refuses dates that come of a wrong unit and those the database cannot keep.
func inWindow(t time.Time) bool {
	y := t.UTC().Year()
	return 2000 <= y && y < 2100
}
