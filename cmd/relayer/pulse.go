package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// beater is where a process tells of itself.
type beater interface {
	// Beat tells that it lives.
	Beat(ctx context.Context, name string, p intents.Pulse) error
	// Leave takes it out of the list, and returns what it last told; false where it was not there.
	Leave(ctx context.Context, name string) (intents.Instance, bool, error)
}

// leaveFor is how long an end waits to be told. Whoever cannot be told by then learns it from the silence.
const leaveFor = 2 * time.Second

// heart tells of a process from start to end. Nothing depends on it: what cannot be told is told the next time.
type heart struct {
	store beater
	name  string
	every time.Duration
	pulse func() intents.Pulse
	log   *slog.Logger
}

// beat runs beside the work until that ends. One of the same name that is found at the start did not end well.
func (h heart) beat(ctx context.Context) {
	was, found, err := h.store.Leave(ctx, h.name)
	if found {
		h.log.WarnContext(ctx, "the last process of this name has not ended well, or still runs", "name", h.name,
			"started", was.StartedAt, "seen", was.SeenAt, "version", was.Version, "in_flight", was.InFlight, "draining", was.Draining)
	}
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for {
		if err == nil {
			err = h.store.Beat(ctx, h.name, h.pulse())
		}
		if err != nil && ctx.Err() == nil {
			h.log.DebugContext(ctx, "pulse not told", "err", err)
		}
		err = nil
		select {
		case <-ctx.Done():
			h.leave(context.WithoutCancel(ctx))
			return
		case <-tick.C:
		}
	}
}

// leave tells of the end.
func (h heart) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveFor)
	defer cancel()
	_, _, _ = h.store.Leave(ctx, h.name) // the silence tells it, too
}

// start beats beside the work. The end waits until that is told, but for no database that does not answer.
func (h heart) start(ctx context.Context) (end func()) {
	living, stop := context.WithCancel(context.WithoutCancel(ctx))
	told := make(chan struct{})
	go func() {
		defer close(told)
		h.beat(living)
	}()
	return func() {
		stop()
		select {
		case <-told:
		case <-time.After(leaveFor):
		}
	}
}

// pulse is what the process tells of itself.
func (p *process) pulse() intents.Pulse {
	host, _ := os.Hostname() // empty where it is not known
	pulse := intents.Pulse{Host: host, PID: os.Getpid(), Version: version().Version, Routes: []string{}}
	for _, r := range p.routes {
		s := r.consumer.Stats()
		pulse.Routes = append(pulse.Routes, r.name)
		pulse.InFlight += s.InFlight
		pulse.Draining = pulse.Draining || s.Draining
	}
	return pulse
}
