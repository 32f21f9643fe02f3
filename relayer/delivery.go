package relayer

import (
	"fmt"
	"time"
)

// Delivery is one message as a worker gets it.
type Delivery struct {
	ID        string
	Topic     string
	Body      []byte
	Published time.Time // when it was first published, by the queue's clock
	Until     time.Time // when this delivery's lease ends for good, by our clock; zero: never
}

// Disposition says what is to become of a message.
type Disposition struct {
	kind  disposition
	delay time.Duration
}

type disposition int

const (
	leave disposition = iota
	finish
	requeue
)

// Finish answers the message: the row itself says who looks next.
func Finish() Disposition { return Disposition{kind: finish} }

// Requeue gives the message back, to be delivered again after a delay. Only for deliveries that wrote no claim.
func Requeue(delay time.Duration) Disposition {
	return Disposition{kind: requeue, delay: max(delay, 0)}
}

// Leave answers nothing: the message comes again when its lease has ended.
func Leave() Disposition { return Disposition{} }

// Finished says whether the message is to be answered for good.
func (d Disposition) Finished() bool { return d.kind == finish }

// Requeued says whether the message is given back, and the delay.
func (d Disposition) Requeued() (time.Duration, bool) { return d.delay, d.kind == requeue }

// String shows a disposition in logs and tests.
func (d Disposition) String() string {
	switch d.kind {
	case finish:
		return "finish"
	case requeue:
		return fmt.Sprintf("requeue %s", d.delay)
	case leave:
	}
	return "leave"
}
