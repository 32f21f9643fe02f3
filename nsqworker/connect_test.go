package nsqworker_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	upstream "github.com/nsqio/nsq/nsqd"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/nsqworker"
)

func finisher(got *seen) nsqworker.HandlerFunc {
	return func(_, _ context.Context, m nsqworker.Delivery) nsqworker.Disposition {
		got.add(m.Body)
		return nsqworker.Finish()
	}
}

// restart stops an nsqd and starts it again, while a worker that reaches it by a proxy goes on.
func restart(t *testing.T, d *nsqtest.NSQD, p *nsqtest.Proxy) {
	t.Helper()
	p.Refuse()
	nsqtest.Until(t, "clients to be gone", func() bool { return len(d.Stats(topic, channel).Clients) == 0 })
	d.Stop()
	d.Restart()
	p.Accept()
}

func TestCase28RestartReleasesDeferred(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	p := nsqtest.StartProxy(t, d.TCP())
	cs, h := held()
	cfg := fixed(d)
	cfg.NSQDs = []string{p.Addr()}
	start(t, cfg, h)
	d.Publish(topic, "in ten minutes")
	cs.next(t).answer <- nsqworker.Requeue(10 * time.Minute)
	nsqtest.Until(t, "it to be deferred", func() bool { return d.Stats(topic, channel).Deferred == 1 })
	restart(t, d, p)
	c := cs.next(t) // at once; the handler has to know better
	if string(c.Body) != "in ten minutes" || c.Attempts != 2 {
		t.Errorf("delivery %+v", c.Delivery)
	}
	c.finish()
	empty(t, d)
}

func TestCase30NSQDComesBack(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	p := nsqtest.StartProxy(t, d.TCP())
	var got seen
	cfg := fixed(d)
	cfg.NSQDs = []string{p.Addr()}
	w := start(t, cfg, finisher(&got))
	w.connected(t, 1)
	p.Refuse()
	nsqtest.Until(t, "red health", func() bool { return errors.Is(w.Health(), nsqworker.ErrNotConnected) })
	if err := w.Health(); !strings.Contains(err.Error(), p.Addr()) {
		t.Errorf("health does not name %s: %v", p.Addr(), err)
	}
	restart(t, d, p)
	d.Publish(topic, "waits")
	nsqtest.Until(t, "the message", func() bool { return got.len() == 1 })
	nsqtest.Until(t, "green health", func() bool { return w.Health() == nil })
}

func TestCase30UnresolvableNSQD(t *testing.T) {
	t.Parallel()
	l := nsqtest.StartLookupd(t)
	d := nsqtest.Start(t, l.Register(), func(o *upstream.Options) { o.BroadcastAddress = "nope.invalid" })
	d.CreateChannel(topic, channel)
	w := start(t, nsqworker.Config{Lookupds: []string{l.HTTP()}, LookupInterval: 50 * time.Millisecond},
		func(_, _ context.Context, _ nsqworker.Delivery) nsqworker.Disposition { return nsqworker.Finish() })
	nsqtest.Until(t, "health to name the address", func() bool {
		err := w.Health()
		return errors.Is(err, nsqworker.ErrNotConnected) && strings.Contains(err.Error(), "nope.invalid")
	})
}

// An nsqd that is not there at the start is tried again, and does not keep the others from being used.
func TestFirstConnectIsRepeated(t *testing.T) {
	t.Parallel()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	late, there := nsqd(t), nsqd(t)
	p := nsqtest.StartProxy(t, late.TCP())
	p.Refuse()
	var got seen
	cfg := fixed(there)
	cfg.NSQDs = append([]string{dead.Addr().String(), p.Addr()}, cfg.NSQDs...)
	cfg.NSQDHTTPs = nil
	w := start(t, cfg, finisher(&got))
	w.connected(t, 1)
	if err := w.Health(); err != nil {
		t.Errorf("one of three is enough: %v", err)
	}
	p.Accept()
	w.connected(t, 2)
	late.Publish(topic, "late")
	nsqtest.Until(t, "the message", func() bool { return got.len() == 1 })
	if s := w.Stats(); s.MaxInFlight != 4 {
		t.Errorf("max in flight %d with two nsqds, want 4", s.MaxInFlight)
	}
}

func TestCase29LookupdDownAtStart(t *testing.T) {
	t.Parallel()
	l := nsqtest.StartLookupd(t)
	up := nsqtest.StartLookupd(t)
	l.Stop()
	var got seen
	w := start(t, nsqworker.Config{Lookupds: []string{l.HTTP(), up.HTTP()}, LookupInterval: 50 * time.Millisecond}, finisher(&got))
	nsqtest.Until(t, "health to name the nsqlookupd", func() bool {
		err := w.Health()
		return err != nil && strings.Contains(err.Error(), l.HTTP())
	})
	d := nsqtest.Start(t, up.Register())
	d.CreateChannel(topic, channel)
	d.Publish(topic, "found")
	nsqtest.Until(t, "the message", func() bool { return got.len() == 1 })
	up.Stop()
	d.Publish(topic, "goes on")
	nsqtest.Until(t, "the message after all nsqlookupds are gone", func() bool { return got.len() == 2 })
	w.stop(t) // before the nsqd
}

func TestCase36TimeoutAboveNSQDs(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	for name, https := range map[string][]string{"asked": {d.HTTP()}, "refused": {"127.0.0.1:1"}} {
		t.Run(name, func(t *testing.T) {
			cfg := fixed(d)
			cfg.MsgTimeout, cfg.NSQDHTTPs = 16*time.Minute, https
			w := start(t, cfg, func(_, _ context.Context, _ nsqworker.Delivery) nsqworker.Disposition { return nsqworker.Finish() })
			var refused *nsqworker.MsgTimeoutError
			nsqtest.Until(t, "red health", func() bool { return errors.As(w.Health(), &refused) })
			if refused.Want != 16*time.Minute || refused.NSQD != d.TCP() {
				t.Errorf("%+v", refused)
			}
			if name == "asked" && !strings.Contains(refused.Error(), "16m0s: its max-msg-timeout is 15m0s") {
				t.Errorf("not both numbers: %v", refused)
			}
		})
	}
}

// A handler that never returns keeps go-nsq from connecting again; the watchdog makes a new consumer.
func TestWatchdogReplacesTheConsumer(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	p := nsqtest.StartProxy(t, d.TCP())
	cs, h := held()
	cfg := fixed(d)
	cfg.NSQDs, cfg.WatchdogInterval = []string{p.Addr()}, 100*time.Millisecond
	w := start(t, cfg, h)
	d.Publish(topic, "stuck")
	stuck := cs.next(t)
	p.Cut()
	nsqtest.Until(t, "a new consumer", func() bool { return w.Stats().Recycled == 1 })
	again := cs.next(t)
	if again.Attempts != 2 {
		t.Errorf("attempts %d", again.Attempts)
	}
	again.finish()
	empty(t, d)
	stuck.finish()
	if err := w.stop(t); err != nil {
		t.Errorf("drain: %v", err)
	}
}

// SUB is not acknowledged: a refusal looks like a connection that ends at once. Health says why.
func TestHealthTellsNSQDsComplaint(t *testing.T) {
	t.Parallel()
	d := nsqd(t, func(o *upstream.Options) { o.MaxChannelConsumers = 1 })
	var got seen
	first := start(t, fixed(d), finisher(&got))
	nsqtest.Until(t, "the first to be there", func() bool { return len(d.Stats(topic, channel).Clients) == 1 })
	second := start(t, fixed(d), finisher(&got))
	nsqtest.Until(t, "health to tell", func() bool {
		err := second.Health()
		return err != nil && strings.Contains(err.Error(), "E_SUB_FAILED")
	})
	if err := first.Health(); err != nil {
		t.Errorf("the first is well: %v", err)
	}
}

// TestOutputBuffer: nsqd answers with the buffer it will use for us. Stats do not tell.
func TestOutputBuffer(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]string{
		0:                      `"output_buffer_size":16384,"output_buffer_timeout":25`,
		300 * time.Millisecond: `"output_buffer_size":16384,"output_buffer_timeout":300`,
		nsqworker.Unbuffered:   `"output_buffer_size":1,"output_buffer_timeout":0`,
	} {
		d := nsqd(t)
		p := nsqtest.StartProxy(t, d.TCP())
		p.TrapServer(want, 1)
		cfg := fixed(d)
		cfg.NSQDs, cfg.OutputBufferTimeout = []string{p.Addr()}, timeout
		var got seen
		w := start(t, cfg, finisher(&got))
		nsqtest.Until(t, want, func() bool { return p.Sprung() == 1 })
		w.connected(t, 1) // the trap is gone
		d.Publish(topic, "works")
		nsqtest.Until(t, "the message", func() bool { return got.len() == 1 })
	}
}
