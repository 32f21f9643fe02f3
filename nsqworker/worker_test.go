package nsqworker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	upstream "github.com/nsqio/nsq/nsqd"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/nsqworker"
)

func TestFinishesAndShowsWhoItIs(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	var got seen
	cfg := fixed(d)
	cfg.UserAgent, cfg.ClientID, cfg.Hostname = "relayer/1.2.3 go-nsq/1.1.0", "worker-7", "host-7"
	w := start(t, cfg, func(_, _ context.Context, m nsqworker.Delivery) nsqworker.Disposition {
		got.add(m.Body)
		return nsqworker.Finish()
	})
	for i := range 500 {
		d.Publish(topic, fmt.Sprint(i))
	}
	nsqtest.Until(t, "500 messages", func() bool { return got.len() == 500 })
	empty(t, d)
	s := d.Stats(topic, channel)
	if s.Finished != 500 || s.TimedOut != 0 || s.Requeued != 0 {
		t.Errorf("nsqd counts %+v", s)
	}
	c := s.Clients[0]
	if c.UserAgent != cfg.UserAgent || c.ClientID != "worker-7" || c.Hostname != "host-7" || c.Ready != 2 {
		t.Errorf("nsqd shows the client as %+v", c)
	}
	if err := w.Health(); err != nil {
		t.Error(err)
	}
	if err := w.Run(t.Context()); err != nsqworker.ErrStarted {
		t.Errorf("a second Run: %v", err)
	}
}

func TestDeliveryCarriesWhatNSQSays(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	cs, h := held()
	start(t, fixed(d), h)
	before := time.Now()
	d.Publish(topic, "body")
	c := cs.next(t)
	if len(c.ID) != 16 || c.NSQD != d.TCP() || string(c.Body) != "body" || c.Attempts != 1 {
		t.Errorf("delivery %+v", c.Delivery)
	}
	if c.Published.Before(before.Add(-time.Second)) || c.Published.After(time.Now()) {
		t.Errorf("published %v", c.Published)
	}
	if until := time.Until(c.Until); until < 14*time.Minute || until > 15*time.Minute { // nsqd's cap, asked
		t.Errorf("until %v from now", until)
	}
	c.finish()
	empty(t, d)
}

func TestTouchesWhileTheHandlerRuns(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	cs, h := held()
	cfg := fixed(d)
	cfg.MsgTimeout = time.Second
	start(t, cfg, h)
	d.Publish(topic, "slow")
	c := cs.next(t)
	select {
	case <-c.lease.Done():
		t.Fatalf("lease ended: %v", context.Cause(c.lease))
	case <-time.After(3 * cfg.MsgTimeout):
	}
	c.finish()
	empty(t, d)
	if s := d.Stats(topic, channel); s.TimedOut != 0 || s.Finished != 1 {
		t.Errorf("nsqd counts %+v", s)
	}
}

// What waits for a handler is touched from its receipt; with n nsqds twice the concurrency may be here.
func TestCase20WaitingMessagesAreTouched(t *testing.T) {
	t.Parallel()
	a, b := nsqd(t), nsqd(t)
	cs, h := held()
	cfg := fixed(a, b)
	cfg.MsgTimeout, cfg.Concurrency = time.Second, 1
	w := start(t, cfg, h)
	w.connected(t, 2)
	a.Publish(topic, "a")
	b.Publish(topic, "b")
	first := cs.next(t)
	nsqtest.Until(t, "one to wait", func() bool { s := w.Stats(); return s.Waiting == 1 && s.Running == 1 })
	select {
	case <-first.lease.Done():
		t.Fatalf("lease ended: %v", context.Cause(first.lease))
	case <-time.After(3 * cfg.MsgTimeout):
	}
	first.finish()
	second := cs.next(t)
	if second.Attempts != 1 {
		t.Errorf("attempts %d: it was delivered again while it waited", second.Attempts)
	}
	second.finish()
	empty(t, a)
	empty(t, b)
	if n := a.Stats(topic, channel).TimedOut + b.Stats(topic, channel).TimedOut; n != 0 {
		t.Errorf("%d timeouts", n)
	}
}

func TestCase22NoLibraryGivesUp(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	var got seen
	start(t, fixed(d), func(_, _ context.Context, m nsqworker.Delivery) nsqworker.Disposition {
		if got.add(m.Body) <= 8 { // go-nsq's default finishes the sixth by itself
			return nsqworker.Requeue(0)
		}
		return nsqworker.Finish()
	})
	d.Publish(topic, "stubborn")
	nsqtest.Until(t, "a FIN", func() bool { return d.Stats(topic, channel).Finished == 1 })
	if n := got.add([]byte("stubborn")) - 1; n != 9 {
		t.Errorf("the handler saw it %d times, want 9", n)
	}
}

func TestCase24NoBackoff(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	cs, h := held()
	cfg := fixed(d)
	w := start(t, cfg, h)
	w.connected(t, 1)
	d.Publish(topic, "bad")
	for range 20 { // go-nsq's backoff would set RDY 0 at the first
		cs.next(t).answer <- nsqworker.Requeue(0)
		if r := d.Stats(topic, channel).Clients[0].Ready; r != 2 {
			t.Fatalf("RDY is %d after a requeue", r)
		}
	}
	for i := range 50 {
		d.Publish(topic, fmt.Sprint("good", i))
	}
	for good := 0; good < 50; {
		c := cs.next(t)
		if string(c.Body) == "bad" {
			c.answer <- nsqworker.Requeue(time.Millisecond)
			continue
		}
		good++
		c.finish()
	}
	cs.next(t).finish()
	empty(t, d)
}

// Delays outside nsqd's limits must not reach it: it closes the connection on a negative one.
func TestCase37DelaysAreClamped(t *testing.T) {
	t.Parallel()
	d := nsqd(t, func(o *upstream.Options) { o.MaxReqTimeout = 5 * time.Second })
	cs, h := held()
	cfg := fixed(d)
	cfg.MaxReqTimeout = 100 * time.Millisecond
	w := start(t, cfg, h)
	d.Publish(topic, "early")
	for _, delay := range []time.Duration{time.Hour, -5 * time.Second, time.Microsecond} {
		cs.next(t).answer <- nsqworker.Requeue(delay)
	}
	c := cs.next(t)
	if c.Attempts != 4 {
		t.Errorf("attempts %d", c.Attempts)
	}
	c.finish()
	empty(t, d)
	if s := w.Stats(); s.Lapsed != 0 || s.Requeued != 3 {
		t.Errorf("stats %+v", s)
	}
	if cl := d.Stats(topic, channel).Clients; len(cl) != 1 || cl[0].Requeued != 3 {
		t.Errorf("the connection did not last: %+v", cl)
	}
}

func TestLeaveAnswersNothing(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	cs, h := held()
	cfg := fixed(d)
	cfg.MsgTimeout = time.Second
	w := start(t, cfg, h)
	d.Publish(topic, "left")
	cs.next(t).answer <- nsqworker.Leave()
	nsqtest.Until(t, "it to be left", func() bool { return w.Stats().Left == 1 })
	if s := w.Stats(); s.Running != 0 || s.InFlight > 1 {
		t.Errorf("stats %+v", s)
	}
	again := cs.next(t) // nsqd's own timeout
	if again.Attempts != 2 {
		t.Errorf("attempts %d", again.Attempts)
	}
	again.finish()
	empty(t, d)
	s := d.Stats(topic, channel)
	if s.TimedOut != 1 || s.Requeued != 0 || s.Finished != 1 {
		t.Errorf("nsqd counts %+v", s)
	}
	nsqtest.Until(t, "its lease to end", func() bool { return w.Stats().InFlight == 0 })
}

func TestPanicLeaves(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	var got seen
	cfg := fixed(d)
	cfg.MsgTimeout = time.Second
	w := start(t, cfg, func(_, _ context.Context, m nsqworker.Delivery) nsqworker.Disposition {
		if got.add(m.Body) == 1 {
			panic("handler's own")
		}
		return nsqworker.Finish()
	})
	d.Publish(topic, "boom")
	nsqtest.Until(t, "a FIN", func() bool { return d.Stats(topic, channel).Finished == 1 })
	if s := w.Stats(); s.Panics != 1 || s.Left != 1 || s.Finished != 1 {
		t.Errorf("stats %+v", s)
	}
	if s := d.Stats(topic, channel); s.TimedOut != 1 || s.Requeued != 0 {
		t.Errorf("nsqd counts %+v", s)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	cs, h := held()
	w := start(t, fixed(d), h)
	w.connected(t, 1)
	ready := func(n int64) func() bool {
		return func() bool { c := d.Stats(topic, channel).Clients; return len(c) == 1 && c[0].Ready == n }
	}
	nsqtest.Until(t, "RDY", ready(2))
	w.Pause("postgres")
	w.Pause("postgres cannot be reached")
	nsqtest.Until(t, "RDY 0", ready(0))
	if s := w.Stats(); s.Paused != "postgres cannot be reached" || s.MaxInFlight != 0 {
		t.Errorf("stats %+v", s)
	}
	if err := w.Health(); err != nil {
		t.Errorf("a pause is no fault: %v", err)
	}
	d.Publish(topic, "later")
	w.Resume()
	w.Resume()
	cs.next(t).finish()
	empty(t, d)
	if s := w.Stats(); s.Paused != "" {
		t.Errorf("still paused: %q", s.Paused)
	}
}

func TestDispositionString(t *testing.T) {
	t.Parallel()
	var zero nsqworker.Disposition
	for d, want := range map[nsqworker.Disposition]string{
		zero: "leave", nsqworker.Leave(): "leave", nsqworker.Finish(): "finish", nsqworker.Requeue(5 * time.Second): "requeue 5s",
	} {
		if d.String() != want {
			t.Errorf("%q, want %q", d, want)
		}
	}
}

func TestConfigNamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := nsqworker.New(nsqworker.Config{
		Topic: "a b", Channel: strings.Repeat("c", 65), NSQDHTTPs: []string{"x"}, Concurrency: -1,
		MsgTimeout: 20 * time.Minute, MaxMsgTimeout: 15 * time.Minute, DrainTimeout: -1, OutputBufferTimeout: 1,
	}, nil)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`topic "a b": must be`, `channel "ccc`, "nsqd-tcp-address, nsqlookupd-http-address", `nsqd-http-address "x"`,
		`concurrency "-1": must be 1 to`, `msg-timeout "20m0s": must be 1s up to nsqd's max-msg-timeout, 15m0s`,
		`drain-timeout "-1ns": must be more than 0`, `output-buffer-timeout "1ns"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not named: %s\nin %v", want, err)
		}
	}
	for _, timeout := range []time.Duration{-2, 24 * time.Millisecond, 31 * time.Second} { // nsqd refuses them
		_, err := nsqworker.New(nsqworker.Config{Topic: "a", Channel: "b", NSQDs: []string{"a:1"}, OutputBufferTimeout: timeout}, nil)
		if want := "output-buffer-timeout \"" + timeout.String(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: not named in %v", timeout, err)
		}
	}
}
