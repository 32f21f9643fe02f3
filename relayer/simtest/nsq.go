package simtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/relayer"
)

// How nsqd is set: a message out longer than msgTimeout without a touch comes again, and no touch helps past the cap.
const (
	msgTimeout = 20*time.Second + 7*time.Millisecond
	touchCap   = 60*time.Second + 3*time.Millisecond
	capMargin  = time.Second // a lease ends so much before its cap
)

// queue is nsqd as its consumers see it. It touches for them while they live.
type queue struct {
	s        *sim
	messages []*message
	n        int
}

// message is one message in nsqd. It is ready, with a process, or deferred.
type message struct {
	id        string
	body      []byte
	published time.Time
	with      *process  // who has it; nil: nobody
	holding   int       // the delivery that has it
	running   bool      // its handler runs, and touches
	until     time.Time // when its time with a process ends, or its deferral
	cap       time.Time
}

func (q *queue) publish(body []byte) *message {
	q.n++
	m := &message{id: fmt.Sprintf("m%03d", q.n), body: body, published: time.Now()}
	q.messages = append(q.messages, m)
	return m
}

// ready lists what can be given out now.
func (q *queue) ready(now time.Time) []*message {
	var out []*message
	for _, m := range q.messages {
		q.expire(m, now)
		if m.with == nil && !now.Before(m.until) {
			out = append(out, m)
		}
	}
	return out
}

// expire takes a message back whose time is over. A process that is frozen or dead does not touch.
func (q *queue) expire(m *message, now time.Time) {
	if m.with == nil {
		return
	}
	if m.running && !m.with.frozen && !m.with.dead.Load() {
		m.until = m.cap
	} else if m.until.Equal(m.cap) {
		m.until = earlier(m.cap, now.Add(msgTimeout))
		m.running = false
	}
	if !now.Before(m.until) {
		m.with, m.until = nil, time.Time{}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// next is when a message becomes ready at the latest; false when none will.
func (q *queue) next(now time.Time) (time.Time, bool) {
	var at []time.Time
	for _, m := range q.messages {
		q.expire(m, now)
		if m.until.After(now) {
			at = append(at, m.until)
		}
	}
	if len(at) == 0 {
		return now, false
	}
	return slices.MinFunc(at, time.Time.Compare), true
}

// give hands a message to a process.
func (q *queue) give(m *message, p *process, now time.Time) {
	q.s.deliveries++
	d := &delivery{m: m, n: q.s.deliveries}
	m.with, m.holding, m.running = p, d.n, true
	m.cap = now.Add(touchCap)
	m.until = m.cap
	p.handle(d, m.cap.Add(-capMargin))
}

// settle carries out what a consumer says about a message that is still its own.
func (q *queue) settle(d *delivery, out relayer.Disposition, now time.Time) {
	delay, again := out.Requeued()
	switch m := d.m; {
	case out.Finished():
		q.drop(m)
	case again:
		m.with, m.running, m.until = nil, false, now.Add(delay)
	default:
		m.running, m.until = false, earlier(m.cap, now.Add(msgTimeout))
	}
}

func (q *queue) drop(m *message) {
	q.messages = slices.DeleteFunc(q.messages, func(o *message) bool { return o == m })
}

// owns says whether a delivery still has its message.
func (q *queue) owns(d *delivery) bool {
	return d.m.with != nil && d.m.holding == d.n && slices.Contains(q.messages, d.m)
}

// lose is a crash of nsqd: what was with processes or deferred is forgotten; what is forgotten may have been finished.
func (q *queue) lose(now time.Time) {
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool { return m.with != nil || m.until.After(now) })
}

// release is a restart of nsqd in good order: what was with processes or deferred is ready at once.
func (q *queue) release() {
	for _, m := range q.messages {
		m.with, m.running, m.until = nil, false, time.Time{}
	}
}
