package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nsqio/go-nsq"

	"github.com/nsqrelayer/relayer/client"
	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/nsqworker"
)

var _ client.Publisher = (*nsqworker.Publisher)(nil)

// arrives gives the next message of a topic, as a worker reads it.
func arrives(t *testing.T, topic string) func() intents.Message {
	t.Helper()
	c, err := nsq.NewConsumer(topic, "test", nsq.NewConfig())
	if err != nil {
		t.Fatal(err)
	}
	c.SetLogger(nil, nsq.LogLevelMax)
	bodies := make(chan []byte, 10)
	c.AddHandler(nsq.HandlerFunc(func(m *nsq.Message) error { bodies <- m.Body; return nil }))
	if err := c.ConnectToNSQD(open().NSQD); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(); <-c.StopChan })
	return func() intents.Message {
		t.Helper()
		m, err := intents.Decode(<-bodies)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// What is published is what a worker reads, by the relayer's own publisher and by go-nsq's.
func TestPublish(t *testing.T) {
	t.Parallel()
	producer, err := nsq.NewProducer(open().NSQD, nsq.NewConfig())
	if err != nil {
		t.Fatal(err)
	}
	producer.SetLogger(nil, nsq.LogLevelMax)
	t.Cleanup(producer.Stop)
	for topic, p := range map[string]client.Publisher{"publish.ours": open().Publisher, "publish.gonsq": client.Producer(producer)} {
		next := arrives(t, topic)
		want := payment("nsq_1")
		if err := client.Publish(t.Context(), p, topic, want); err != nil {
			t.Fatal(err)
		}
		got := next()
		if got.Intent.Route = want.Route; !got.Full || got.Intent.Hash() != want.Hash() {
			t.Errorf("%s: got %+v", topic, got)
		}
		if err := client.PublishReference(t.Context(), p, topic, "nsq_2"); err != nil {
			t.Fatal(err)
		}
		if got := next(); got.Full || got.ID != "nsq_2" {
			t.Errorf("%s: got %+v", topic, got)
		}
		bad := want
		bad.Asset = ""
		for _, err := range []error{client.Publish(t.Context(), p, topic, bad), client.PublishReference(t.Context(), p, topic, "a b")} {
			if _, ok := errors.AsType[*intents.InvalidError](err); !ok {
				t.Errorf("%s: %v", topic, err)
			}
		}
	}
}

// hung is a producer whose nsqd does not answer.
type hung chan struct{}

func (h hung) Publish(string, []byte) error { <-h; return nil }

// Publish by go-nsq's producer ends with its context, and does not begin after it.
func TestProducerEnds(t *testing.T) {
	t.Parallel()
	h := make(hung)
	defer close(h)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- client.PublishReference(ctx, client.Producer(h), "topic", "nsq_3") }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := client.PublishReference(ctx, client.Producer(nil), "topic", "nsq_3"); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}
