package pgstore

import (
	"errors"
	"math/big"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// fields reads a row that record_send wrote, field by field: one value for the driver in place of forty, and nothing to be
// parsed. In Postgres's binary format stand the number of fields, then of each its type, its length (−1 for null) and its
// bytes. Null reads as the zero value. What is too short reads as zeros, and bad says so.
//
// A text read from it is a part of the row's one string.
type fields struct {
	s   string
	bad bool
}

// errFields says that a row is not what it was asked for as.
var errFields = errors.New("a row's fields cannot be read")

// newFields begins to read a row that must have so many fields.
func newFields(row []byte, want int) fields {
	f := fields{s: string(row)}
	f.bad = f.int32() != int32(want) || f.bad
	return f
}

// done says whether all was there, and no more.
func (f *fields) done() error {
	if f.bad || f.s != "" {
		return errFields
	}
	return nil
}

// take cuts off the next n bytes.
func (f *fields) take(n int) string {
	if n < 0 || n > len(f.s) {
		f.bad, f.s = true, ""
		return ""
	}
	head := f.s[:n]
	f.s = f.s[n:]
	return head
}

// number reads up to eight bytes, the highest first.
func number(s string) (n uint64) {
	for i := range len(s) {
		n = n<<8 | uint64(s[i])
	}
	return n
}

func (f *fields) int32() int32 { return int32(number(f.take(4))) }

// next is the next field's bytes.
func (f *fields) next() (value string, ok bool) {
	f.take(4) // its type
	n := f.int32()
	if n == -1 {
		return "", false
	}
	return f.take(int(n)), !f.bad
}

// fixed is the next field, which must have so many bytes unless it is null.
func (f *fields) fixed(size int) (n uint64, ok bool) {
	value, ok := f.next()
	if ok && len(value) != size {
		f.bad = true
	}
	return number(value[:min(len(value), size)]), ok
}

func (f *fields) text() string {
	value, _ := f.next()
	return value
}

func (f *fields) int8() int64 {
	n, _ := f.fixed(8)
	return int64(n)
}

func (f *fields) int4() int {
	n, _ := f.fixed(4)
	return int(int32(n))
}

func (f *fields) int2() int16 {
	n, _ := f.fixed(2)
	return int16(n)
}

func (f *fields) bool() bool {
	n, _ := f.fixed(1)
	return n == 1
}

// time reads a timestamptz, in UTC.
func (f *fields) time() time.Time {
	n, ok := f.fixed(8)
	if !ok {
		return time.Time{}
	}
	return time.UnixMicro(int64(n) + epoch).UTC()
}

// Of a numeric: digits to the base 10,000, the weight of the first, the sign, and how many decimals are shown.
const (
	numericHead     = 8
	numericPositive = 0x0000
	numericNegative = 0x4000
)

// amount reads a whole numeric.
func (f *fields) amount() intents.Amount {
	value, ok := f.next()
	if !ok || len(value) < numericHead {
		f.bad = f.bad || ok
		return intents.Amount{}
	}
	digits, weight, sign := int(number(value[:2])), int(int16(number(value[2:4]))), number(value[4:6])
	value = value[numericHead:]
	if len(value) != 2*digits || digits > weight+1 || sign != numericPositive && sign != numericNegative {
		f.bad = true // not a number, or not a whole one
		return intents.Amount{}
	}
	a := whole(value, weight+1-digits)
	if sign == numericNegative {
		return a.Neg()
	}
	return a
}

// fewDigits to the base 10,000 surely fit an int64.
const fewDigits = 4

// whole is the number of some digits to the base 10,000, with so many zeros after them.
func whole(digits string, zeros int) intents.Amount {
	if len(digits)/2+zeros <= fewDigits {
		var n int64
		for ; digits != ""; digits = digits[2:] {
			n = n*10_000 + int64(number(digits[:2]))
		}
		for range zeros {
			n *= 10_000
		}
		return intents.NewAmount(n)
	}
	n, base := new(big.Int), big.NewInt(10_000)
	for ; digits != ""; digits = digits[2:] {
		n.Mul(n, base).Add(n, big.NewInt(int64(number(digits[:2]))))
	}
	n.Mul(n, new(big.Int).Exp(base, big.NewInt(int64(max(zeros, 0))), nil))
	return intents.AmountOf(n)
}
