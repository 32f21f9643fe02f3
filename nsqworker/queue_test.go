package nsqworker_test

import (
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/nsqworker"
)

// What NSQ holds is added up over all nsqds; one that does not answer is left out, and where none does that is an error.
func TestQueue(t *testing.T) {
	t.Parallel()
	one, two := nsqd(t), nsqd(t)
	cs, h := held()
	cfg := fixed(one, two)
	first, second := nsqtest.StartProxy(t, one.HTTP()), nsqtest.StartProxy(t, two.HTTP())
	cfg.NSQDHTTPs = []string{first.Addr(), second.Addr()}
	cfg.DrainTimeout = 100 * time.Millisecond
	w := start(t, cfg, h)
	w.connected(t, 2)
	for range 3 {
		one.Publish(topic, "{}")
		two.Publish(topic, "{}")
	}
	var held []*call
	for range 2 {
		held = append(held, cs.next(t))
	}
	var q nsqworker.Queue
	nsqtest.Until(t, "all six to be counted", func() bool {
		var err error
		q, err = w.Queue(t.Context())
		return err == nil && q.Depth+q.InFlight+q.Deferred == 6 && q.Clients == 2
	})
	if q.NSQDs != 2 || q.Paused || q.InFlight < 2 {
		t.Errorf("got %+v", q)
	}
	first.Refuse()
	q, err := w.Queue(t.Context())
	if err != nil || q.NSQDs != 1 {
		t.Errorf("with one: %+v, %v", q, err)
	}
	second.Refuse()
	if q, err := w.Queue(t.Context()); err == nil {
		t.Errorf("with none: %+v", q)
	}
	for _, c := range held {
		c.finish()
	}
}
