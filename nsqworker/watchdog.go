package nsqworker

import (
	"context"
	"slices"
	"time"
)

type action uint8

const (
	fine action = iota
	nudge
	recycle
)

type verdict struct {
	action action
	reason string
}

// nsqdView is what an nsqd says of our channel and of our client on it.
type nsqdView struct {
	depth    int64
	paused   bool
	known    bool // our client is there
	ready    int64
	inFlight int64
	messages uint64 // sent to it so far
}

// ourView is the same by our account.
type ourView struct {
	linked   bool // go-nsq has a connection, alive or not
	holding  int
	ready    int64 // RDY there should be
	patience time.Duration
}

// watch remembers since when something is wrong with one nsqd.
type watch struct {
	messages uint64
	since    map[string]time.Time
	dropped  bool // nsqd has not known us at two looks: go-nsq's word for the connection is not to be believed
}

// unknownToNSQD is why a connection that go-nsq has is none.
const unknownToNSQD = "nsqd does not know us"

// check compares both views. What stays wrong for patience needs a new consumer; before that a nudge may help.
//   - leak: nsqd 1.3.0 counts a message that comes again with an id in flight and never discounts it (protocol_v2.go);
//     the count eats RDY until nothing comes any more. What is on its way to us is in nsqd's count alone too, so more
//     must have come since the last look than the difference, to explain it.
//   - unknown: nsqd has dropped us and go-nsq waits for answers before it connects again.
//   - starved, stuck: messages wait, and none comes.
func (s *watch) check(now time.Time, nsqd nsqdView, ours ourView) verdict {
	came := int64(nsqd.messages - s.messages)
	s.messages = nsqd.messages
	excess := nsqd.inFlight - int64(ours.holding)
	waits := nsqd.known && nsqd.depth > 0 && !nsqd.paused && ours.ready > 0
	wrong := map[string]bool{
		"nsqd counts more in flight than we hold": nsqd.known && excess > 0 && came >= 0 && came <= excess,
		unknownToNSQD:                  !nsqd.known && ours.linked,
		"RDY is 0":                     waits && nsqd.ready == 0,
		"messages wait and none comes": waits && nsqd.ready > nsqd.inFlight && came == 0,
	}
	v := verdict{}
	if waits && nsqd.ready < ours.ready {
		v = verdict{nudge, "RDY is too low"}
	}
	since := map[string]time.Time{}
	for reason, is := range wrong {
		if !is {
			continue
		}
		since[reason] = now
		if was, ok := s.since[reason]; ok {
			since[reason] = was
		}
		if now.Sub(since[reason]) >= ours.patience {
			v = verdict{recycle, reason}
		} else if v.action == fine && waits {
			v = verdict{nudge, reason}
		}
	}
	_, before := s.since[unknownToNSQD]
	s.dropped = before && wrong[unknownToNSQD]
	s.since = since
	return v
}

func (w *Worker) watchLoop(ctx context.Context) {
	tick := time.NewTicker(w.cfg.WatchdogInterval)
	defer tick.Stop()
	patience := 2 * w.cfg.WatchdogInterval
	var recycled time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if w.watchAll(ctx, now, patience, now.Sub(recycled) > 4*patience) {
				recycled = now
			}
		}
	}
}

// watchAll looks at every nsqd once and says whether it recycled the consumer.
func (w *Worker) watchAll(ctx context.Context, now time.Time, patience time.Duration, may bool) bool {
	c := w.consumer()
	for _, n := range w.nodes.all() {
		seen, err := w.askStats(ctx, n, c.gen)
		if err != nil {
			continue // not reachable over HTTP; the connection has its own heartbeats
		}
		v := n.check(now, seen, w.view(n, c.gen, patience))
		switch {
		case v.action == fine || ctx.Err() != nil:
		case v.action == recycle && may:
			w.recycle(ctx, c, n, v.reason)
			return true
		default:
			w.log.InfoContext(ctx, "nudging nsqd", "nsqd", n.addr, "reason", v.reason)
			w.nudge()
		}
	}
	return false
}

func (n *node) check(now time.Time, seen nsqdView, ours ourView) verdict {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.watch.check(now, seen, ours)
}

func (w *Worker) view(n *node, gen int, patience time.Duration) ourView {
	size := w.size()
	v := ourView{holding: n.holding(gen), ready: int64(size / max(w.connections(), 1)), patience: patience}
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.links[gen]
	v.linked = k != nil && (k.up || len(k.leases) > 0)
	return v
}

func (w *Worker) size() int {
	w.flow.mu.Lock()
	defer w.flow.mu.Unlock()
	return w.flow.size
}

// statsReply is nsqd's answer to /stats.
type statsReply struct {
	Topics []struct {
		Paused   bool `json:"paused"`
		Channels []struct {
			Depth    int64 `json:"depth"`
			InFlight int64 `json:"in_flight_count"`
			Deferred int64 `json:"deferred_count"`
			Paused   bool  `json:"paused"`
			Clients  []struct {
				ClientID  string `json:"client_id"`
				Hostname  string `json:"hostname"`
				Ready     int64  `json:"ready_count"`
				InFlight  int64  `json:"in_flight_count"`
				Messages  uint64 `json:"message_count"`
				Connected int64  `json:"connect_ts"`
			} `json:"clients"`
		} `json:"channels"`
	} `json:"topics"`
}

// askStats asks one nsqd how it sees us.
func (w *Worker) askStats(ctx context.Context, n *node, gen int) (nsqdView, error) {
	r, err := w.stats(ctx, n)
	if err != nil {
		return nsqdView{}, err
	}
	return r.view(clientID(w.cfg.ClientID, gen), w.cfg.Hostname), nil
}

// view picks our client; of several the latest, since nsqd may not have noticed yet that the one before is dead.
func (r statsReply) view(id, host string) nsqdView {
	v, latest := nsqdView{}, int64(-1)
	for _, t := range r.Topics {
		for _, c := range t.Channels {
			v.depth, v.paused = c.Depth, c.Paused
			for _, cl := range c.Clients {
				if cl.ClientID == id && cl.Hostname == host && cl.Connected > latest {
					latest, v.known = cl.Connected, true
					v.ready, v.inFlight, v.messages = cl.Ready, cl.InFlight, cl.Messages
				}
			}
		}
	}
	return v
}

// recycle opens a new consumer; the old one takes no more and ends when its handlers have returned.
func (w *Worker) recycle(ctx context.Context, old *consumer, n *node, reason string) {
	w.log.ErrorContext(ctx, "replacing the consumer", "nsqd", n.addr, "reason", reason)
	if err := w.open(old.gen + 1); err != nil {
		w.log.ErrorContext(ctx, "no new consumer", "error", err)
		return
	}
	w.count.recycled.Add(1)
	old.ChangeMaxInFlight(0)
	go w.retire(ctx, old)
}

// retire ends an old consumer, unless a drain does.
func (w *Worker) retire(ctx context.Context, old *consumer) {
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for w.working(old.gen) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	w.buryAll(old.gen)
	old.stop()
	w.retired(old)
}

func (w *Worker) retired(old *consumer) {
	w.flow.mu.Lock()
	w.flow.old = slices.DeleteFunc(w.flow.old, func(c *consumer) bool { return c == old })
	w.flow.mu.Unlock()
	for _, n := range w.nodes.all() {
		n.mu.Lock()
		delete(n.links, old.gen)
		n.mu.Unlock()
	}
}

// working says whether a message of that consumer waits for a handler or has one.
func (w *Worker) working(gen int) bool {
	for _, n := range w.nodes.all() {
		if n.working(gen) {
			return true
		}
	}
	return false
}

func (n *node) working(gen int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.links[gen]
	return k != nil && slices.ContainsFunc(k.leases, func(l *lease) bool { return l.phase != left })
}
