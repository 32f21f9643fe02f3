package nsqworker

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nsqio/go-nsq"
)

// overflowDelay is for messages above twice the concurrency: nsqd's RDY is no hard limit.
const overflowDelay = time.Second

// pool runs handlers. Its line holds what waits for one; with what runs it never exceeds twice the concurrency.
type pool struct {
	size int
	line chan *lease
	done chan struct{} // closed when the workers shall go

	mu      sync.Mutex
	inside  int // waiting or running
	workers int
	running int
}

func newPool(size int) *pool {
	return &pool{size: size, line: make(chan *lease, 2*size), done: make(chan struct{})}
}

// reserve takes a place for one more message, and says whether it needs a goroutine more.
func (p *pool) reserve() (ok, grow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inside >= 2*p.size {
		return false, false
	}
	p.inside++
	if p.inside > p.workers && p.workers < p.size {
		p.workers++
		return true, true
	}
	return true, false
}

// lost is called by a worker that ends, at the latest with the drain; before, because its handler ended the goroutine.
func (p *pool) lost() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers--
}

func (p *pool) step(inside, running int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inside += inside
	p.running += running
}

func (p *pool) counts() (inside, running int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inside, p.running
}

// intake is the go-nsq handler of one consumer. It must return at once: while it blocks, go-nsq reads neither heartbeats
// nor errors, and nsqd cuts the connection.
type intake struct {
	w   *Worker
	gen int
}

// HandleMessage hands a message to the pool.
func (h intake) HandleMessage(m *nsq.Message) error {
	m.DisableAutoResponse()
	now := time.Now()
	w := h.w
	w.count.received.Add(1)
	n := w.nodes.get(m.NSQDAddress, w.newNode)
	if w.draining.Load() {
		n.refuse(h.gen, m, 0)
		return nil
	}
	ok, grow := w.pool.reserve()
	if !ok {
		n.refuse(h.gen, m, overflowDelay)
		return nil
	}
	if grow {
		go w.work()
	}
	l, again := n.receive(h.gen, m, now)
	if again {
		w.log.WarnContext(w.base, "message delivered again while held", "message", string(m.ID[:]), "nsqd", n.addr)
	}
	if l == nil {
		w.pool.step(-1, 0)
		return nil
	}
	w.pool.line <- l
	return nil
}

// work runs handlers until the drain is over.
func (w *Worker) work() {
	defer w.pool.lost()
	for {
		select {
		case l := <-w.pool.line:
			w.run(l)
		case <-w.pool.done:
			return
		}
	}
}

func (w *Worker) run(l *lease) {
	w.pool.step(0, 1)
	defer w.pool.step(-1, -1)
	if !l.link.node.begin(l, w.base, &w.draining, time.Now()) {
		return
	}
	d := Leave() // what stays should the handler end the goroutine
	defer func() {
		l.stop(context.Canceled)
		w.answer(l, d)
	}()
	d = w.handle(l)
}

// begin moves a lease from waiting to running, if it is still worth it.
func (n *node) begin(l *lease, base context.Context, draining *atomic.Bool, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.phase != waiting {
		return false
	}
	if !now.Before(l.deadline) {
		n.lose(l, errExpired)
	}
	switch {
	case l.phase == gone:
		return false
	case l.lost != nil:
		n.keep(l)
		return false
	case draining.Load():
		n.giveBack(l)
		return false
	}
	l.phase, l.began = running, now
	l.ctx, l.end = context.WithCancelCause(base)
	return true
}

// giveBack answers a waiting message with REQ 0.
func (n *node) giveBack(l *lease) {
	n.count.refused.Add(1)
	n.release(l)
	l.link.order(order{msg: l.msg})
}

// handle calls the handler. A panic counts as Leave.
func (w *Worker) handle(l *lease) (d Disposition) {
	delivery := l.delivery()
	defer func() {
		if r := recover(); r != nil {
			d = Leave()
			w.count.panics.Add(1)
			w.log.ErrorContext(w.base, "handler panicked", "message", delivery.ID, "nsqd", delivery.NSQD,
				"panic", r, "stack", string(debug.Stack()))
		}
	}()
	return w.handler.Handle(w.workCtx, l.ctx, delivery)
}

// answer writes what the handler decided, unless the message is not ours to answer.
func (w *Worker) answer(l *lease, d Disposition) {
	d = l.link.node.settle(l, d, time.Now())
	if d.verb == leave {
		return
	}
	l.touch.Lock()
	defer l.touch.Unlock()
	if d.verb == finish {
		w.count.finished.Add(1)
		l.msg.Finish()
		return
	}
	w.count.requeued.Add(1)
	l.msg.RequeueWithoutBackoff(clamp(d.delay, w.cfg.MaxReqTimeout))
}

// settle ends the running phase and returns what to write.
func (n *node) settle(l *lease, d Disposition, now time.Time) Disposition {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.phase == gone { // buried: the drain did not wait for this handler
		return Leave()
	}
	if !now.Before(l.deadline) {
		n.lose(l, errExpired)
	}
	if l.lost != nil || d.verb == leave {
		n.keep(l)
		return Leave()
	}
	n.release(l)
	return d
}

// keep holds a message unanswered, without its body.
func (n *node) keep(l *lease) {
	n.count.left.Add(1)
	l.phase = left
	l.msg.Body = nil
	if l.link.dead {
		n.bury(l, time.Time{})
	}
}
