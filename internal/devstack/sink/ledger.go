package sink

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"sync"
	"time"
)

// Payment is what the sink answers and what a lookup returns.
type Payment struct {
	ID        string `json:"id"`     // the idempotency key, or the body's id if the call had none
	Status    string `json:"status"` // done, processing or declined
	Reference string `json:"reference,omitempty"`
}

const (
	done       = "done"
	processing = "processing"
	declined   = "declined"
)

// entry is what the ledger keeps for a key.
type entry struct {
	body   [sha256.Size]byte
	answer Payment   // as it was given first; every replay gets it again
	ready  time.Time // when processing turns into done
}

// ledger counts effects. A key has one effect at most; a call without a key is one each time.
type ledger struct {
	mu      sync.Mutex
	entries map[string]entry // by idempotency key
	effects map[string]int   // by payment id
	calls   map[string]int   // by payment id
	faulty  map[string]int   // faults since the last clean answer, by payment id
}

func newLedger() *ledger {
	return &ledger{
		entries: map[string]entry{}, effects: map[string]int{}, calls: map[string]int{}, faulty: map[string]int{},
	}
}

// call is one POST.
type call struct {
	key, id string
	body    [sha256.Size]byte
}

// outcome is what becomes of a call, before its answer is sent, delayed or lost.
type outcome struct {
	rule     rule
	payment  Payment
	replayed bool
	conflict bool // the key is known with another body
}

// take decides the fault of a call and books it.
func (l *ledger) take(c call, now time.Time, roll func(nth int) rule, limit int) outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, replayed := l.entries[c.key]
	replayed = replayed && c.key != ""
	if replayed && known.body != c.body {
		return outcome{conflict: true}
	}
	r := l.fault(c, roll, limit)
	switch {
	case r.fault == decline && l.calls[c.id] > 1:
		r = rule{} // only the first call is declined
	case r.fault == refuse503, r.fault == refuse429, r.fault == reset:
		return outcome{rule: r}
	}
	if replayed {
		return outcome{rule: r, payment: known.answer, replayed: true}
	}
	return outcome{rule: r, payment: l.book(c, r, now)}
}

// fault rolls, but lets no more than limit faults in a row meet one payment: everything settles in the end.
func (l *ledger) fault(c call, roll func(nth int) rule, limit int) rule {
	l.calls[c.id]++
	r := roll(l.calls[c.id])
	if r.fault == "" || l.faulty[c.id] >= limit {
		l.faulty[c.id] = 0
		return rule{}
	}
	l.faulty[c.id]++
	return r
}

// book makes the effect, or the refusal for good.
func (l *ledger) book(c call, r rule, now time.Time) Payment {
	e := entry{body: c.body, answer: Payment{ID: c.id, Status: done}, ready: now}
	switch r.fault {
	case decline:
		e.answer.Status = declined
	case accept202:
		e.answer.Status, e.ready = processing, now.Add(r.delay)
	}
	if e.answer.Status != declined {
		l.effects[c.id]++
		e.answer.Reference = reference(c.id, l.effects[c.id])
	}
	if c.key != "" {
		l.entries[c.key] = e
	}
	return e.answer
}

func reference(id string, nth int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s#%d", id, nth))
	return fmt.Sprintf("pay_%x", sum[:8])
}

// lookup finds a payment by its key.
func (l *ledger) lookup(key string, now time.Time) (Payment, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[key]
	if e.answer.Status == processing && !now.Before(e.ready) {
		e.answer.Status = done
	}
	return e.answer, ok
}

func (l *ledger) counts() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.effects)
}

func (l *ledger) called() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.calls)
}
