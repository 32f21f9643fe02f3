package nsqworker

import (
	"context"
	"sync"
	"time"

	"github.com/nsqio/go-nsq"
)

type phase uint8

const (
	waiting phase = iota // received, no handler yet
	running              // with a handler
	left                 // handled, not answered: kept without its body until its connection dies
	gone                 // answered, or about to be by who made it so
)

// lease is our hold on one delivery. Its node's mutex guards all below touch.
type lease struct {
	msg  *nsq.Message
	link *link

	// touch is held while a TOUCH is written and taken before FIN or REQ: go-nsq would write a racing TOUCH after them,
	// and nsqd's complaint would read as a lost lease.
	touch sync.Mutex

	phase    phase
	began    time.Time // when a handler took it
	lost     error     // why it is not ours any more
	touching bool      // a TOUCH is ordered
	pos      int       // in link.leases
	next     time.Time
	deadline time.Time // by our clock; nsqd's is a little later
	cap      time.Time // no TOUCH moves the deadline past this, and nsqd says nothing
	until    time.Time
	ctx      context.Context
	end      context.CancelCauseFunc
}

func newLease(m *nsq.Message, k *link, t timing, now time.Time) *lease {
	start := now.Add(-t.slack)
	limit := start.Add(k.node.maxMsgTimeout)
	return &lease{
		msg: m, link: k,
		next: now.Add(t.interval()), deadline: start.Add(t.msgTimeout),
		cap: limit, until: limit.Add(-t.margin),
	}
}

// held says whether nsqd counts it as in flight with us, as far as we know.
func (l *lease) held() bool { return l.lost == nil && l.phase != gone }

// stop ends the lease context; the first cause stays.
func (l *lease) stop(cause error) {
	if l.end != nil {
		l.end(cause)
	}
}

func (l *lease) delivery() Delivery {
	return Delivery{
		ID: string(l.msg.ID[:]), NSQD: l.link.node.addr, Body: l.msg.Body, Attempts: l.msg.Attempts,
		Published: time.Unix(0, l.msg.Timestamp), Until: l.until,
	}
}

// touched moves the deadline: a TOUCH that arrives buys one timeout from its arrival, never beyond the cap.
func (l *lease) touched(sent time.Time, t timing) {
	l.touching = false
	l.next = sent.Add(t.interval())
	l.deadline = sent.Add(t.msgTimeout)
	if l.cap.Before(l.deadline) {
		l.deadline = l.cap
	}
}
