package pgstore

import (
	"encoding/binary"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Object ids of element types, from pg_type.dat. They never change.
const (
	oidBool        = 16
	oidBytea       = 17
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidText        = 25
	oidTimestamptz = 1184
)

// column builds a one-dimensional array in Postgres's binary format, element by element. lib/pq has no binary arrays, but
// with binary_parameters=yes a []byte goes out in binary format. Header: dimensions, 1 if there are nulls, element type,
// then length and lower bound of the dimension. Element: its length, −1 for null, and its bytes.
type column struct {
	b     []byte
	n     uint32
	nulls uint32
}

const arrayHeader = 20

func newColumn(oid uint32, rows int) *column {
	c := &column{b: make([]byte, arrayHeader, arrayHeader+rows*12)}
	binary.BigEndian.PutUint32(c.b[8:], oid)
	return c
}

// clear makes the column an empty one of a type.
func (c *column) clear(oid uint32) {
	c.n, c.nulls, c.b = 0, 0, c.b[:arrayHeader]
	clear(c.b)
	binary.BigEndian.PutUint32(c.b[8:], oid)
}

// value is the array as a statement's argument.
func (c *column) value() []byte {
	binary.BigEndian.PutUint32(c.b[4:], c.nulls)
	binary.BigEndian.PutUint32(c.b[12:], c.n)
	binary.BigEndian.PutUint32(c.b[16:], 1)
	if c.n == 0 {
		return c.b[:12] // an empty array has no dimensions
	}
	binary.BigEndian.PutUint32(c.b[0:], 1)
	return c.b
}

func (c *column) null() {
	c.n, c.nulls = c.n+1, 1
	c.b = binary.BigEndian.AppendUint32(c.b, 0xffffffff)
}

func (c *column) int8(v int64) {
	c.n++
	c.b = binary.BigEndian.AppendUint32(c.b, 8)
	c.b = binary.BigEndian.AppendUint64(c.b, uint64(v))
}

// int8OrNull writes null for 0.
func (c *column) int8OrNull(v int64) {
	if v == 0 {
		c.null()
		return
	}
	c.int8(v)
}

func (c *column) int4(v int) {
	c.n++
	c.b = binary.BigEndian.AppendUint32(c.b, 4)
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(int32(v)))
}

func (c *column) int2(v int16) {
	c.n++
	c.b = binary.BigEndian.AppendUint32(c.b, 2)
	c.b = binary.BigEndian.AppendUint16(c.b, uint16(v))
}

func (c *column) bool(v bool) {
	c.n++
	c.b = binary.BigEndian.AppendUint32(c.b, 1)
	if v {
		c.b = append(c.b, 1)
	} else {
		c.b = append(c.b, 0)
	}
}

func (c *column) text(s string) {
	c.n++
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(len(s)))
	c.b = append(c.b, s...)
}

// textOrNull writes null for an empty text.
func (c *column) textOrNull(s string) {
	if s == "" {
		c.null()
		return
	}
	c.text(s)
}

func (c *column) bytes(p []byte) {
	c.n++
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(len(p)))
	c.b = append(c.b, p...)
}

// bytesOrNull writes null for no bytes.
func (c *column) bytesOrNull(p []byte) {
	if len(p) == 0 {
		c.null()
		return
	}
	c.bytes(p)
}

// epoch is where Postgres counts timestamps from, in microseconds since 1970.
const epoch = 946_684_800_000_000

// time writes null for the zero time. Postgres keeps microseconds; what is finer is cut off.
func (c *column) time(t time.Time) {
	if t.IsZero() {
		c.null()
		return
	}
	c.int8(t.UnixMicro() - epoch)
}

// keys is an array of bigint.
func keys(ks []int64) []byte {
	c := newColumn(oidInt8, len(ks))
	for _, k := range ks {
		c.int8(k)
	}
	return c.value()
}

// texts is an array of text.
func texts(ss []string) []byte {
	c := newColumn(oidText, len(ss))
	for _, s := range ss {
		c.text(s)
	}
	return c.value()
}

// columns of one unnest, in the order of its arguments.
type columnSet []*column

func newColumns(oids []uint32, rows int) columnSet {
	set := make(columnSet, len(oids))
	for i, oid := range oids {
		set[i] = newColumn(oid, rows)
	}
	return set
}

func (set columnSet) args() []any {
	args := make([]any, len(set))
	for i, c := range set {
		args[i] = c.value()
	}
	return args
}

// amountOrNull writes an amount as text, for a numeric; null for 0.
func (c *column) amountOrNull(a intents.Amount) {
	if a.Sign() == 0 {
		c.null()
		return
	}
	c.text(a.String())
}

// numberOrNull writes the number of a counter slot.
func (c *column) numberOrNull(s intents.Slot) {
	if s.Kind != intents.Counter {
		c.null()
		return
	}
	c.int8(s.Number)
}

// nameOf is the name a slot is kept with. That of a key slot is its intent's id.
func nameOf(s intents.Slot) string {
	if s.Kind == intents.Key {
		return ""
	}
	return s.Name
}
