package nsqworker

import (
	"fmt"
	"sync"
	"time"

	"github.com/nsqio/go-nsq"
)

// node is one nsqd and all we hold of it. Nothing that may block is called under its mutex.
type node struct {
	addr   string
	timing timing
	count  *counters

	mu            sync.Mutex
	http          string
	maxMsgTimeout time.Duration
	current       map[nsq.MessageID]*lease // the last delivery of each message
	links         map[int]*link            // by generation of the consumer
	err           error                    // why we are not connected
	logged        time.Time                // when err was last said
	seen          time.Time                // when a lookup last named it
	forget        func()                   // ends its dialer
	watch         watch
}

// link is one connection to a node, or the last one of a consumer.
type link struct {
	node   *node
	conn   nsq.MessageDelegate // of its messages: one value for each connection of go-nsq
	up     bool
	dead   bool
	said   string   // nsqd's last complaint, which tends to be the reason for the end
	leases []*lease // not gone
	orders []order
	busy   bool // a goroutine writes orders
}

// connecting starts a new link: go-nsq opens a connection only when all the former one delivered is answered.
func (n *node) connecting(gen int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[gen] = &link{node: n}
}

// connected notes that the link is up and says whether that is news.
func (n *node) connected(gen int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.links[gen]
	if k == nil || k.dead || k.up {
		return false
	}
	k.up, n.err, n.watch.dropped = true, nil, false
	return true
}

// linkOf finds the link a message came by. It makes one when go-nsq's connection is another than the one we know.
func (n *node) linkOf(gen int, m *nsq.Message) *link {
	k := n.links[gen]
	if k == nil || (k.conn != nil && k.conn != m.Delegate) {
		k = &link{node: n, up: true}
		n.links[gen] = k
	}
	k.conn = m.Delegate
	return k
}

// receive takes a message in as a waiting lease. The lease of an earlier delivery ends: nsqd has given it up.
// It returns no lease when the connection has died already.
func (n *node) receive(gen int, m *nsq.Message, now time.Time) (l *lease, again bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := n.current[m.ID]; old != nil {
		again = true
		n.count.redelivered.Add(1)
		n.lose(old, errRedelivered)
	}
	k := n.linkOf(gen, m)
	if k.dead {
		k.order(order{msg: m, delay: n.timing.msgTimeout})
		return nil, again
	}
	l = newLease(m, k, n.timing, now)
	l.pos = len(k.leases)
	k.leases = append(k.leases, l)
	n.current[m.ID] = l
	return l, again
}

// refuse sends a message back that was not taken in.
func (n *node) refuse(gen int, m *nsq.Message, delay time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count.refused.Add(1)
	n.linkOf(gen, m).order(order{msg: m, delay: delay})
}

// release makes a lease gone; whoever calls it answers the message.
func (n *node) release(l *lease) {
	k := l.link
	last := len(k.leases) - 1
	k.leases[l.pos] = k.leases[last]
	k.leases[l.pos].pos = l.pos
	k.leases[last] = nil
	k.leases = k.leases[:last]
	l.phase = gone
	n.unname(l)
}

func (n *node) unname(l *lease) {
	if n.current[l.msg.ID] == l {
		delete(n.current, l.msg.ID)
	}
}

// lose ends a lease that is not ours any more. Its handler's answer will not be sent.
func (n *node) lose(l *lease, cause error) {
	if l.lost != nil || l.phase == gone {
		return
	}
	l.lost = cause
	n.unname(l)
	l.stop(cause)
	if l.phase != left {
		n.count.lapsed.Add(1)
	}
	if l.link.dead && l.phase != running {
		n.bury(l, time.Time{})
	}
}

// bury answers a message for go-nsq's sake only: it replaces a dead connection, and ends a stopped one, when all that it
// delivered is answered. Should nsqd hear it after all, the delay makes it the same as no answer.
func (n *node) bury(l *lease, now time.Time) {
	delay := n.timing.msgTimeout
	if l.held() && !l.link.dead {
		delay = max(l.deadline.Sub(now), time.Second)
	}
	n.release(l)
	l.link.order(order{msg: l.msg, delay: delay})
}

// broken ends all leases of a consumer's connection and says how many.
func (n *node) broken(gen int, err error) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.links[gen]
	if k == nil || k.dead {
		return 0
	}
	if k.said != "" {
		err = fmt.Errorf("%w, after %s", err, k.said)
	}
	k.up, k.dead, n.err = false, true, err
	held := 0
	for i := len(k.leases) - 1; i >= 0; i-- {
		l := k.leases[i]
		if l.held() {
			held++
			n.lose(l, errConnection)
		} else if l.phase != running {
			n.bury(l, time.Time{})
		}
	}
	return held
}

// complained notes what nsqd said to a connection.
func (n *node) complained(gen int, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := n.links[gen]; k != nil {
		k.said = text
	}
}

// refusedUs notes that go-nsq's own reconnecting failed.
func (n *node) refusedUs(gen int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := n.links[gen]; k != nil {
		k.up, n.err = false, err
	}
}

// failed notes nsqd's refusal of a TOUCH, FIN or REQ and says whether it was about a lease we thought ours.
func (n *node) failed(gen int, id nsq.MessageID, cause error) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.current[id]
	if l == nil || l.link != n.links[gen] {
		return false
	}
	n.lose(l, cause)
	return true
}

// holding counts the leases of one consumer that nsqd should count as well.
func (n *node) holding(gen int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.links[gen].holding()
}

func (k *link) holding() int {
	if k == nil {
		return 0
	}
	held := 0
	for _, l := range k.leases {
		if l.held() {
			held++
		}
	}
	return held
}
