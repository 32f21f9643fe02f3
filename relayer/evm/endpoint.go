package evm

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// Endpoint is one node, or a gateway to some.
type Endpoint struct {
	// URL is http or https. It may hold secrets; only its host is ever shown.
	URL string
	// Weight is its share of the reads, against those of the others. Default 1.
	Weight int
}

// node is an endpoint at work. What is not set at birth is guarded by its pool.
type node struct {
	url, host string
	rpc       *rpc.Client // reads
	sends     gather[*sending]
	alone     atomic.Bool // it takes no batch of sends

	health
	weight, turn int // smooth weighted round robin, as nginx does it
}

// health is what is known of a node.
type health struct {
	verified bool // it was of our chain when it was last asked
	foreign  bool // it was of another: never used until it is ours again
	syncing  bool
	behind   bool // its newest block is much older than the newest of all

	head    uint64 // the highest block it showed
	headAt  time.Time
	tagless bool // it did not tell the block of our finality

	failures int           // in a row
	limits   int           // times it was left alone for asking for fewer calls, in a row
	delay    time.Duration // the last time out for failures; 0: it is trusted
	until    time.Time     // out until then
	limited  bool          // … because it asked for fewer calls
	probing  bool          // after a time out one call is on its way, its result decides
}

// The numbers of health.
const (
	mostFailures = 3 // in a row, then it is out
	firstOut     = time.Second
	lastOut      = 30 * time.Second
	headKeep     = 5 * time.Minute  // how long a height is believed that nobody has shown since
	lagMost      = 30 * time.Second // how much older than the newest head another may be
)

// open says whether the node may be called at now.
func (h *health) open(now time.Time) bool {
	return !h.foreign && !now.Before(h.until) && !h.probing
}

// fit says whether nodes that are not should be asked later.
func (h *health) fit() bool { return !h.syncing && !h.behind }

// saw notes a height. A lower one than before does not count for a while: many nodes may stand behind one name.
func (h *health) saw(head uint64, now time.Time) {
	if head >= h.head || now.Sub(h.headAt) >= headKeep {
		h.head, h.headAt = head, now
	}
}

// good notes an answer that makes sense.
func (h *health) good() {
	h.failures, h.limits, h.delay, h.until, h.limited, h.probing = 0, 0, 0, time.Time{}, false, false
}

// bad notes an error, a timeout, nonsense.
func (h *health) bad(now time.Time, jitter func(time.Duration) time.Duration) {
	h.probing = false
	h.failures++
	if out := now.Before(h.until); !out && (h.failures >= mostFailures || h.delay > 0) {
		h.delay = min(max(2*h.delay, firstOut), lastOut)
		h.until, h.limited = now.Add(jitter(h.delay)), false
	}
}

// cool notes that the node asked for fewer calls, and says for how long it is left alone: as long as it asked for, or a
// second, doubling to 30 s.
func (h *health) cool(now time.Time, asked time.Duration, jitter func(time.Duration) time.Duration) time.Duration {
	h.probing = false
	if again := !h.limited || !now.Before(h.until); again { // not one of many calls that were on their way
		h.limits++
		if asked <= 0 {
			asked = jitter(min(firstOut<<min(h.limits-1, 10), lastOut))
		}
	}
	if until := now.Add(asked); until.After(h.until) {
		h.until = until
	}
	h.limited = true
	return h.until.Sub(now)
}

// newNode dials nothing.
func newNode(e Endpoint, hc *http.Client) (*node, *url.URL, error) {
	if err := checkURL(e.URL); err != nil {
		return nil, nil, err
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, nil, checkURL("")
	}
	client, err := rpc.DialOptions(context.Background(), e.URL, rpc.WithHTTPClient(hc)) // dials nothing over HTTP
	if err != nil {
		return nil, nil, checkURL("")
	}
	return &node{url: e.URL, host: u.Host, rpc: client, weight: max(e.Weight, 1)}, u, nil
}

// String shows the host alone.
func (n *node) String() string { return "endpoint " + n.host }
