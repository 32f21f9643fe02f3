package config

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

// BufferTime is how long nsqd may hold messages back to fill a packet. As text it is a time, or -1: each goes out at once,
// as NSQ's own clients write it.
type BufferTime time.Duration

// Unbuffered is a BufferTime of -1.
const Unbuffered BufferTime = -1

// What nsqd takes, unless told otherwise by --min- and --max-output-buffer-timeout.
const (
	leastBuffer = 25 * time.Millisecond
	mostBuffer  = 30 * time.Second
)

// UnmarshalText reads a time that nsqd takes, or -1.
func (b *BufferTime) UnmarshalText(text []byte) error {
	if string(text) == "-1" {
		*b = Unbuffered
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < leastBuffer || d > mostBuffer {
		return errors.New(b.want())
	}
	*b = BufferTime(d)
	return nil
}

// String gives the time as it is written.
func (b BufferTime) String() string {
	if b == Unbuffered {
		return "-1"
	}
	return time.Duration(b).String()
}

func (BufferTime) want() string {
	return fmt.Sprintf("%s to %s, or -1 for nothing held back", leastBuffer, mostBuffer)
}

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

// Tokens are addresses of ERC-20 contracts by asset. As text they are written USDC=0x…,DAI=0x….
type Tokens map[string]string

// UnmarshalText reads tokens. Checksums of addresses are for the sender to check.
func (t *Tokens) UnmarshalText(text []byte) error {
	all := Tokens{}
	for pair := range strings.SplitSeq(string(text), ",") {
		asset, addr, _ := strings.Cut(pair, "=")
		asset, addr = strings.TrimSpace(asset), strings.TrimSpace(addr)
		if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,31}$`).MatchString(asset) || !isAddress(addr) || all[asset] != "" {
			return errors.New(t.want())
		}
		all[asset] = addr
	}
	*t = all
	return nil
}

// String gives the tokens as they are written as text.
func (t Tokens) String() string {
	var pairs []string
	for _, asset := range slices.Sorted(maps.Keys(t)) {
		pairs = append(pairs, asset+"="+t[asset])
	}
	return strings.Join(pairs, ",")
}

func (Tokens) want() string { return `assets with their contracts, { USDC = "0x…" } or USDC=0x…` }

// Units are what a provider counts for each method, "default" for all others. As text they are written
// eth_sendRawTransaction=40,default=20.
type Units map[string]int

// UnmarshalText reads units. Whether they make sense is for [Config.Validate] to say.
func (u *Units) UnmarshalText(text []byte) error {
	all := Units{}
	for pair := range strings.SplitSeq(string(text), ",") {
		method, count, _ := strings.Cut(pair, "=")
		method = strings.TrimSpace(method)
		n, err := strconv.Atoi(strings.TrimSpace(count))
		_, twice := all[method]
		if err != nil || twice || !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`).MatchString(method) {
			return errors.New(u.want())
		}
		all[method] = n
	}
	*u = all
	return nil
}

// String gives the units as they are written as text.
func (u Units) String() string {
	var pairs []string
	for _, method := range slices.Sorted(maps.Keys(u)) {
		pairs = append(pairs, method+"="+strconv.Itoa(u[method]))
	}
	return strings.Join(pairs, ",")
}

func (Units) want() string {
	return "methods with their units, { eth_sendRawTransaction = 40, default = 20 } or eth_sendRawTransaction=40,default=20"
}

func isAddress(s string) bool { return regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`).MatchString(s) }
