package nsqworker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/nsqworker"
)

// Case 21: nsqd has dropped the connection and go-nsq still counts it as one. The watchdog asks nsqd itself: health turns red,
// says why, and a new consumer takes what waits.
func TestCase21NSQDDoesNotKnowUs(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	p := nsqtest.StartProxy(t, d.TCP())
	var got seen
	cfg := fixed(d)
	cfg.NSQDs, cfg.WatchdogInterval = []string{p.Addr()}, 500*time.Millisecond
	cfg.MsgTimeout = 2 * time.Minute // its heartbeats find out much later
	w := start(t, cfg, finisher(&got))
	w.connected(t, 1)
	nsqtest.Until(t, "nsqd to know us", func() bool { return len(d.Stats(topic, channel).Clients) == 1 })
	p.Orphan()
	nsqtest.Until(t, "nsqd to drop us", func() bool { return len(d.Stats(topic, channel).Clients) == 0 })
	nsqtest.Until(t, "red health", func() bool {
		err := w.Health()
		return errors.Is(err, nsqworker.ErrNotConnected) && strings.Contains(err.Error(), "nsqd does not know us")
	})
	d.Publish(topic, "waits")
	nsqtest.Until(t, "the message", func() bool { return got.len() == 1 })
	nsqtest.Until(t, "green health", func() bool { return w.Health() == nil })
	if s := w.Stats(); s.Recycled != 1 {
		t.Errorf("%d consumers replaced, want 1", s.Recycled)
	}
	p.Refuse() // the orphan too
}

// Case 25: five nsqds and room for four messages. They take turns; a message on whichever of them is handled within a minute.
func TestCase25FewerSlotsThanNSQDs(t *testing.T) {
	t.Parallel()
	ds := []*nsqtest.NSQD{nsqd(t), nsqd(t), nsqd(t), nsqd(t), nsqd(t)}
	var got seen
	cfg := fixed(ds...)
	w := start(t, cfg, finisher(&got))
	w.connected(t, len(ds))
	if s := w.Stats(); s.MaxInFlight >= len(ds) {
		t.Fatalf("max in flight %d, want fewer than %d nsqds", s.MaxInFlight, len(ds))
	}
	for i, d := range ds {
		d.Publish(topic, fmt.Sprint(i))
	}
	nsqtest.Until(t, "all five", func() bool { return got.len() == len(ds) })
}

// Case 29: one of two nsqlookupds is a black hole. The other one is enough.
func TestCase29LookupdIsSilent(t *testing.T) {
	t.Parallel()
	up, silent := nsqtest.StartLookupd(t), nsqtest.StartLookupd(t)
	p := nsqtest.StartProxy(t, silent.HTTP())
	p.Freeze()
	d := nsqtest.Start(t, up.Register())
	d.CreateChannel(topic, channel)
	d.Publish(topic, "found")
	var got seen
	w := start(t, nsqworker.Config{Lookupds: []string{p.Addr(), up.HTTP()}, LookupInterval: 50 * time.Millisecond}, finisher(&got))
	nsqtest.Until(t, "the message", func() bool { return got.len() == 1 })
	if err := w.Health(); err != nil {
		t.Error(err)
	}
	w.stop(t) // before the nsqd
}

// Case 29: no nsqlookupd is there at the start: health is red and names them. One comes later.
func TestCase29LookupdComesLater(t *testing.T) {
	t.Parallel()
	l := nsqtest.StartLookupd(t)
	l.Stop()
	var got seen
	w := start(t, nsqworker.Config{Lookupds: []string{l.HTTP()}, LookupInterval: 50 * time.Millisecond}, finisher(&got))
	nsqtest.Until(t, "red health", func() bool {
		err := w.Health()
		return errors.Is(err, nsqworker.ErrNotConnected) && strings.Contains(err.Error(), l.HTTP())
	})
	l.Restart()
	d := nsqtest.Start(t, l.Register())
	d.CreateChannel(topic, channel)
	d.Publish(topic, "late")
	nsqtest.Until(t, "the message", func() bool { return got.len() == 1 })
	nsqtest.Until(t, "green health", func() bool { return w.Health() == nil })
	w.stop(t) // before the nsqd
}
