package config

import (
	"errors"
	"math/big"
	"regexp"
	"strconv"

	"golang.org/x/time/rate"

	"github.com/nsqrelayer/relayer/relayer"
)

const unlimited = "unlimited"

// Rate is how often something may happen each second. As text it is a number or "unlimited".
type Rate rate.Limit

// UnmarshalText reads a rate; whether it makes sense is for [Config.Validate] to say.
func (r *Rate) UnmarshalText(text []byte) error {
	if string(text) == unlimited {
		*r = Rate(relayer.Unlimited)
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	*r = Rate(f)
	return err
}

// String gives the rate as it is written.
func (r Rate) String() string {
	if rate.Limit(r) == relayer.Unlimited {
		return unlimited
	}
	return strconv.FormatFloat(float64(r), 'g', -1, 64)
}

func (Rate) want() string { return `a number above 0, or "unlimited"` }

// Wei is an amount of wei, written as digits or with a unit: "30gwei".
type Wei struct{ i *big.Int }

// UnmarshalText reads a positive amount.
func (w *Wei) UnmarshalText(text []byte) error {
	m := regexp.MustCompile(`^([1-9][0-9]{0,30}) ?(gwei|wei|)$`).FindSubmatch(text)
	if m == nil {
		return errors.New(w.want())
	}
	w.i, _ = new(big.Int).SetString(string(m[1]), 10)
	if string(m[2]) == "gwei" {
		w.i.Mul(w.i, big.NewInt(1e9))
	}
	return nil
}

// Big gives a copy; nil when it is not set.
func (w Wei) Big() *big.Int {
	if w.i == nil {
		return nil
	}
	return new(big.Int).Set(w.i)
}

// String gives the digits; nothing when it is not set.
func (w Wei) String() string {
	if w.i == nil {
		return ""
	}
	return w.i.String()
}

func (Wei) want() string { return `a whole number of wei above 0, or one like "30gwei"` }
