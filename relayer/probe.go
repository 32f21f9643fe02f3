package relayer

import (
	"context"
	"log/slog"
	"time"
)

// Pinger answers whether the store can be written to now.
type Pinger interface {
	// Ping returns nil when it can. Any error: not now.
	Ping(ctx context.Context) error
}

// Pauser is the consumer as the probe sees it.
type Pauser interface {
	Pause(reason string) // take no more
	Resume()
}

// Probe pauses the consumer while the store cannot be reached: a delivery that meets an outage is given back, and a
// thousand more need not find out.
type Probe struct {
	store Pinger
	gate  Pauser
	log   *slog.Logger
	down  chan struct{}
}

// NewProbe makes a probe; [Probe.Run] makes it work. A nil logger logs nothing.
func NewProbe(store Pinger, gate Pauser, log *slog.Logger) *Probe {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Probe{store: store, gate: gate, log: log, down: make(chan struct{}, 1)}
}

// Down says that a call just found the store unreachable. It never blocks.
func (p *Probe) Down() {
	select {
	case p.down <- struct{}{}:
	default:
	}
}

// The pauses between two pings: 250 ms, doubling to 5 s.
const (
	firstPing = 250 * time.Millisecond
	mostPing  = 5 * time.Second
)

// Run works until ctx ends.
func (p *Probe) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.down:
		}
		p.gate.Pause("the store cannot be reached")
		p.log.ErrorContext(ctx, "store cannot be reached, consumer paused")
		if !p.wait(ctx) {
			return
		}
		select {
		case <-p.down: // said during the outage
		default:
		}
		p.gate.Resume()
		p.log.InfoContext(ctx, "store is back, consumer resumed")
	}
}

// wait pings until the store answers; false when ctx ends first.
func (p *Probe) wait(ctx context.Context) bool {
	for pause := firstPing; pauseFor(ctx, pause); pause = min(2*pause, mostPing) {
		once, cancel := context.WithTimeout(ctx, mostPing)
		err := p.store.Ping(once)
		cancel()
		if err == nil {
			return true
		}
		p.log.WarnContext(ctx, "store still away", "err", err)
	}
	return false
}
