package nsqworker

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqio/go-nsq"
	"github.com/nsqio/nsq/nsqd"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
)

// logged records go-nsq's log.
type logged struct {
	mu  sync.Mutex
	all []string
}

func (l *logged) Output(_ int, s string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
	return nil
}

func (l *logged) find(e event, text string) (said, bool) {
	read := newLines()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
		if p := read.parse(s); p.event == e && strings.Contains(p.text, text) {
			return p, true
		}
	}
	return said{}, false
}

func (l *logged) want(t *testing.T, e event, text, addr string) said {
	t.Helper()
	nsqtest.Until(t, "the line of "+text, func() bool { _, ok := l.find(e, text); return ok })
	s, _ := l.find(e, text)
	if s.addr != addr {
		t.Errorf("%s: address %q, want %q", text, s.addr, addr)
	}
	return s
}

func bareConsumer(t *testing.T, addr string, log *logged, h nsq.HandlerFunc) *nsq.Consumer {
	t.Helper()
	cfg := nsq.NewConfig()
	cfg.LookupdPollInterval = 10 * time.Millisecond
	c, err := nsq.NewConsumer("t", "c", cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.SetLogger(log, nsq.LogLevelInfo)
	c.AddHandler(h)
	if err := c.ConnectToNSQD(addr); err != nil {
		t.Fatal(err)
	}
	return c
}

// The log is no interface of go-nsq's. This and the next pin what we read in it, against the real thing.
func TestHookReadsRefusals(t *testing.T) {
	t.Parallel()
	d := nsqtest.Start(t)
	p := nsqtest.StartProxy(t, d.TCP())
	ids := make(chan nsq.MessageID, 1)
	var log logged
	c := bareConsumer(t, p.Addr(), &log, func(m *nsq.Message) error {
		m.DisableAutoResponse()
		m.Finish()
		m.Delegate.OnTouch(m) // each refused: nothing is in flight any more
		m.Delegate.OnFinish(m)
		m.Delegate.OnRequeue(m, 0, false)
		ids <- m.ID
		return nil
	})
	d.Publish("t", "x")
	id := <-ids
	for _, text := range []string{"E_TOUCH_FAILED TOUCH", "E_FIN_FAILED FIN", "E_REQ_FAILED REQ"} {
		if s := log.want(t, refused, text, p.Addr()); s.id != id {
			t.Errorf("%s: message %q, want %q", text, s.id, id)
		}
	}
	c.ChangeMaxInFlight(0)
	c.Stop()
}

func TestHookReadsConnections(t *testing.T) {
	t.Parallel()
	d := nsqtest.Start(t)
	p := nsqtest.StartProxy(t, d.TCP())
	var log logged
	c := bareConsumer(t, p.Addr(), &log, func(*nsq.Message) error { return nil })
	log.want(t, connecting, "connecting to nsqd", p.Addr())
	p.Refuse()
	log.want(t, ioError, "", p.Addr())
	log.want(t, closed, "", "")
	log.want(t, notConnected, "", p.Addr())
	c.Stop()
	<-c.StopChan
}

// nsqd ends the connection after most complaints, which are the reason to show then.
func TestHookReadsComplaints(t *testing.T) {
	t.Parallel()
	d := nsqtest.Start(t, func(o *nsqd.Options) { o.MaxChannelConsumers = 1 })
	var log logged
	nothing := func(*nsq.Message) error { return nil }
	first := bareConsumer(t, d.TCP(), &logged{}, nothing)
	nsqtest.Until(t, "the first to be there", func() bool { return len(d.Stats("t", "c").Clients) == 1 })
	second := bareConsumer(t, d.TCP(), &log, nothing)
	if s := log.want(t, complaint, "E_SUB_FAILED", d.TCP()); strings.HasPrefix(s.text, "protocol error") {
		t.Errorf("text %q", s.text)
	}
	for _, c := range []*nsq.Consumer{second, first} {
		c.Stop()
		<-c.StopChan
	}
}

// fakeDelegate answers for go-nsq's connection.
type fakeDelegate struct {
	mu       sync.Mutex
	finished int
	requeued []time.Duration
}

func (f *fakeDelegate) OnFinish(*nsq.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finished++
}

func (f *fakeDelegate) OnRequeue(_ *nsq.Message, d time.Duration, _ bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requeued = append(f.requeued, d)
}

func (f *fakeDelegate) OnTouch(*nsq.Message) {}

func (f *fakeDelegate) counts() (finished int, requeued []time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.finished, f.requeued
}

func fakeWorker(t *testing.T, h HandlerFunc) (intake, *fakeDelegate) {
	t.Helper()
	w, err := New(Config{Topic: "t", Channel: "c", NSQDs: []string{"127.0.0.1:1"}, Concurrency: 2}, h)
	if err != nil {
		t.Fatal(err)
	}
	w.workCtx = t.Context()
	t.Cleanup(func() { close(w.pool.done) })
	return intake{w: w, gen: 1}, &fakeDelegate{}
}

func deliver(h intake, f *fakeDelegate, id byte, attempts uint16) {
	m := nsq.NewMessage(nsq.MessageID{id}, []byte("x"))
	m.Delegate, m.NSQDAddress, m.Attempts = f, "127.0.0.1:1", attempts
	_ = h.HandleMessage(m)
}

// Two run, two wait; only what comes above that goes back, and not at once.
func TestOverflowGoesBack(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	h, f := fakeWorker(t, func(_, _ context.Context, _ Delivery) Disposition { <-release; return Finish() })
	for id := range byte(6) {
		deliver(h, f, id, 1)
	}
	nsqtest.Until(t, "two requeues", func() bool { _, r := f.counts(); return len(r) == 2 })
	if s := h.w.Stats(); s.Running+s.Waiting != 4 || s.Refused != 2 {
		t.Errorf("stats %+v", s)
	}
	close(release)
	nsqtest.Until(t, "four FINs", func() bool { n, _ := f.counts(); return n == 4 })
	if _, r := f.counts(); r[0] != time.Second || r[1] != time.Second {
		t.Errorf("requeued by %v, want 1s", r)
	}
}

// The counter is of 16 bits and starts over; nothing here looks at it.
func TestCase23AttemptsDecideNothing(t *testing.T) {
	t.Parallel()
	got := make(chan uint16, 1)
	h, f := fakeWorker(t, func(_, _ context.Context, d Delivery) Disposition { got <- d.Attempts; return Requeue(time.Second) })
	for i, attempts := range []uint16{1, 65535, 0, 1} {
		deliver(h, f, byte(i), attempts)
		if n := <-got; n != attempts {
			t.Errorf("attempts %d, want %d", n, attempts)
		}
	}
	nsqtest.Until(t, "four requeues", func() bool { _, r := f.counts(); return len(r) == 4 })
	if _, r := f.counts(); r[0] != time.Second { // the floor under waiting is the caller's
		t.Errorf("requeued by %v", r)
	}
}

func TestClamp(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]time.Duration{
		-1: 0, 0: 0, 1: time.Millisecond, time.Second: time.Second, time.Minute: time.Minute, time.Hour: time.Minute,
	} {
		if got := clamp(in, time.Minute); got != want {
			t.Errorf("clamp(%v) = %v, want %v", in, got, want)
		}
	}
}

func TestTouchRule(t *testing.T) {
	t.Parallel()
	rule := newTiming(time.Minute)
	for range 1000 {
		if d := rule.interval(); d < 14*time.Second || d > 20*time.Second {
			t.Fatalf("interval %v", d)
		}
	}
	now := time.Now()
	n := &node{maxMsgTimeout: 15 * time.Minute}
	l := newLease(&nsq.Message{}, &link{node: n}, rule, now)
	at := func(name string, got time.Time, want time.Duration) {
		t.Helper()
		if got.Sub(now) != want {
			t.Errorf("%s after %v, want %v", name, got.Sub(now), want)
		}
	}
	at("deadline", l.deadline, 59*time.Second)
	at("until", l.until, 15*time.Minute-21*time.Second)
	l.touched(now.Add(30*time.Second), rule)
	at("deadline after a touch", l.deadline, 90*time.Second)
	l.touched(now.Add(14*time.Minute+30*time.Second), rule)
	at("deadline at the cap", l.deadline, 15*time.Minute-time.Second)
}

func TestWatchdogVerdicts(t *testing.T) {
	t.Parallel()
	good := nsqdView{known: true, ready: 64, inFlight: 3, depth: 10}
	ours := ourView{linked: true, holding: 3, ready: 64, patience: 30 * time.Second}
	for _, tt := range []struct {
		name   string
		change func(*nsqdView, *ourView)
		first  action // at once
		later  action // when it lasts
	}{
		{"all is well", func(n *nsqdView, _ *ourView) { n.depth = 0 }, fine, fine},
		{"leak", func(n *nsqdView, _ *ourView) { n.inFlight, n.depth = 4, 0 }, fine, recycle},
		{"busy, and some on their way", func(n *nsqdView, _ *ourView) { n.inFlight, n.messages = 64, 1000 }, fine, fine},
		{"unknown", func(n *nsqdView, _ *ourView) { *n = nsqdView{} }, fine, recycle},
		{"unknown, never connected", func(n *nsqdView, o *ourView) { *n, o.linked = nsqdView{}, false }, fine, fine},
		{"starved", func(n *nsqdView, _ *ourView) { n.ready = 0 }, nudge, recycle},
		{"RDY low", func(n *nsqdView, o *ourView) { n.ready, n.inFlight, o.holding = 3, 3, 3 }, nudge, nudge},
		{"nothing comes", func(*nsqdView, *ourView) {}, nudge, recycle},
		{"channel paused", func(n *nsqdView, _ *ourView) { n.paused = true }, fine, fine},
		{"we pause", func(n *nsqdView, o *ourView) { n.ready, o.ready = 0, 0 }, fine, fine},
		{"busy", func(n *nsqdView, o *ourView) { n.inFlight, o.holding = 64, 64 }, fine, fine},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, o, now := good, ours, time.Now()
			tt.change(&n, &o)
			var s watch
			look := func(after time.Duration) verdict {
				n.messages += n.messages // as many again as came before: none, or plenty
				return s.check(now.Add(after), n, o)
			}
			if v := look(0); v.action != tt.first {
				t.Errorf("at once %+v, want %d", v, tt.first)
			}
			if v := look(20 * time.Second); v.action == recycle {
				t.Errorf("too soon: %+v", v)
			}
			if v := look(40 * time.Second); v.action != tt.later {
				t.Errorf("later %+v, want %d", v, tt.later)
			}
			healed := good
			healed.depth = 0
			if v := s.check(now.Add(60*time.Second), healed, ours); v.action != fine {
				t.Errorf("healed: %+v", v)
			}
		})
	}
}

func TestForgetsOnlyWhatIsGone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tt := range map[string]*struct {
		n    node
		want bool
	}{
		"not named any more": {node{seen: now.Add(-time.Hour), links: map[int]*link{1: {dead: true}}}, true},
		"named of late":      {node{seen: now, links: map[int]*link{1: {dead: true}}}, false},
		"still connected":    {node{seen: now.Add(-time.Hour), links: map[int]*link{1: {up: true}}}, false},
		"holds messages":     {node{seen: now.Add(-time.Hour), links: map[int]*link{1: {leases: make([]*lease, 1)}}}, false},
	} {
		tt.n.forget = func() {}
		if got := tt.n.forgettable(now.Add(-time.Minute)); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
