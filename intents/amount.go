package intents

import (
	"database/sql/driver"
	"fmt"
	"math/big"
	"strings"
)

// MaxAmountDigits is how many decimal digits an amount may have: what numeric(78,0) keeps, and enough for 2^256.
const MaxAmountDigits = 78

// Amount is a whole number of an asset's smallest unit. The zero value is 0. It is never a float and never rounded;
// in JSON it is a string. Amounts do not change: arithmetic gives new ones.
type Amount struct{ i *big.Int }

// ParseAmount reads a positive amount of at most [MaxAmountDigits] digits: ^[1-9][0-9]*$, no sign, point, exponent,
// blank or leading zero. It returns an *InvalidError for anything else, zero included.
func ParseAmount(s string) (Amount, error) {
	if len(s) == 0 || len(s) > MaxAmountDigits || s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return Amount{}, &InvalidError{Field: "amount", Value: s, Want: "a positive whole number of the smallest unit, as digits (^[1-9][0-9]{0,77}$)"}
	}
	i, _ := new(big.Int).SetString(s, 10)
	return Amount{i}, nil
}

// NewAmount is the amount of n units.
func NewAmount(n int64) Amount { return Amount{big.NewInt(n)} }

// AmountOf copies i. A nil i is 0.
func AmountOf(i *big.Int) Amount {
	if i == nil {
		return Amount{}
	}
	return Amount{new(big.Int).Set(i)}
}

// Big gives a copy as a big.Int.
func (a Amount) Big() *big.Int { return new(big.Int).Set(a.int()) }

// Add gives a + b.
func (a Amount) Add(b Amount) Amount {
	switch { // most intents cost nothing above their amount, and most holds begin at nothing
	case b.Sign() == 0:
		return a
	case a.Sign() == 0:
		return b
	}
	return Amount{new(big.Int).Add(a.i, b.i)}
}

// Sub gives a − b, which may be negative.
func (a Amount) Sub(b Amount) Amount {
	if b.Sign() == 0 {
		return a
	}
	return Amount{new(big.Int).Sub(a.int(), b.i)}
}

// Neg gives −a.
func (a Amount) Neg() Amount { return Amount{new(big.Int).Neg(a.int())} }

// Cmp compares a and b: −1, 0 or 1.
func (a Amount) Cmp(b Amount) int { return a.int().Cmp(b.int()) }

// Sign is −1, 0 or 1.
func (a Amount) Sign() int {
	if a.i == nil {
		return 0
	}
	return a.i.Sign()
}

// Equal says whether a and b are the same number.
func (a Amount) Equal(b Amount) bool { return a.Cmp(b) == 0 }

// String gives the decimal digits.
func (a Amount) String() string { return a.int().String() }

// MarshalText gives the decimal digits, so JSON shows a string.
func (a Amount) MarshalText() ([]byte, error) { return a.int().Append(nil, 10), nil }

// UnmarshalText reads any whole number; use [ParseAmount] where an amount comes from outside.
func (a *Amount) UnmarshalText(text []byte) error {
	i, ok := new(big.Int).SetString(string(text), 10)
	if !ok {
		return &InvalidError{Field: "amount", Value: string(text), Want: "a whole number"}
	}
	a.i = i
	return nil
}

// Value implements driver.Valuer: the decimal digits.
func (a Amount) Value() (driver.Value, error) { return a.String(), nil }

// Scan implements sql.Scanner for numeric(78,0).
func (a *Amount) Scan(src any) error {
	switch v := src.(type) {
	case []byte:
		return a.UnmarshalText(v)
	case string:
		return a.UnmarshalText([]byte(v))
	case int64:
		a.i = big.NewInt(v)
		return nil
	case nil:
		a.i = nil
		return nil
	}
	return fmt.Errorf("scan amount: cannot read %T", src)
}

func (a Amount) int() *big.Int {
	if a.i == nil {
		return new(big.Int)
	}
	return a.i
}
