package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// roster reads the processes that work.
type roster interface {
	// Instances reads the processes that have told of themselves within a day and have not ended well, by name.
	Instances(ctx context.Context) ([]intents.Instance, error)
}

type instancesCmd struct {
	Output string `short:"o" enum:"table,json" default:"table" env:"RELAYER_OUTPUT" help:"table or json."`
}

// Help says what is shown.
func (instancesCmd) Help() string {
	return "Each relayer run tells of itself every ten seconds. One that ended well is not listed; one that was killed is, for a day, with when it was last seen."
}

// Run lists.
func (c *instancesCmd) Run(a *app) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.Instances(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		a.complain("no process works")
	}
	views := []intents.InstanceView{}
	t := newTable(a.stdout, "NAME", "VERSION", "STARTED", "SEEN", "ROUTES", "IN FLIGHT", "STATE")
	for _, i := range all {
		views = append(views, intents.InstanceJSON(i))
		t.row(i.Name, i.Version, stamp(i.StartedAt), stamp(i.SeenAt), strings.Join(i.Routes, ","), strconv.Itoa(i.InFlight), condition(i))
	}
	switch {
	case c.Output == "json":
		return printJSON(a.stdout, views)
	case len(all) > 0:
		return t.flush()
	}
	return nil
}

// condition is how a process seems to be.
func condition(i intents.Instance) string {
	switch {
	case i.Silent(time.Now()):
		return "silent"
	case i.Draining:
		return "draining"
	}
	return "working"
}
