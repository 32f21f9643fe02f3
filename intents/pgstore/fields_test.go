package pgstore

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsqrelayer/relayer/internal/pgtest"
)

const sendOne = `select record_send(row($1::text, $2::text::numeric, $3::timestamptz, $4::bigint, $5::int, $6::smallint, $7::boolean, null::text, null::numeric, null::timestamptz))`

// What Postgres sends of a row is read as it was stored: numbers of any size and sign, times to the microsecond, nulls as zeros.
func TestFields(t *testing.T) {
	t.Parallel()
	db := database(t, pgtest.New(t, migrate))
	whole := rapid.OneOf(
		rapid.SampledFrom([]string{"0", "1", "-1", "9999", "10000", "-10000", "9223372036854775807", "9223372036854775808", "100000000000000000000000000000000"}),
		rapid.StringMatching(`-?[1-9][0-9]{0,77}`), rapid.StringMatching(`[1-9]0{0,77}`))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 })).Draw(t, "text")
		amount := whole.Draw(t, "amount")
		at := time.UnixMicro(rapid.Int64Range(-1<<50, 1<<52).Draw(t, "at")).UTC()
		key, number, small, yes := rapid.Int64().Draw(t, "key"), rapid.Int32().Draw(t, "number"), rapid.Int16().Draw(t, "small"), rapid.Bool().Draw(t, "yes")
		var sent []byte
		if err := db.QueryRow(sendOne, text, amount, at, key, number, small, yes).Scan(&sent); err != nil {
			t.Fatal(err)
		}
		f := newFields(sent, 10)
		if got := f.text(); got != text {
			t.Errorf("text %q, want %q", got, text)
		}
		if got := f.amount(); got.String() != amount {
			t.Errorf("amount %s, want %s", got, amount)
		}
		if got := f.time(); !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("time %s, want %s", got, at)
		}
		if a, b, c, d := f.int8(), f.int4(), f.int2(), f.bool(); a != key || b != int(number) || c != small || d != yes {
			t.Errorf("got %d %d %d %t, want %d %d %d %t", a, b, c, d, key, number, small, yes)
		}
		if s, n, at := f.text(), f.amount(), f.time(); s != "" || n.Sign() != 0 || !at.IsZero() {
			t.Errorf("nulls read as %q, %s, %s", s, n, at)
		}
		if err := f.done(); err != nil {
			t.Error(err)
		}
	})
}

// A row that is not what was asked for is an error, whatever stands in it, and no panic.
func TestFieldsOfAnotherRow(t *testing.T) {
	t.Parallel()
	db := database(t, pgtest.New(t, migrate))
	for name, query := range map[string]string{
		"too few":      `select record_send(row(1::bigint))`,
		"too many":     `select record_send(row(1::bigint, 1::numeric, 1::int))`,
		"other size":   `select record_send(row(1::int, 1::numeric))`,
		"fraction":     `select record_send(row(1::bigint, 0.5::numeric))`,
		"no number":    `select record_send(row(1::bigint, 'NaN'::numeric))`,
		"infinite":     `select record_send(row(1::bigint, 'infinity'::numeric))`,
		"no bytes":     `select ''::bytea`,
		"more behind":  `select record_send(row(1::bigint, 1::numeric)) || '\x00'::bytea`,
		"text instead": `select record_send(row(1::bigint, 'x'::text))`,
	} {
		f := newFields(ask[[]byte](t, db, query), 2)
		f.int8()
		f.amount()
		if f.done() == nil {
			t.Errorf("%s: read without an error", name)
		}
	}
}

// Whatever bytes come, reading ends with an error or without one.
func TestFieldsNeverPanic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r row
		_ = r.read(rapid.SliceOf(rapid.Byte()).Draw(t, "row"))
		sent := append([]byte{0, 0, 0, fieldsRead}, rapid.SliceOf(rapid.SampledFrom([]byte{0, 0, 0, 1, 8, 2, 255})).Draw(t, "rest")...)
		_ = r.read(sent)
	})
}
