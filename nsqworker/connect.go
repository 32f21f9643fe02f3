package nsqworker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nsqio/go-nsq"
)

const (
	dialTimeout     = 3 * time.Second
	netWriteTimeout = 5 * time.Second // go-nsq's 1 s ends a connection, and all its leases, on a hiccup
	nsqMaxPoll      = 5 * time.Minute
	repeatLog       = time.Minute // a standing failure is logged this often
	forgetAfter     = time.Minute // an nsqd no lookup names any more
)

// MsgTimeoutError says that an nsqd refuses us for the lease we ask for.
type MsgTimeoutError struct {
	NSQD string
	Want time.Duration
	Max  time.Duration // 0: it did not say
}

// Error names both numbers, when both are known.
func (e *MsgTimeoutError) Error() string {
	limit := "more than its max-msg-timeout"
	if e.Max > 0 {
		limit = fmt.Sprintf("its max-msg-timeout is %v", e.Max)
	}
	return fmt.Sprintf("nsqd %s refuses msg-timeout %v: %s", e.NSQD, e.Want, limit)
}

// discover starts a dialer for each nsqd named in the configuration or by a lookup.
func (w *Worker) discover(ctx context.Context) {
	var dialers sync.WaitGroup
	defer dialers.Wait()
	for i, addr := range w.cfg.NSQDs {
		w.learn(ctx, &dialers, addr, w.httpOf(i, addr))
	}
	if len(w.cfg.Lookupds) == 0 {
		return
	}
	tick := time.NewTicker(w.cfg.LookupInterval)
	defer tick.Stop()
	for {
		w.lookup(ctx, &dialers)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// httpOf is the configured address of an nsqd's API, or the port after its TCP one.
func (w *Worker) httpOf(i int, addr string) string {
	if i < len(w.cfg.NSQDHTTPs) {
		return w.cfg.NSQDHTTPs[i]
	}
	host, port, _ := net.SplitHostPort(addr)
	p, err := strconv.Atoi(port)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(p+1))
}

// learn notes where an nsqd is and starts its dialer if it has none.
func (w *Worker) learn(ctx context.Context, dialers *sync.WaitGroup, addr, http string) {
	n := w.nodes.get(addr, w.newNode)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.http, n.seen = http, time.Now()
	if n.forget == nil {
		ctx, n.forget = context.WithCancel(ctx)
		dialers.Go(func() { w.dial(ctx, n) })
	}
}

// dial keeps one nsqd connected: go-nsq does not repeat a first connect that failed.
func (w *Worker) dial(ctx context.Context, n *node) {
	tick := time.NewTicker(w.cfg.ReconnectInterval)
	defer tick.Stop()
	for {
		w.connect(ctx, n)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// connect connects once, unless that stands already.
func (w *Worker) connect(ctx context.Context, n *node) {
	c := w.consumer()
	if n.isUp(c.gen) || ctx.Err() != nil {
		return
	}
	err := w.askMaxMsgTimeout(ctx, n)
	if err == nil {
		err = c.ConnectToNSQD(n.addr)
	}
	switch {
	case err == nil, errors.Is(err, nsq.ErrAlreadyConnected):
		if n.connected(c.gen) {
			w.log.InfoContext(ctx, "connected", "nsqd", n.addr)
			w.nudge()
		}
	case ctx.Err() != nil:
	default:
		w.notConnected(ctx, n, err)
	}
}

func (w *Worker) notConnected(ctx context.Context, n *node, err error) {
	if strings.Contains(err.Error(), "E_BAD_BODY") && strings.Contains(err.Error(), "msg timeout") {
		err = &MsgTimeoutError{NSQD: n.addr, Want: w.cfg.MsgTimeout}
	}
	if n.failing(err, time.Now()) {
		w.log.ErrorContext(ctx, "cannot connect", "nsqd", n.addr, "error", err)
	}
}

// failing notes why we are not connected and says whether to log it.
func (n *node) failing(err error, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	news := n.err == nil || n.err.Error() != err.Error() || now.Sub(n.logged) >= repeatLog
	n.err = err
	if news {
		n.logged = now
	}
	return news
}

// askMaxMsgTimeout asks nsqd for the cap on leases, which IDENTIFY does not tell (go-nsq drops it). Without an answer
// the former one stands. It returns a *MsgTimeoutError if nsqd would refuse us.
func (w *Worker) askMaxMsgTimeout(ctx context.Context, n *node) error {
	if w.cfg.MaxMsgTimeout > 0 {
		return nil
	}
	n.mu.Lock()
	addr := n.http
	n.mu.Unlock()
	if addr == "" {
		return nil
	}
	var most time.Duration // in JSON as nanoseconds
	if err := getJSON(ctx, w.http, addr, "/config/max_msg_timeout", &most); err != nil || most <= 0 {
		w.log.DebugContext(ctx, "nsqd does not tell its max-msg-timeout", "nsqd", n.addr, "http", addr, "error", err)
		return nil
	}
	n.mu.Lock()
	n.maxMsgTimeout = most
	n.mu.Unlock()
	if most < w.cfg.MsgTimeout {
		return &MsgTimeoutError{NSQD: n.addr, Want: w.cfg.MsgTimeout, Max: most}
	}
	return nil
}
