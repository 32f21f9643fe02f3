package nsqworker

import (
	"context"
	"time"

	"github.com/nsqio/go-nsq"
)

// order is something to write on a connection: a TOUCH of a lease, or REQ for a message without one.
type order struct {
	lease *lease
	msg   *nsq.Message
	delay time.Duration
}

// order puts o in the link's line. A goroutine writes the line while there is one, since writing may block for as long as
// the connection's write timeout; the other connections' touches must not wait for that.
func (k *link) order(o order) {
	k.orders = append(k.orders, o)
	if !k.busy {
		k.busy = true
		go k.write()
	}
}

func (k *link) write() {
	for {
		k.node.mu.Lock()
		todo := k.orders
		k.orders = nil
		k.busy = len(todo) > 0
		k.node.mu.Unlock()
		if len(todo) == 0 {
			return
		}
		for _, o := range todo {
			k.node.carryOut(o)
		}
	}
}

func (n *node) carryOut(o order) {
	if o.lease == nil {
		o.msg.RequeueWithoutBackoff(o.delay)
		return
	}
	o.lease.touch.Lock()
	defer o.lease.touch.Unlock()
	if !n.touchable(o.lease) {
		return
	}
	sent := time.Now()
	o.lease.msg.Touch()
	n.count.touched.Add(1)
	n.mu.Lock()
	defer n.mu.Unlock()
	o.lease.touched(sent, n.timing)
}

func (n *node) touchable(l *lease) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return l.held() && l.phase != left
}

// keep tends all leases until ctx ends.
func (w *Worker) keep(ctx context.Context) {
	tick := time.NewTicker(w.timing.tick())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.tend(time.Now())
		}
	}
}

func (w *Worker) tend(now time.Time) {
	for _, n := range w.nodes.all() {
		if lost := n.tend(now); lost > 0 {
			w.log.WarnContext(w.base, "leases lost", "nsqd", n.addr, "count", lost, "error", errExpired)
		}
	}
}

// tend looks at every lease of a node: it ends what has run out and orders touches. There are a few hundred at most, and a
// message that is done within the interval costs nothing here. It returns how many were lost to time.
func (n *node) tend(now time.Time) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	lost := 0
	for _, k := range n.links {
		for i := len(k.leases) - 1; i >= 0; i-- {
			if n.tendLease(k.leases[i], now) {
				lost++
			}
		}
	}
	return lost
}

func (n *node) tendLease(l *lease, now time.Time) (lost bool) {
	switch {
	case l.lost != nil:
		return false
	case !now.Before(l.deadline):
		lost = l.phase != left
		n.lose(l, errExpired)
		return lost
	case l.phase == left:
		return false
	}
	if !now.Before(l.until) {
		l.stop(ErrLeaseCap)
	}
	if !l.touching && !now.Before(l.next) && l.deadline.Before(l.cap) {
		l.touching = true
		l.link.order(order{lease: l})
	}
	return false
}
