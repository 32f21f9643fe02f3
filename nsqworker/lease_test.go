package nsqworker_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	upstream "github.com/nsqio/nsq/nsqd"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/nsqworker"
)

func maxMsgTimeout(d time.Duration) nsqtest.Option {
	return func(o *upstream.Options) { o.MaxMsgTimeout, o.MsgTimeout = d, d }
}

// nsqd gives the message out again to the same connection while the first handler runs; its cap is lower than we are told.
// Whatever the first says then would answer for the second.
func TestCase18SecondDeliveryEndsTheFirst(t *testing.T) {
	t.Parallel()
	d := nsqd(t, maxMsgTimeout(2*time.Second))
	cs, h := held()
	cfg := fixed(d)
	cfg.MaxMsgTimeout = time.Hour
	w := start(t, cfg, h)
	d.Publish(topic, "twice")
	first := cs.next(t)
	second := cs.next(t)
	if second.ID != first.ID || second.Attempts != 2 {
		t.Errorf("second delivery %+v", second.Delivery)
	}
	wantCause(t, first.lease, nsqworker.ErrLeaseLost)
	first.finish()
	nsqtest.Until(t, "the first to return", func() bool { return w.Stats().Left == 1 })
	if s := d.Stats(topic, channel); s.Finished != 0 {
		t.Fatal("the first handler finished the second one's delivery")
	}
	if err := second.lease.Err(); err != nil {
		t.Errorf("the second's lease: %v", err)
	}
	second.finish()
	empty(t, d)
	if s := w.Stats(); s.Redelivered != 1 || s.Lapsed != 1 || s.Finished != 1 {
		t.Errorf("stats %+v", s)
	}
}

// No TOUCH moves the deadline past the cap, and none fails. The lease context ends before it, in time for a REQ.
func TestCase19LeaseEndsBeforeTheCap(t *testing.T) {
	t.Parallel()
	d := nsqd(t, maxMsgTimeout(9*time.Second))
	cs, h := held()
	cfg := fixed(d)
	cfg.MsgTimeout = 6 * time.Second // the margin is 2 s
	start(t, cfg, h)
	received := time.Now()
	d.Publish(topic, "long")
	c := cs.next(t)
	if most := c.Until.Sub(received); most > 7500*time.Millisecond {
		t.Errorf("until %v after publishing: nsqd's cap was not asked", most)
	}
	wantCause(t, c.lease, nsqworker.ErrLeaseCap)
	c.answer <- nsqworker.Requeue(0)
	again := cs.next(t)
	again.finish()
	empty(t, d)
	if s := d.Stats(topic, channel); s.TimedOut != 0 || s.Requeued != 1 || s.Finished != 1 {
		t.Errorf("nsqd counts %+v", s)
	}
}

// Paused, so that nsqd has nobody to give it to: the next TOUCH is refused.
func TestRefusedTouchEndsTheLease(t *testing.T) {
	t.Parallel()
	d := nsqd(t, maxMsgTimeout(2*time.Second))
	cs, h := held()
	cfg := fixed(d)
	cfg.MaxMsgTimeout = time.Hour
	w := start(t, cfg, h)
	d.Publish(topic, "lost")
	c := cs.next(t)
	w.Pause("test")
	err := ends(t, c.lease)
	if !strings.Contains(err.Error(), "E_TOUCH_FAILED") {
		t.Errorf("the lease ended with %v", err)
	}
	c.finish()
	nsqtest.Until(t, "it to be left", func() bool { return w.Stats().Left == 1 })
	if s := d.Stats(topic, channel); s.Finished != 0 || s.Depth != 1 {
		t.Errorf("nsqd counts %+v", s)
	}
	w.Resume()
	cs.next(t).finish()
	empty(t, d)
}

func TestCase34FINLostWithTheConnection(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	p := nsqtest.StartProxy(t, d.TCP())
	p.TrapClient("FIN ", 3)
	cs, h := held()
	cfg := fixed(d)
	cfg.MsgTimeout, cfg.NSQDs = time.Second, []string{p.Addr()}
	w := start(t, cfg, h)
	d.Publish(topic, "fin")
	for i := range 4 {
		c := cs.next(t)
		if int(c.Attempts) != i+1 {
			t.Errorf("attempts %d at delivery %d", c.Attempts, i+1)
		}
		c.finish()
	}
	empty(t, d)
	if p.Sprung() != 3 {
		t.Errorf("%d FINs cut, want 3", p.Sprung())
	}
	if s := w.Stats(); s.Finished != 4 || s.Panics != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestConnectionLossEndsLeasesAndReconnects(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	p := nsqtest.StartProxy(t, d.TCP())
	cs, h := held()
	cfg := fixed(d)
	cfg.NSQDs = []string{p.Addr()}
	var told atomic.Int32
	cfg.OnLost = func() { told.Add(1) }
	w := start(t, cfg, h)
	d.Publish(topic, "left", "held")
	left, running := cs.next(t), cs.next(t)
	left.answer <- nsqworker.Leave()
	nsqtest.Until(t, "one to be left", func() bool { return w.Stats().Left == 1 })
	if n := told.Load(); n != 0 {
		t.Errorf("told of %d losses before there was one", n)
	}
	p.Cut()
	wantCause(t, running.lease, nsqworker.ErrLeaseLost)
	nsqtest.Until(t, "the loss to be told", func() bool { return told.Load() > 0 })
	if err := running.work.Err(); err != nil {
		t.Errorf("the work context ended too: %v", err)
	}
	running.finish() // into the dead connection; go-nsq connects again when all is answered, the left one too
	w.connected(t, 1)
	for range 2 {
		c := cs.next(t)
		if c.Attempts != 2 {
			t.Errorf("attempts %d", c.Attempts)
		}
		c.finish()
	}
	empty(t, d)
	if s := d.Stats(topic, channel); s.Requeued != 0 {
		t.Errorf("%d requeues reached nsqd", s.Requeued)
	}
}

// A black hole: nothing is reset, nothing arrives. Missing heartbeats end the connection within half a lease.
func TestFrozenConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	p := nsqtest.StartProxy(t, d.TCP())
	cs, h := held()
	cfg := fixed(d)
	cfg.NSQDs = []string{p.Addr()}
	w := start(t, cfg, h)
	d.Publish(topic, "frozen")
	c := cs.next(t)
	p.Freeze()
	wantCause(t, c.lease, nsqworker.ErrLeaseLost)
	c.finish()
	p.Cut()
	p.Thaw()
	w.connected(t, 1)
	cs.next(t).finish()
	empty(t, d)
}
