package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/console"
	"github.com/nsqrelayer/relayer/relayer"
)

// routesOf tells how routes stand.
type routesOf struct{ behind }

// SetPaused turns a route's switch.
func (s routesOf) SetPaused(ctx context.Context, route string, paused bool, actor string) error {
	return s.store.SetPaused(ctx, route, paused, actor)
}

// Routes tells of every route that is configured. All queues are asked at once.
func (s routesOf) Routes(ctx context.Context) ([]console.Route, error) {
	switches, err := s.store.Routes(ctx)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(s.cfg.Routes))
	all := make([]console.Route, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() { all[i] = s.one(ctx, name, switches) })
	}
	asked.Wait()
	return all, nil
}

func (s routesOf) one(ctx context.Context, name string, switches []intents.RouteState) console.Route {
	c := console.Route{Name: name, QueueError: "this process takes no messages of it"}
	if settings, err := s.cfg.Route(name); err == nil {
		c.Sender, c.Topic = settings.Sender, settings.Topic
	}
	for _, sw := range switches {
		if sw.Route == name {
			c.Switch = sw
		}
	}
	if r := s.route(name); r != nil {
		c.Here = hereOf(r)
		c.Queue, c.QueueError = queueOf(ctx, r)
	}
	return c
}

// queueFor bounds the question how long a queue is.
const queueFor = 2 * time.Second

func queueOf(ctx context.Context, r *route) (*console.Queue, string) {
	ctx, cancel := context.WithTimeout(ctx, queueFor)
	defer cancel()
	q, err := r.consumer.Queue(ctx)
	if err != nil {
		return nil, err.Error()
	}
	return &console.Queue{Depth: q.Depth, InFlight: q.InFlight, Deferred: q.Deferred, Clients: q.Clients, Paused: q.Paused}, ""
}

func hereOf(r *route) *console.Here {
	t, now := r.throttle.State(), time.Now()
	h := &console.Here{InFlight: t.InFlight, Waiting: t.Waiting, PerSecond: perSecond(t.PerSecond), Draining: r.consumer.Stats().Draining}
	if t.CalmUntil.After(now) {
		h.CalmUntil = t.CalmUntil
	}
	if t.Breaker.Gate != relayer.GateOpen { // an open gate is a breaker that has not tripped
		h.Breaker = "it holds sends back: five results in a row were no answer. One at a time is tried."
	}
	return h
}

func perSecond(l rate.Limit) string {
	if l == relayer.Unlimited || l == rate.Inf {
		return "as many as there are"
	}
	return fmt.Sprintf("%.3g a second", float64(l))
}
