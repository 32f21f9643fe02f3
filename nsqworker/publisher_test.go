package nsqworker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	upstream "github.com/nsqio/nsq/nsqd"

	"github.com/nsqrelayer/relayer/internal/nsqtest"
	"github.com/nsqrelayer/relayer/nsqworker"
)

func publisher(t *testing.T, cfg nsqworker.PublisherConfig) *nsqworker.Publisher {
	t.Helper()
	p, err := nsqworker.NewPublisher(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestPublishTakesTurns(t *testing.T) {
	t.Parallel()
	a, b := nsqtest.Start(t), nsqtest.Start(t)
	p := publisher(t, nsqworker.PublisherConfig{NSQDs: []string{a.TCP(), b.TCP()}})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if err := p.Publish(t.Context(), topic, fmt.Append(nil, i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if na, nb := a.TopicDepth(topic), b.TopicDepth(topic); na != 50 || nb != 50 {
		t.Errorf("%d and %d messages, want 50 each", na, nb)
	}
	p.Close()
	if err := p.Publish(t.Context(), topic, []byte("x")); !errors.Is(err, nsqworker.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestPublishGoesToTheNext(t *testing.T) {
	t.Parallel()
	a, b := nsqtest.Start(t), nsqtest.Start(t)
	proxy := nsqtest.StartProxy(t, a.TCP())
	proxy.Refuse()
	p := publisher(t, nsqworker.PublisherConfig{NSQDs: []string{proxy.Addr(), b.TCP()}})
	for range 10 {
		if err := p.Publish(t.Context(), topic, []byte("x")); err != nil {
			t.Error(err)
		}
	}
	if n := b.TopicDepth(topic); n != 10 {
		t.Errorf("%d messages on the one that is up", n)
	}
}

func TestPublishConnectsAgain(t *testing.T) {
	t.Parallel()
	d := nsqtest.Start(t)
	proxy := nsqtest.StartProxy(t, d.TCP())
	p := publisher(t, nsqworker.PublisherConfig{NSQDs: []string{proxy.Addr()}})
	for range 3 {
		if err := p.Publish(t.Context(), topic, []byte("x")); err != nil {
			t.Error(err)
		}
		proxy.Cut()
	}
	if n := d.TopicDepth(topic); n < 3 {
		t.Errorf("%d messages", n)
	}
}

// nsqd would close the connection on each of these, and read the next command as the length of an empty body.
func TestPublishRefusesWhatNSQDWould(t *testing.T) {
	t.Parallel()
	d := nsqtest.Start(t, func(o *upstream.Options) { o.MaxMsgSize = 1000 })
	p := publisher(t, nsqworker.PublisherConfig{NSQDs: []string{d.TCP()}})
	for name, m := range map[string]struct {
		topic string
		body  []byte
	}{
		"nil": {topic, nil}, "empty": {topic, []byte{}}, "1 MiB + 1": {topic, bytes.Repeat([]byte("x"), 1<<20+1)},
		"topic": {"a b", []byte("x")}, "above nsqd's own limit": {topic, bytes.Repeat([]byte("x"), 1001)},
	} {
		err := p.Publish(t.Context(), m.topic, m.body)
		if _, ok := errors.AsType[*nsqworker.InvalidError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
		if err := p.Publish(t.Context(), topic, []byte("good")); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	if n := d.TopicDepth(topic); n != 5 {
		t.Errorf("%d messages, want the 5 good ones", n)
	}
}

// The reply is lost: the message is there, and the error must not deny it.
func TestCase17LostReplyIsUnknown(t *testing.T) {
	t.Parallel()
	d := nsqtest.Start(t)
	proxy := nsqtest.StartProxy(t, d.TCP())
	p := publisher(t, nsqworker.PublisherConfig{NSQDs: []string{proxy.Addr()}})
	if err := p.Publish(t.Context(), topic, []byte("first")); err != nil {
		t.Fatal(err)
	}
	proxy.TrapServer("OK", 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		nsqtest.Until(t, "the reply to be cut", func() bool { return proxy.Sprung() == 1 })
		proxy.Refuse()
		cancel()
	}()
	err := p.Publish(ctx, topic, []byte("second"))
	if _, ok := errors.AsType[*nsqworker.UnknownError](err); !ok {
		t.Errorf("%v, want unknown", err)
	}
	if n := d.TopicDepth(topic); n < 2 {
		t.Errorf("%d messages: the second was not sent at all", n)
	}
}

func TestPublishKnowsWhatItNeverSent(t *testing.T) {
	t.Parallel()
	d := nsqtest.Start(t)
	proxy := nsqtest.StartProxy(t, d.TCP())
	proxy.Refuse()
	p := publisher(t, nsqworker.PublisherConfig{NSQDs: []string{proxy.Addr()}})
	err := p.Publish(t.Context(), topic, []byte("x"))
	if _, unknown := errors.AsType[*nsqworker.UnknownError](err); err == nil || unknown {
		t.Errorf("%v, want a plain failure", err)
	}
}

func TestPublishNeverOutlastsItsContext(t *testing.T) {
	t.Parallel()
	d := nsqtest.Start(t)
	proxy := nsqtest.StartProxy(t, d.TCP())
	p := publisher(t, nsqworker.PublisherConfig{NSQDs: []string{proxy.Addr()}, TryTimeout: time.Hour})
	if err := p.Publish(t.Context(), topic, []byte("x")); err != nil {
		t.Fatal(err)
	}
	proxy.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := p.Publish(ctx, topic, []byte("x"))
	if took := time.Since(began); took > 5*time.Second { // go-nsq's own bound is its read timeout, 12 s
		t.Errorf("took %v", took)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if _, unknown := errors.AsType[*nsqworker.UnknownError](err); !unknown {
		t.Errorf("%v, want unknown: it was written", err)
	}
}

func TestPublishFindsNSQDsByLookupd(t *testing.T) {
	t.Parallel()
	l := nsqtest.StartLookupd(t)
	d := nsqtest.Start(t, l.Register())
	p := publisher(t, nsqworker.PublisherConfig{Lookupds: []string{l.HTTP()}})
	nsqtest.Until(t, "a publish", func() bool { return p.Publish(t.Context(), topic, []byte("x")) == nil })
	if n := d.TopicDepth(topic); n != 1 {
		t.Errorf("%d messages", n)
	}
}
