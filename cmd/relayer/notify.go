package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nsqrelayer/relayer/internal/systemd"
	"github.com/nsqrelayer/relayer/relayer"
)

// statusEvery is how often the service manager hears how a drain goes on.
const statusEvery = 5 * time.Second

// notify tells the service manager that the process works, and from the end of ctx on how its drain stands, which may take
// drain-timeout and the time to write. It returns when done is closed.
func (p *process) notify(ctx context.Context, done <-chan struct{}, drain time.Duration, log *slog.Logger) {
	n, said := systemd.New(), func(err error) {
		if err != nil {
			log.WarnContext(ctx, "service manager cannot be told", "err", err)
		}
	}
	said(n.Ready(fmt.Sprintf("working %d routes", len(p.routes))))
	select {
	case <-ctx.Done():
	case <-done:
		return
	}
	end := time.Now().Add(drain)
	said(n.Stopping(p.drainStatus(end), drain+2*relayer.DefaultWriteGrace))
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			said(n.Status(p.drainStatus(end)))
		case <-done:
			return
		}
	}
}

// drainStatus says what is still under way.
func (p *process) drainStatus(end time.Time) string {
	running, oldest := 0, time.Duration(0)
	for _, r := range p.routes {
		s := r.consumer.Stats()
		running, oldest = running+s.Running, max(oldest, s.Oldest)
	}
	return fmt.Sprintf("draining: %d in flight, oldest %s, %s left", running, oldest.Round(time.Second), max(time.Until(end), 0).Round(time.Second))
}
