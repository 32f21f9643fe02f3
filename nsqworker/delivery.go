package nsqworker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Delivery is one delivery of a message. The same message may be delivered again, also while this delivery is handled.
type Delivery struct {
	ID   string // 16 hex digits, unique to one nsqd
	NSQD string // TCP address
	Body []byte

	// Attempts is nsqd's count of deliveries. For logs only: it counts lapses and waits, wraps at 65,535 and starts over
	// when nsqd crashes.
	Attempts uint16

	Published time.Time // nsqd's stamp, on its clock
	Until     time.Time // when the lease context ends at the latest: the cap of this delivery less a margin, on our clock
}

// Handler works deliveries, several at once.
type Handler interface {
	// Handle works one delivery and says what becomes of the message. A panic counts as Leave.
	//
	// lease ends when the message is no longer ours, soon will not be, or draining begins: wait no more, start nothing.
	// Its cause is ErrLeaseLost, ErrLeaseCap or ErrDraining. work ends at the drain deadline, with the cause
	// ErrDrainTimeout: cut the send, keep its result, return. It carries the values of Run's context.
	Handle(work, lease context.Context, d Delivery) Disposition
}

// HandlerFunc is a Handler that is a function.
type HandlerFunc func(work, lease context.Context, d Delivery) Disposition

// Handle calls f.
func (f HandlerFunc) Handle(work, lease context.Context, d Delivery) Disposition {
	return f(work, lease, d)
}

// Causes of the end of a lease context. Lost ones wrap ErrLeaseLost and say why.
var (
	ErrLeaseLost = errors.New("lease lost")
	ErrLeaseCap  = errors.New("lease cap near")
	ErrDraining  = errors.New("draining")
)

var (
	errExpired     = fmt.Errorf("%w: message timeout passed", ErrLeaseLost)
	errRedelivered = fmt.Errorf("%w: delivered again", ErrLeaseLost)
	errConnection  = fmt.Errorf("%w: connection lost", ErrLeaseLost)
)

type verb uint8

const (
	leave verb = iota
	finish
	requeue
)

// Disposition says what becomes of a message. The zero value is Leave. Once the lease is lost each of them is Leave.
type Disposition struct {
	verb  verb
	delay time.Duration
}

// Finish tells nsqd that the message is done with.
func Finish() Disposition { return Disposition{verb: finish} }

// Requeue gives the message back, to be delivered again after delay. It is clamped to nsqd's limits: what is negative
// becomes 0, what is above 0 at least 1 ms, and nothing exceeds Config.MaxReqTimeout.
func Requeue(delay time.Duration) Disposition { return Disposition{verb: requeue, delay: delay} }

// Leave answers nothing: nsqd delivers the message again when its timeout has passed.
func Leave() Disposition { return Disposition{} }

// String returns "finish", "leave" or "requeue 5s".
func (d Disposition) String() string {
	switch d.verb {
	case finish:
		return "finish"
	case requeue:
		return "requeue " + d.delay.String()
	default:
		return "leave"
	}
}

// clamp keeps a delay inside what nsqd takes: it closes the connection on a negative one and reads whole milliseconds.
func clamp(delay, most time.Duration) time.Duration {
	if delay <= 0 {
		return 0
	}
	return min(max(delay, time.Millisecond), most)
}
