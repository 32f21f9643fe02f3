package client

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

// Publisher puts messages into NSQ. A *nsqworker.Publisher is one; [Producer] makes one of go-nsq's.
type Publisher interface {
	// Publish returns an error unless an nsqd has confirmed the message.
	Publish(ctx context.Context, topic string, body []byte) error
}

// Publish puts a whole intent into a route's topic, which says its route: Intent.Route is not looked at. The route must
// accept full intents. After any error but an *intents.InvalidError it may have been published: publish it again, the id makes
// it once.
func Publish(ctx context.Context, p Publisher, topic string, in intents.Intent) error {
	body, err := intents.Encode(in)
	if err != nil {
		return err
	}
	return p.Publish(ctx, topic, body)
}

// PublishReference tells workers of an intent that is stored, so that they need not wait for the sweeper. Of one that is not
// stored, or not committed yet, it becomes a dead letter after five minutes. Errors: as Publish.
func PublishReference(ctx context.Context, p Publisher, topic, id string) error {
	body, err := intents.EncodeReference(id)
	if err != nil {
		return err
	}
	return p.Publish(ctx, topic, body)
}

// NSQProducer is a *nsq.Producer of go-nsq.
type NSQProducer interface {
	Publish(topic string, body []byte) error
}

// Producer makes a Publisher of a go-nsq Producer. That one hears of no context: when it ends, Publish returns, and the message
// may be published yet.
func Producer(p NSQProducer) Publisher { return producer{p} }

type producer struct{ p NSQProducer }

func (p producer) Publish(ctx context.Context, topic string, body []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- p.p.Publish(topic, body) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
