package evm

import (
	"sync"
	"time"
)

// recent keeps what Plan was told of an intent, so that Prepare, which follows it at once, asks nothing again. The fee cap
// has room for the base fee to double, which takes six full blocks.
type recent struct {
	mu sync.Mutex
	by map[string]told // by scope and intent
}

type told struct {
	quote
	at time.Time
}

const (
	recentFor  = 3 * time.Second
	recentMost = 4096 // intents between Plan and Prepare; many of them are never claimed
)

// put keeps a quote. Where there are too many all are forgotten: it costs a call each.
func (r *recent) put(key string, q quote, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil || len(r.by) >= recentMost {
		r.by = make(map[string]told)
	}
	r.by[key] = told{q, now}
}

// take gives the quote once, if it is young.
func (r *recent) take(key string, now time.Time) (quote, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.by[key]
	delete(r.by, key)
	return t.quote, ok && now.Sub(t.at) < recentFor
}
