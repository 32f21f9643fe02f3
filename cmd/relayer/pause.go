package main

import (
	"context"
	"fmt"
)

// switcher turns routes on and off.
type switcher interface {
	// SetPaused turns a route's switch; what waits in the route is due at once when it is turned off.
	SetPaused(ctx context.Context, route string, paused bool, actor string) error
}

type pauseCmd struct {
	Route string `arg:"" help:"The route's name."`
}

// Help shows an example.
func (pauseCmd) Help() string {
	return "Example:\n\n    relayer pause payouts\n\nEvery claim looks at the switch, in all processes. What was claimed before goes on."
}

// Run pauses.
func (c *pauseCmd) Run(a *app) error { return a.turn(c.Route, true) }

type resumeCmd struct {
	Route string `arg:"" help:"The route's name."`
}

// Help shows an example.
func (resumeCmd) Help() string { return "Example:\n\n    relayer resume payouts" }

// Run resumes.
func (c *resumeCmd) Run(a *app) error { return a.turn(c.Route, false) }

// turn turns a route's switch. Where routes are configured, it must be one of them.
func (a *app) turn(route string, paused bool) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := a.cfg.Route(route); err != nil && len(a.cfg.Routes) > 0 {
		return usage(err)
	}
	if err := s.SetPaused(ctx, route, paused, a.actor()); err != nil {
		return err
	}
	word := "resumed"
	if paused {
		word = "paused"
	}
	_, err = fmt.Fprintf(a.stdout, "%s  %s by %s\n", route, word, a.actor())
	return err
}
