package nsqworker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/nsqworker"
)

func TestDrainSendsBackWhatNobodyBegan(t *testing.T) {
	t.Parallel()
	a, b := nsqd(t), nsqd(t)
	cs, h := held()
	cfg := fixed(a, b)
	cfg.Concurrency = 1
	w := start(t, cfg, h)
	w.connected(t, 2)
	a.Publish(topic, "x")
	b.Publish(topic, "x")
	running := cs.next(t)
	nsqtest.Until(t, "one to wait", func() bool { return w.Stats().Waiting == 1 })
	w.cancel()
	wantCause(t, running.lease, nsqworker.ErrDraining)
	nsqtest.Until(t, "the other to be back", func() bool { // at once, not when its lease runs out
		return a.Stats(topic, channel).Depth+b.Stats(topic, channel).Depth == 1
	})
	if err := w.Health(); !errors.Is(err, nsqworker.ErrDraining) {
		t.Errorf("health: %v", err)
	}
	running.answer <- nsqworker.Requeue(0)
	if err := w.stop(t); err != nil {
		t.Errorf("drain: %v", err)
	}
	if n := a.Stats(topic, channel).Depth + b.Stats(topic, channel).Depth; n != 2 {
		t.Errorf("%d messages back, want 2", n)
	}
	if n := a.Stats(topic, channel).TimedOut + b.Stats(topic, channel).TimedOut; n != 0 {
		t.Errorf("%d timeouts", n)
	}
}

// The end is ours to tell: go-nsq calls a stop done while handlers run. The message is touched meanwhile.
func TestCase33DrainWaitsForHandlers(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	cs, h := held()
	cfg := fixed(d)
	cfg.MsgTimeout = time.Second
	w := start(t, cfg, h)
	d.Publish(topic, "long")
	c := cs.next(t)
	w.cancel()
	wantCause(t, c.lease, nsqworker.ErrDraining)
	d.Publish(topic, "not taken")
	select {
	case <-w.ended:
		t.Fatal("Run returned while a handler runs")
	case <-c.work.Done():
		t.Fatal("the work context ended before the drain timeout")
	case <-time.After(3 * cfg.MsgTimeout):
	}
	if s := w.Stats(); s.Touched == 0 || s.Oldest < 2*cfg.MsgTimeout || s.Running != 1 {
		t.Errorf("three leases later: %+v", s)
	}
	c.finish()
	if err := w.stop(t); err != nil {
		t.Errorf("drain: %v", err)
	}
	if err := w.stop(t); err != nil {
		t.Errorf("again: %v", err)
	}
	nsqtest.Until(t, "the client to be gone", func() bool { return len(d.Stats(topic, channel).Clients) == 0 })
	if s := d.Stats(topic, channel); s.TimedOut != 0 || s.InFlight != 0 || s.Depth != 1 {
		t.Errorf("nsqd counts %+v", s)
	}
}

func TestDrainTimeoutCutsAndLetsWrite(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	cfg := fixed(d)
	cfg.MsgTimeout, cfg.DrainTimeout, cfg.WriteTimeout = 10*time.Second, 300*time.Millisecond, time.Minute
	began := make(chan struct{})
	var cause error
	w := start(t, cfg, func(work, _ context.Context, _ nsqworker.Delivery) nsqworker.Disposition {
		close(began)
		<-work.Done()
		cause = context.Cause(work)
		return nsqworker.Finish() // it wrote its result
	})
	d.Publish(topic, "slow")
	<-began
	err := w.stop(t)
	if cut, ok := errors.AsType[*nsqworker.DrainError](err); !ok || cut.Abandoned != 1 || cut.Running != 0 {
		t.Errorf("drain: %v", err)
	}
	if !errors.Is(err, nsqworker.ErrDrainTimeout) || !errors.Is(cause, nsqworker.ErrDrainTimeout) {
		t.Errorf("drain: %v, work ended with %v", err, cause)
	}
	empty(t, d)
	if s := d.Stats(topic, channel); s.Requeued != 0 || s.TimedOut != 0 {
		t.Errorf("nsqd counts %+v", s)
	}
}

func TestDrainEndsWithoutAHandlerThatNeverReturns(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	cfg := fixed(d)
	cfg.DrainTimeout, cfg.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	began, release, returned := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w := start(t, cfg, func(_, _ context.Context, _ nsqworker.Delivery) nsqworker.Disposition {
		defer close(returned)
		close(began)
		<-release
		return nsqworker.Finish()
	})
	d.Publish(topic, "stuck")
	<-began
	err := w.stop(t)
	if cut, ok := errors.AsType[*nsqworker.DrainError](err); !ok || cut.Abandoned != 1 || cut.Running != 1 {
		t.Errorf("drain: %v", err)
	}
	close(release)
	<-returned
	nsqtest.Until(t, "the message to be given out again", func() bool { return d.Stats(topic, channel).Depth == 1 })
	if s := d.Stats(topic, channel); s.Messages != 1 || s.InFlight != 0 {
		t.Errorf("nsqd counts %+v", s)
	}
}

// A left message is not ours to send back: the drain must not hasten its next delivery.
func TestDrainDoesNotHastenLeftMessages(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	cs, h := held()
	cfg := fixed(d)
	cfg.MsgTimeout = 20 * time.Second
	w := start(t, cfg, h)
	d.Publish(topic, "left")
	cs.next(t).answer <- nsqworker.Leave()
	nsqtest.Until(t, "it to be left", func() bool { return w.Stats().Left == 1 })
	if err := w.stop(t); err != nil {
		t.Errorf("drain: %v", err)
	}
	nsqtest.Until(t, "the client to be gone", func() bool { return len(d.Stats(topic, channel).Clients) == 0 })
	if s := d.Stats(topic, channel); s.Depth != 0 || s.InFlight+s.Deferred != 1 {
		t.Errorf("nsqd counts %+v", s)
	}
}

// go-nsq panics when a stop races a reconnect, unless RDY is 0 by then.
func TestCase33StopRacesReconnect(t *testing.T) {
	t.Parallel()
	d := nsqd(t)
	p := nsqtest.StartProxy(t, d.TCP())
	for range 20 {
		cfg := fixed(d)
		cfg.NSQDs, cfg.ReconnectInterval = []string{p.Addr()}, 10*time.Millisecond
		w := start(t, cfg, func(_, _ context.Context, _ nsqworker.Delivery) nsqworker.Disposition {
			return nsqworker.Requeue(0)
		})
		w.connected(t, 1)
		d.Publish(topic, "x")
		nsqtest.Until(t, "a delivery", func() bool { return w.Stats().Received > 0 })
		p.Cut()
		if err := w.stop(t); err != nil {
			t.Errorf("drain: %v", err)
		}
	}
}
