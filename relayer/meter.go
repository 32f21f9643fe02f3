package relayer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Meter hears what becomes of a route's intents, for whoever counts. It must not block: deliveries wait for it. It is called
// from many goroutines.
type Meter interface {
	// Took tells how long one stage took, whatever it came to. ctx is the delivery's, or the observer's.
	Took(ctx context.Context, s Stage, d time.Duration)
	// Attempted tells what one call of the sender came to, also those of the observer.
	Attempted(v intents.Verdict)
	// Moved tells that a worker or observer has moved an intent into a state. What people and the sweeper move it does not
	// hear of.
	Moved(to intents.State)
	// Buried tells that a dead letter was kept.
	Buried(reason string)
}

// Stage is a part of an intent's way.
type Stage string

// The stages. A retry goes through the first three again.
const (
	StageQueue    Stage = "queue"    // from a message's publishing until it is looked at
	StageThrottle Stage = "throttle" // the wait for a permit
	StageSend     Stage = "send"     // one call of the sender
	StageConfirm  Stage = "confirm"  // from the other side's acceptance to the end, by the database's clock
)

// Stages lists all of them.
func Stages() []Stage { return []Stage{StageQueue, StageThrottle, StageSend, StageConfirm} }

// deaf is the Meter of who counts nothing.
type deaf struct{}

func (deaf) Took(context.Context, Stage, time.Duration) {}
func (deaf) Attempted(intents.Verdict)                  {}
func (deaf) Moved(intents.State)                        {}
func (deaf) Buried(string)                              {}

// LoopStats tells how a sweeper or an observer stands.
type LoopStats struct {
	Leads bool      // this process works it for all
	Done  int64     // messages published, or slots looked at
	At    time.Time // when a round last ended without an error, as leader or not; zero: never
}

type loopStats struct {
	leads    atomic.Bool
	done, at atomic.Int64
}

// note counts one round.
func (s *loopStats) note(leads bool, done int, err error) {
	s.leads.Store(leads)
	s.done.Add(int64(done))
	if err == nil {
		s.at.Store(time.Now().UnixNano())
	}
}

func (s *loopStats) read() LoopStats {
	l := LoopStats{Leads: s.leads.Load(), Done: s.done.Load()}
	if at := s.at.Load(); at != 0 {
		l.At = time.Unix(0, at)
	}
	return l
}

// Stats tells how the observer stands. It may be called from anywhere.
func (o *Observer) Stats() LoopStats { return o.stats.read() }

func (o *Observer) tell(ctx context.Context, ws []intents.Watch, ins []intents.Intent) {
	for i, in := range ins {
		if was := ws[i].Intent; in.Version != was.Version {
			o.meter(ctx, was, in)
			o.log.InfoContext(ctx, "intent moved", "intent", in.ID, "state", in.State.String(), "version", in.Version,
				"reason", string(in.Reason), "ref", in.Ref)
		}
	}
}

// meter tells of an intent that a look has moved.
func (o *Observer) meter(ctx context.Context, was, in intents.Intent) {
	if in.State == was.State {
		return
	}
	o.cfg.Meter.Moved(in.State)
	if was.State == intents.Confirming && in.State.Final() {
		o.cfg.Meter.Took(ctx, StageConfirm, in.ChangedAt.Sub(was.ChangedAt))
	}
}
