package sink

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
const FaultsHelp = `Faults of the HTTP sink, as "word=rate" or "word=rate:duration", separated by commas, for example ` +
	`"commit-timeout=5%,commit-500=5%,refuse-503=5%,slow=10%:800ms". The effect happens, then the answer is lost: ` +
	`commit-timeout, commit-500, commit-reset. Nothing happens: refuse-503, refuse-429, reset, decline (for good). ` +
	`Both: slow, accept-202 (done after the duration).`

// fault is the name of a fault; the empty one is none.
type fault string

const (
	commitTimeout fault = "commit-timeout"
	commit500     fault = "commit-500"
	commitReset   fault = "commit-reset"
	refuse503     fault = "refuse-503"
	refuse429     fault = "refuse-429"
	reset         fault = "reset"
	slow          fault = "slow"
	accept202     fault = "accept-202"
	decline       fault = "decline"
)

// known lists the faults with their default duration; zero means that they take none.
func known() map[fault]time.Duration {
	return map[fault]time.Duration{
		commitTimeout: 30 * time.Second, commit500: 0, commitReset: 0, refuse503: 0, refuse429: 0, reset: 0,
		slow: time.Second, accept202: time.Second, decline: 0,
	}
}

// rule is one fault with the share of calls it hits.
type rule struct {
	fault fault
	share float64 // 0 to 1
	delay time.Duration
}

// Faults says how often which fault happens. The zero value has none.
type Faults struct {
	rules []rule
}

// ParseFaults reads a list like "commit-timeout=5%,slow=10%:800ms". At most one fault hits a call, so the rates may
// not add up to more than 100 %. The words:
//
//	commit-timeout  the effect happens, then no answer for the duration (30s) or until the caller hangs up
//	commit-500      the effect happens, the answer is 500
//	commit-reset    the effect happens, the connection is reset without an answer
//	refuse-503      nothing happens, the answer is 503
//	refuse-429      nothing happens, the answer is 429 with Retry-After: 1
//	reset           nothing happens, the connection is reset
//	slow            as without a fault, but the answer comes after the duration (1s)
//	accept-202      the effect happens, the answer is 202 "processing"; a lookup says "done" after the duration (1s)
//	decline         nothing happens, now or ever: the answer is 402, again for each replay. Only the first call made
//	                with a key is declined
//
// A call with a key that has its effect already has no second one, whatever the fault.
func ParseFaults(spec string) (Faults, error) {
	var f Faults
	if strings.TrimSpace(spec) == "" {
		return f, nil
	}
	sum := 0.0
	for part := range strings.SplitSeq(spec, ",") {
		r, err := parseRule(strings.TrimSpace(part))
		if err != nil {
			return Faults{}, fmt.Errorf("sink fault %q: %w", part, err)
		}
		if slices.ContainsFunc(f.rules, func(o rule) bool { return o.fault == r.fault }) {
			return Faults{}, fmt.Errorf("sink fault %q: given twice", r.fault)
		}
		f.rules = append(f.rules, r)
		sum += r.share
	}
	if sum > 1+1e-9 {
		return Faults{}, fmt.Errorf("sink faults: rates add up to %g%%, more than 100%%", sum*100)
	}
	return f, nil
}

func parseRule(part string) (rule, error) {
	word, value, ok := strings.Cut(part, "=")
	if !ok {
		return rule{}, errors.New("want word=rate, for example commit-500=5%")
	}
	delay, ok := known()[fault(word)]
	if !ok {
		return rule{}, fmt.Errorf("unknown word, known are %s", strings.Join(words(), ", "))
	}
	rate, duration, timed := strings.Cut(value, ":")
	share, err := parseRate(rate)
	if err != nil {
		return rule{}, err
	}
	if timed {
		if delay, err = parseDelay(duration, delay); err != nil {
			return rule{}, err
		}
	}
	return rule{fault: fault(word), share: share, delay: delay}, nil
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

// roll decides the fault of the nth call of a name. It depends on nothing else, so a run with the same seed and names
// meets the same faults, in whatever order the calls come.
func (f Faults) roll(seed uint64, name string, nth int) rule {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	at := rand.New(rand.NewPCG(seed, h.Sum64()+uint64(nth))).Float64()
	for _, r := range f.rules {
		if at < r.share {
			return r
		}
		at -= r.share
	}
	return rule{}
}
