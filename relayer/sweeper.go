package relayer

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Publisher puts messages on the queue.
type Publisher interface {
	// Publish sends one body to a topic. Any error: it may have been sent, or not.
	Publish(ctx context.Context, topic string, body []byte) error
}

// Sweeper publishes what is due: scheduled intents, retries, and whatever the queue forgot. One works per route, by a
// lease row; two at once only waste. It is not safe for concurrent use, but for Forget.
type Sweeper struct {
	cfg Config
	due Due
	pub Publisher
	log *slog.Logger
	out []intents.Intent // published by us and not looked at since

	more    bool        // there was more due than room, when last looked
	failing bool        // the last publish failed
	gone    atomic.Bool // what we published may be
	stats   loopStats
}

// NewSweeper makes the sweeper of a route.
func NewSweeper(cfg Config, due Due, pub Publisher) *Sweeper {
	cfg = cfg.WithDefaults()
	return &Sweeper{cfg: cfg, due: due, pub: pub, log: cfg.Logger.With("route", cfg.Route)}
}

// Forget tells that messages may have gone from the queue, as those in the memory of an nsqd that dies. What was published
// before counts no more against what may stand there: else nothing would be swept until the last due_at of those has passed,
// which is up to MostPush away. It may be called from anywhere, and in vain: then a few messages more stand in the queue.
func (s *Sweeper) Forget() { s.gone.Store(true) }

// leaseTicks is how many ticks a lease outlasts: a leader that misses so many is replaced.
const leaseTicks = 20

// Sweep publishes due intents once, if this process leads, and says how many. It keeps at most twice the concurrency
// of its own messages in the queue and refills under half, so that a million due at once do not stand before fresh ones.
// Errors: those of Due and Publisher.
func (s *Sweeper) Sweep(ctx context.Context) (int, error) {
	lead, err := s.due.Lead(ctx, s.lease(), s.cfg.Owner, max(leaseTicks*s.cfg.SweepEvery, s.cfg.StoreTimeout))
	n := 0
	switch {
	case err != nil:
	case lead:
		n, err = s.sweep(ctx)
	default:
		s.out, s.more = nil, false
	}
	s.stats.note(lead, n, err)
	return n, err
}

// Stats tells how the sweeper stands. It may be called from anywhere.
func (s *Sweeper) Stats() LoopStats { return s.stats.read() }

// sweep is one round of the leader.
func (s *Sweeper) sweep(ctx context.Context) (int, error) {
	room, err := s.room(ctx)
	if err != nil || room == 0 {
		return 0, err
	}
	ins, err := s.due.Sweep(ctx, s.cfg.Route, room)
	if err != nil {
		return 0, err
	}
	s.more = len(ins) == room
	return s.publish(ctx, ins)
}

// room is how many more messages are to be published now. While publishing fails it is one, to see: due_at of all that is
// swept is pushed on, published or not.
func (s *Sweeper) room(ctx context.Context) (int, error) {
	left, err := s.left(ctx)
	if s.failing {
		left = min(left, 1)
	}
	return left, err
}

// left is how many more messages may stand in the queue.
func (s *Sweeper) left(ctx context.Context) (int, error) {
	if s.gone.Swap(false) {
		s.out = nil
	}
	most := 2 * s.cfg.Concurrency
	if len(s.out) <= most/2 {
		return most - len(s.out), nil
	}
	out, err := s.due.Waiting(ctx, s.out)
	if err != nil {
		return 0, err
	}
	s.out = out
	if len(out) > most/2 {
		return 0, nil
	}
	return most - len(out), nil
}

// publish sends references. What fails stays due: due_at was only pushed on.
func (s *Sweeper) publish(ctx context.Context, ins []intents.Intent) (int, error) {
	for n, in := range ins {
		body, err := intents.EncodeReference(in.ID)
		if err == nil {
			err = s.pub.Publish(ctx, s.cfg.Topic, body)
		}
		s.failing = err != nil
		if err != nil {
			return n, err
		}
		s.out = append(s.out, in)
	}
	return len(ins), nil
}

// lease is the name of what the one sweeper of a route has.
func (s *Sweeper) lease() string { return "sweep/" + s.cfg.Route }

// hurry is by how much sooner it is looked again while more is due than may stand in the queue: with few workers it is
// empty long before the next sweep.
const hurry = 10

// pause is how long to wait for the next sweep.
func (s *Sweeper) pause() time.Duration {
	if s.more && !s.failing {
		return s.cfg.SweepEvery / hurry
	}
	return s.cfg.SweepEvery
}

// Run sweeps every SweepEvery until ctx ends, and sooner while more is due than there is room for. Another process may lead
// at once then.
func (s *Sweeper) Run(ctx context.Context) {
	paced(ctx, s.pause, s.log, func() {
		once, cancel := context.WithTimeout(ctx, s.cfg.StoreTimeout+s.cfg.SweepEvery)
		defer cancel()
		n, err := s.Sweep(once)
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "sweep put off", "err", err)
		}
		if n > 0 {
			s.log.DebugContext(ctx, "swept", "published", n)
		}
	})
	resign(ctx, s.due, s.lease(), s.cfg.Owner, s.cfg.StoreTimeout)
}
