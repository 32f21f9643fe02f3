package rpcproxy

import (
	"maps"
	"sync"
)

// ledger remembers what was called and what went wrong.
type ledger struct {
	mu     sync.Mutex
	faults Faults
	nth    map[string]int // by name: how often it was called
	row    map[string]int // by name: faults in a row
	calls  map[string]int // by method
	hits   map[string]int // by fault
}

func newLedger(f Faults) *ledger {
	return &ledger{faults: f, nth: map[string]int{}, row: map[string]int{}, calls: map[string]int{}, hits: map[string]int{}}
}

// draw is the fault of what is called now, but no more than limit in a row for one name: everything comes through in the
// end. Faults that do not fit are none.
func (l *ledger) draw(seed uint64, name string, methods []string, limit int, fits func(fault) bool) rule {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nth[name]++
	r := l.faults.roll(seed, name, methods, l.nth[name])
	if r.fault == "" || !fits(r.fault) || l.row[name] >= limit {
		l.row[name] = 0
		return rule{}
	}
	l.row[name]++
	l.hits[string(r.fault)]++
	return r
}

func (l *ledger) count(calls []call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range calls {
		l.calls[c.Method]++
	}
}

func (l *ledger) turn(f Faults) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = f
}

func (l *ledger) counts() (calls, hits map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.calls), maps.Clone(l.hits)
}

// hit counts a fault that hits no call.
func (l *ledger) hit(f fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hits[string(f)]++
}
