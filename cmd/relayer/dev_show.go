//go:build !lean

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/relayer"
)

// display prints a line for each state change.
type display struct {
	mu    sync.Mutex
	out   io.Writer
	began time.Time
}

func newDisplay(out io.Writer) *display { return &display{out: out, began: time.Now()} }

// moved prints one move of an intent.
func (s *display) moved(at time.Time, m move) {
	s.mu.Lock()
	defer s.mu.Unlock()
	why := m.reason
	if m.ref != "" {
		why = m.ref
	}
	fmt.Fprintf(s.out, "%s  %-12s v%-2s %-22s %-9s %s\n", at.Format("15:04:05.000"), m.state, m.version, m.id, m.route, why)
}

// draining prints how a route's drain goes on.
func (s *display) draining(route string, r slog.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "draining %s:", route)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(s.out, " %s %v", a.Key, a.Value)
		return true
	})
	fmt.Fprintln(s.out)
}

// summary prints the engine's own counts.
func (s *display) summary(st relayer.Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "\n  sent %d, retry %d, abandoned %d, panics %d in %s\n", st.Sent, st.Retry, st.Abandoned, st.Panics,
		time.Since(s.began).Round(100*time.Millisecond))
}

// move is one state change as the engine logs it.
type move struct{ id, route, state, version, reason, ref string }

// devHandler takes the engine's state changes out of the log and shows them.
type devHandler struct {
	show  *display
	next  slog.Handler
	route string
}

// Enabled lets the moves through whatever the level.
func (h *devHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || h.next.Enabled(ctx, level)
}

// Handle shows moves and passes everything else on, from its level up.
func (h *devHandler) Handle(ctx context.Context, r slog.Record) error {
	switch r.Message {
	case "intent moved":
		h.show.moved(r.Time, h.read(r))
		return nil
	case "draining":
		h.show.draining(h.route, r)
		return nil
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

func (h *devHandler) read(r slog.Record) move {
	m := move{route: h.route}
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "intent":
			m.id = a.Value.String()
		case "state":
			m.state = a.Value.String()
		case "version":
			m.version = a.Value.String()
		case "reason":
			m.reason = a.Value.String()
		case "ref":
			m.ref = a.Value.String()
		}
		return true
	})
	return m
}

// WithAttrs remembers the route.
func (h *devHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := &devHandler{show: h.show, next: h.next.WithAttrs(attrs), route: h.route}
	for _, a := range attrs {
		if a.Key == "route" {
			n.route = a.Value.String()
		}
	}
	return n
}

// WithGroup groups what is passed on.
func (h *devHandler) WithGroup(name string) slog.Handler {
	return &devHandler{show: h.show, next: h.next.WithGroup(name), route: h.route}
}

// tellAddresses prints what to look at, and what to try.
func (d *dev) tellAddresses() {
	p := d.parts
	fmt.Fprintf(d.out, "\n  console   http://%s/\n", p.web.Addr())
	if d.cmd.Demo == "review" {
		fmt.Fprintf(d.out, "            three intents wait for a person at http://%s/review\n", p.web.Addr())
	}
	if p.nsq != nil {
		fmt.Fprintf(d.out, "  nsqadmin  http://%s/topics/intents.payouts\n", p.nsq.AdminHTTP)
	}
	fmt.Fprintf(d.out, "  metrics   http://%s/metrics\n", p.web.Addr())
	if p.pg != nil {
		fmt.Fprintf(d.out, "  psql      %s\n", p.pg.Psql("relayer"))
	}
	fmt.Fprintf(d.out, "  settings  %s\n\n  In another terminal:\n", d.configPath())
	if p.nsqdHTTP != "" {
		fmt.Fprintf(d.out, "    curl -d '{\"v\":1,\"id\":\"pi_x1\",\"account\":\"acct_demo\",\"destination\":\"you\",\"asset\":\"USD\",\"amount\":\"100\"}' 'http://%s/pub?topic=intents.webhooks'\n", p.nsqdHTTP)
	}
	self := os.Args[0]
	fmt.Fprintf(d.out, "    %s get pi_x1\n    %s list --state settled\n\n  Ctrl-C drains and stops; twice stops now.\n\n", self, self)
}
