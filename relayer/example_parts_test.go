package relayer_test

import (
	"context"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	devnsq "github.com/nsqrelayer/relayer/internal/devstack/nsq"
	"github.com/nsqrelayer/relayer/nsqworker"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// exampleNSQD starts an nsqd for an example.
func exampleNSQD() (addr string, end func()) {
	q, err := devnsq.Start(context.Background(), devnsq.Config{})
	if err != nil {
		panic(err)
	}
	return q.NSQDTCP, func() { _ = q.Stop() }
}

// publish puts an intent into NSQ, as a publisher would.
func publish(nsqd string, in intents.Intent) {
	pub, err := nsqworker.NewPublisher(nsqworker.PublisherConfig{NSQDs: []string{nsqd}})
	if err != nil {
		panic(err)
	}
	defer pub.Close()
	body, err := intents.Encode(in)
	if err == nil {
		err = pub.Publish(context.Background(), "intents.bank", body)
	}
	if err != nil {
		panic(err)
	}
}

// settled waits until an intent is.
func settled(store *memstore.Store, id string) intents.Intent {
	for late := time.After(time.Minute); ; {
		in, err := store.Get(context.Background(), id)
		if err == nil && in.State.Final() {
			return in
		}
		select {
		case <-late:
			return in
		case <-time.After(5 * time.Millisecond):
		}
	}
}
