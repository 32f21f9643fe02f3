package nsqworker_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/nsqworker"
)

const (
	topic   = "intents.test"
	channel = "relayer"
)

// rig is a worker that runs until stop, or the end of the test.
type rig struct {
	*nsqworker.Worker
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

func start(t *testing.T, cfg nsqworker.Config, h nsqworker.HandlerFunc) *rig {
	t.Helper()
	cfg.Topic, cfg.Channel = topic, channel
	if cfg.ReconnectInterval == 0 {
		cfg.ReconnectInterval = 50 * time.Millisecond
	}
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	w, err := nsqworker.New(cfg, h)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &rig{Worker: w, cancel: cancel, ended: make(chan struct{})}
	go func() {
		r.err = w.Run(ctx)
		close(r.ended)
	}()
	t.Cleanup(func() { _ = r.stop(t) })
	return r
}

func (r *rig) stop(t *testing.T) error {
	t.Helper()
	r.cancel()
	select {
	case <-r.ended:
		return r.err
	case <-time.After(2 * time.Minute):
		t.Fatal("Run does not return")
		return nil
	}
}

func (r *rig) connected(t *testing.T, n int) {
	t.Helper()
	nsqtest.Until(t, "connections", func() bool { return r.Stats().Connections() == n })
}

// fixed is the configuration for nsqds with their APIs.
func fixed(nsqds ...*nsqtest.NSQD) nsqworker.Config {
	c := nsqworker.Config{MsgTimeout: 2 * time.Second, Concurrency: 2}
	for _, d := range nsqds {
		c.NSQDs = append(c.NSQDs, d.TCP())
		c.NSQDHTTPs = append(c.NSQDHTTPs, d.HTTP())
	}
	return c
}

func nsqd(t *testing.T, opts ...nsqtest.Option) *nsqtest.NSQD {
	d := nsqtest.Start(t, opts...)
	d.CreateChannel(topic, channel)
	return d
}

// empty waits until nsqd has nothing of the channel any more.
func empty(t *testing.T, d *nsqtest.NSQD) {
	t.Helper()
	nsqtest.Until(t, "an empty channel", func() bool {
		s := d.Stats(topic, channel)
		return s.Depth == 0 && s.InFlight == 0 && s.Deferred == 0
	})
}

// calls hands every delivery to the test, which answers it.
type calls chan *call

type call struct {
	work, lease context.Context
	nsqworker.Delivery
	answer chan nsqworker.Disposition
}

// held is a handler that blocks until the test answers; what it never answers is left at the end of the work context.
func held() (calls, nsqworker.HandlerFunc) {
	cs := make(calls, 1000)
	return cs, func(work, lease context.Context, d nsqworker.Delivery) nsqworker.Disposition {
		c := &call{work, lease, d, make(chan nsqworker.Disposition, 1)}
		cs <- c
		select {
		case a := <-c.answer:
			return a
		case <-work.Done():
			return nsqworker.Leave()
		}
	}
}

func (cs calls) next(t *testing.T) *call {
	t.Helper()
	select {
	case c := <-cs:
		return c
	case <-time.After(time.Minute):
		t.Fatal("waited a minute for a delivery")
		return nil
	}
}

func (c *call) finish() { c.answer <- nsqworker.Finish() }

// ends waits for the end of a context and returns its cause.
func ends(t *testing.T, ctx context.Context) error {
	t.Helper()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Minute):
		t.Fatal("waited a minute for a context to end")
		return nil
	}
}

func wantCause(t *testing.T, ctx context.Context, want error) {
	t.Helper()
	if err := ends(t, ctx); !errors.Is(err, want) {
		t.Errorf("the context ended with %v, want %v", err, want)
	}
}

// seen collects bodies.
type seen struct {
	mu sync.Mutex
	m  map[string]int
}

func (s *seen) add(body []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string]int{}
	}
	s.m[string(body)]++
	return s.m[string(body)]
}

func (s *seen) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.m)
}
