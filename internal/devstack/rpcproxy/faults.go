package rpcproxy

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FaultsHelp is for the help text of a flag that takes what [ParseFaults] reads.
const FaultsHelp = `Faults of the chain's JSON-RPC, as "word=rate" or "word=rate:duration", separated by commas, or "default". ` +
	`"word@method" is for that method alone. The call happens, then the answer is lost: accept-timeout, accept-reset, wrong-hash ` +
	`(of sends), half-reply. It does not happen: http-429, json-429, html-502. The answer hides what happened: null-receipt, ` +
	`null-tx. Late: slow. Every duration the node's pool is emptied at this rate: drop-pool.`

// DefaultFaults is what the word "default" stands for.
const DefaultFaults = "accept-timeout=2%:4s,accept-reset=3%,wrong-hash=2%,http-429=1%,json-429=0.5%,null-receipt=10%,null-tx=5%," +
	"half-reply=1%,html-502=1%,slow=3%:300ms,drop-pool=40%:3s"

// fault is the name of a fault; the empty one is none.
type fault string

const (
	acceptTimeout fault = "accept-timeout"
	acceptReset   fault = "accept-reset"
	wrongHash     fault = "wrong-hash"
	halfReply     fault = "half-reply"
	http429       fault = "http-429"
	json429       fault = "json-429"
	html502       fault = "html-502"
	nullReceipt   fault = "null-receipt"
	nullTx        fault = "null-tx"
	slow          fault = "slow"
	dropPool      fault = "drop-pool"
)

const (
	methodSend    = "eth_sendRawTransaction"
	methodReceipt = "eth_getTransactionReceipt"
	methodTx      = "eth_getTransactionByHash"
)

// kind is what a fault is like.
type kind struct {
	delay  time.Duration // the default; 0: it takes none
	method string        // the only one it can hit; empty: any
	within bool          // it hits one call of a batch, not the whole
}

func known() map[fault]kind {
	return map[fault]kind{
		acceptTimeout: {delay: 30 * time.Second, method: methodSend}, acceptReset: {method: methodSend},
		wrongHash: {method: methodSend, within: true}, halfReply: {}, http429: {}, json429: {within: true}, html502: {},
		nullReceipt: {method: methodReceipt, within: true}, nullTx: {method: methodTx, within: true},
		slow: {delay: time.Second}, dropPool: {delay: 5 * time.Second},
	}
}

// rule is one fault with the share of calls it hits.
type rule struct {
	fault  fault
	method string // empty: any
	share  float64
	delay  time.Duration
}

// Faults says how often which fault happens. The zero value has none.
type Faults struct {
	rules []rule
}

// ParseFaults reads a list like "accept-reset=5%,slow=10%:800ms,http-429@eth_call=3%"; "default" stands for
// [DefaultFaults]. At most one fault hits a call, so the rates for one method may not add up to more than 100 %. The words:
//
//	accept-timeout  a send is forwarded, then no answer for the duration (30s) or until the caller hangs up
//	accept-reset    a send is forwarded, the connection is reset without an answer
//	wrong-hash      a send is forwarded, the answer is another hash
//	half-reply      the call is forwarded, the answer is cut in its middle
//	http-429        nothing is forwarded, the answer is HTTP 429 with Retry-After: 1
//	json-429        nothing is forwarded, the answer is HTTP 200 with a JSON-RPC error of code 429
//	html-502        nothing is forwarded, the answer is HTTP 502 and HTML
//	null-receipt    eth_getTransactionReceipt says null
//	null-tx         eth_getTransactionByHash says null
//	slow            as without a fault, but the answer comes after the duration (1s)
//	drop-pool       every duration (5s) the node's pool is emptied, at this rate
//
// Of a batch, wrong-hash, json-429, null-receipt and null-tx hit single calls, the others all of it.
func ParseFaults(spec string) (Faults, error) {
	var f Faults
	if strings.TrimSpace(spec) == "" {
		return f, nil
	}
	for part := range strings.SplitSeq(spec, ",") {
		part = strings.TrimSpace(part)
		if part == "default" {
			d, err := ParseFaults(DefaultFaults)
			if err != nil {
				return Faults{}, err
			}
			f.rules = append(f.rules, d.rules...)
			continue
		}
		r, err := parseRule(part)
		if err != nil {
			return Faults{}, fmt.Errorf("rpc fault %q: %w", part, err)
		}
		f.rules = append(f.rules, r)
	}
	return f, f.check()
}

// check refuses what is given twice or can never be.
func (f Faults) check() error {
	for i, r := range f.rules {
		if slices.ContainsFunc(f.rules[:i], func(o rule) bool { return o.fault == r.fault && o.method == r.method }) {
			return fmt.Errorf("rpc fault %q: given twice", r.fault)
		}
		sum := 0.0
		for _, o := range f.rules {
			if o.fault != dropPool && (o.method == "" || o.method == r.method) {
				sum += o.share
			}
		}
		if sum > 1+1e-9 {
			return fmt.Errorf("rpc faults: rates of %q add up to %g%%, more than 100%%", r.method, sum*100)
		}
	}
	return nil
}

func parseRule(part string) (rule, error) {
	word, value, ok := strings.Cut(part, "=")
	if !ok {
		return rule{}, errors.New("want word=rate, for example accept-reset=5%")
	}
	word, method, named := strings.Cut(word, "@")
	k, ok := known()[fault(word)]
	switch {
	case !ok:
		return rule{}, fmt.Errorf("unknown word, known are default, %s", strings.Join(words(), ", "))
	case named && k.method != "" && method != k.method, fault(word) == dropPool && named:
		return rule{}, errors.New("it is not for other methods")
	case named && method == "":
		return rule{}, errors.New("want a method after @")
	case !named:
		method = k.method
	}
	rate, duration, timed := strings.Cut(value, ":")
	share, err := parseRate(rate)
	if err != nil {
		return rule{}, err
	}
	if timed {
		if k.delay, err = parseDelay(duration, k.delay); err != nil {
			return rule{}, err
		}
	}
	return rule{fault: fault(word), method: method, share: share, delay: k.delay}, nil
}

func words() []string {
	var ws []string
	for f := range known() {
		ws = append(ws, string(f))
	}
	slices.Sort(ws)
	return ws
}

func parseRate(s string) (float64, error) {
	digits, ok := strings.CutSuffix(s, "%")
	n, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(n >= 0 && n <= 100) { // NaN is refused too
		return 0, fmt.Errorf("rate %q is not a percentage from 0%% to 100%%", s)
	}
	return n / 100, nil
}

func parseDelay(s string, standard time.Duration) (time.Duration, error) {
	if standard == 0 {
		return 0, errors.New("takes no duration")
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("duration %q is not like 800ms or 2s", s)
	}
	return d, nil
}

// DropPool is how often the node's pool is to be emptied, and at which rate; 0 when never.
func (f Faults) DropPool() (every time.Duration, share float64) {
	for _, r := range f.rules {
		if r.fault == dropPool {
			return r.delay, r.share
		}
	}
	return 0, 0
}

// roll decides the fault of the nth time that something of a name is called. It depends on nothing else, so a run with
// the same seed and names meets the same faults, in whatever order the calls come.
func (f Faults) roll(seed uint64, name string, methods []string, nth int) rule {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	at := rand.New(rand.NewPCG(seed, h.Sum64()+uint64(nth))).Float64()
	for _, r := range f.rules {
		if r.fault == dropPool || r.method != "" && !slices.Contains(methods, r.method) {
			continue
		}
		if at < r.share {
			return r
		}
		at -= r.share
	}
	return rule{}
}
