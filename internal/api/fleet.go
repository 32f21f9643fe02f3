package api

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// routeView is a route and its switch.
type routeView struct {
	Route  string    `json:"route"`
	Topic  string    `json:"topic,omitempty"`
	Assets []string  `json:"assets,omitempty" doc:"What may be sent; none: whatever the sender knows"`
	Paused bool      `json:"paused"`
	By     string    `json:"by,omitempty" doc:"Who turned the switch last"`
	At     time.Time `json:"at,omitzero"`
}

func (a *api) routes(ctx context.Context, _ *struct{}) (*body[page[routeView]], error) {
	turned, err := a.cfg.Store.Routes(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]routeView{}
	for name, d := range a.cfg.Doors {
		all[name] = routeView{Route: name, Topic: d.Topic, Assets: d.Assets}
	}
	for _, s := range turned {
		v := all[s.Route]
		v.Route, v.Paused, v.By, v.At = s.Route, s.Paused, s.By, s.At.UTC()
		all[s.Route] = v
	}
	p := page[routeView]{Data: []routeView{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p.Data = append(p.Data, all[name])
	}
	return answer(p), nil
}

type routeInput struct {
	Route string `path:"route" maxLength:"64"`
}

func (a *api) pause(ctx context.Context, in *routeInput) (*body[routeView], error) {
	return a.turn(ctx, in.Route, true)
}

func (a *api) resume(ctx context.Context, in *routeInput) (*body[routeView], error) {
	return a.turn(ctx, in.Route, false)
}

// turn turns a route's switch. It must be a route of the settings: a pause of a misspelt one would stop nothing.
func (a *api) turn(ctx context.Context, route string, paused bool) (*body[routeView], error) {
	door, ok := a.cfg.Doors[route]
	if !ok {
		return nil, newProblem(codeNotFound, "the settings have no route "+route)
	}
	if err := a.cfg.Store.SetPaused(ctx, route, paused, actorOf(ctx)); err != nil {
		return nil, err
	}
	return answer(routeView{Route: route, Topic: door.Topic, Assets: door.Assets, Paused: paused, By: actorOf(ctx), At: a.cfg.Now().UTC()}), nil
}

func (a *api) instances(ctx context.Context, _ *struct{}) (*body[page[intents.InstanceView]], error) {
	all, err := a.cfg.Store.Instances(ctx)
	return paged(all, len(all), intents.InstanceJSON, nil), err
}

// stats is what is open.
type stats struct {
	At      time.Time             `json:"at" doc:"When it was counted"`
	Open    map[string]openStates `json:"open" doc:"By route. Settled, failed and canceled are not open; of created only those that expire are counted"`
	AtLeast bool                  `json:"at_least" doc:"There are more than were counted"`
	Total   int64                 `json:"total_approximate" doc:"Intents in all, as the database estimates it"`
}

// openStates counts what is open on a route, by state.
type openStates struct {
	States map[string]int `json:"states"`
	Due    time.Time      `json:"oldest_due_at,omitzero" doc:"The earliest moment at which one of them is due; past by minutes: nobody looks"`
}

const (
	mostCounted = 100_000         // rows that are looked at
	countEvery  = 5 * time.Second // how old an answer may be
)

// tally keeps the last count, so that many who ask cost one.
type tally struct {
	mu   sync.Mutex
	last stats
}

func (a *api) stats(ctx context.Context, _ *struct{}) (*body[stats], error) {
	a.tally.mu.Lock()
	defer a.tally.mu.Unlock()
	now := a.cfg.Now().UTC()
	if now.Sub(a.tally.last.At) < countEvery {
		return answer(a.tally.last), nil
	}
	c, err := a.cfg.Store.CountOpen(ctx, mostCounted)
	if err != nil {
		return nil, err
	}
	s := stats{At: now, Open: map[string]openStates{}, AtLeast: c.Cut, Total: c.Total}
	for _, o := range c.Counts {
		v, ok := s.Open[o.Route]
		if !ok {
			v.States = map[string]int{}
		}
		v.States[o.State.String()] = o.N
		if v.Due.IsZero() || o.DueAt.Before(v.Due) {
			v.Due = o.DueAt
		}
		s.Open[o.Route] = v
	}
	a.tally.last = s
	return answer(s), nil
}
