package pgstore

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Arrays in binary format arrive as what they were, nulls and empty arrays too; and as literals by a session that knows of no
// binary format.
func TestArraysArrive(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, nil)
	plain := database(t, dsn)
	cfg, err := parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := writing(cfg).connector(nil)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	at := time.Date(1969, 7, 20, 20, 17, 40, 123456789, time.UTC)
	late := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	array := func(oid uint32, fill func(*column)) []byte {
		c := newColumn(oid, 0)
		fill(c)
		return c.value()
	}
	for _, tt := range []struct {
		typ, want string
		value     []byte
	}{
		{"bigint[]", "{1,-9223372036854775808,NULL}", array(oidInt8, func(c *column) { c.int8(1); c.int8(-1 << 63); c.int8OrNull(0) })},
		{"int[]", "{-1,2147483647}", array(oidInt4, func(c *column) { c.int4(-1); c.int4(1<<31 - 1) })},
		{"smallint[]", "{-1,32767}", array(oidInt2, func(c *column) { c.int2(-1); c.int2(1<<15 - 1) })},
		{"boolean[]", "{t,f}", array(oidBool, func(c *column) { c.bool(true); c.bool(false) })},
		{"text[]", `{"",NULL,"a\"b,{é"}`, array(oidText, func(c *column) { c.text(""); c.textOrNull(""); c.text(`a"b,{é`) })},
		{"text[]", `{"NULL","\\","\\\"} ","{}",'}`, texts([]string{"NULL", `\`, `\"} `, "{}", "'"})},
		{"bytea[]", `{"\\x","\\x00ff",NULL}`, array(oidBytea, func(c *column) { c.bytes(nil); c.bytes([]byte{0, 255}); c.bytesOrNull(nil) })},
		{"timestamptz[]", `{"1969-07-20 20:17:40.123456+00",NULL,"9999-12-31 00:00:00+00"}`,
			array(oidTimestamptz, func(c *column) { c.time(at); c.time(time.Time{}); c.time(late) })},
		{"text[]", "{}", texts(nil)},
		{"bigint[]", "{}", keys(nil)},
		{"bigint[]", "{7}", keys([]int64{7})},
	} {
		if got := ask[string](t, db, fmt.Sprintf("select $1::%s::text", tt.typ), tt.value); got != tt.want {
			t.Errorf("%s arrived as %s, want %s", tt.typ, got, tt.want)
		}
		if got := ask[string](t, plain, fmt.Sprintf("select ($1::%s)::text", tt.typ), literal(tt.value)); got != tt.want {
			t.Errorf("%s as a literal arrived as %s, want %s", tt.typ, got, tt.want)
		}
	}
	if got := ask[string](t, db, "select sum(n::numeric(78,0))::text from unnest($1::text[]) n", texts([]string{
		"115792089237316195423570985008687907853269984665640564039457584007913129639935", "1"})); got != "115792089237316195423570985008687907853269984665640564039457584007913129639936" {
		t.Errorf("numeric by way of text arrived as %s", got)
	}
}
