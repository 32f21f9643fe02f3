package evm_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/relayer/evm"
)

// tally counts calls, and looks whether anything but hosts is told.
type tally struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *tally) Called(host, method, code string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]int{}
	}
	c.seen[fmt.Sprint(host, " ", method, " ", code, " ", took > 0)]++
}

func (c *tally) of(host, method, code string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[fmt.Sprint(host, " ", method, " ", code, " true")]
}

// Case 111: calls are counted by host, method and status, reads and sends, and those that never came back; no path, no key.
func TestCallsAreCounted(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	p := lying(t, c.URL, "accept-reset=100%", 1)
	calls := &tally{}
	cfg := config(t, p.URL+"/?apikey=SECRETKEY")
	cfg.Calls = calls
	s := open(t, cfg)
	_, a := prepared(t, s, 0)
	s.Submit(t.Context(), a)
	submit(t, s, a)
	host := strings.TrimPrefix(p.URL, "http://")
	for code, want := range map[string]int{"error": 1, "200": 1} {
		if got := calls.of(host, "eth_sendRawTransaction", code); got != want {
			t.Errorf("%d sends with code %s, want %d: %v", got, code, want, calls.seen)
		}
	}
	if calls.of(host, "eth_getBalance", "200") == 0 {
		t.Errorf("reads are not counted: %v", calls.seen)
	}
	for key := range calls.seen {
		if strings.Contains(key, "SECRET") {
			t.Errorf("a label shows the key: %s", key)
		}
	}
}

// What is known of endpoints is told by their hosts: which are out, and how high each is.
func TestNodesTellHowTheyStand(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	c.Mine()
	busy := lying(t, c.URL, "http-429=100%", 0)
	cfg := config(t, c.URL)
	cfg.Endpoints = []evm.Endpoint{{URL: busy.URL + "/?apikey=SECRETKEY"}}
	s := open(t, cfg)
	_ = s.Probe(t.Context())
	nodes := s.Nodes()
	if len(nodes) != 2 || nodes[0].Out || nodes[0].Head == 0 || !nodes[1].Out || nodes[1].Head != 0 {
		t.Fatalf("got %+v", nodes)
	}
	if strings.Contains(nodes[1].Host, "SECRET") {
		t.Errorf("the host shows a key: %s", nodes[1].Host)
	}
}
