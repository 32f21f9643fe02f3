package relayer

import (
	"sync"
	"time"
)

// How long a scope stays shut that had no number to give: from firstShut, doubling to mostShut.
const (
	firstShut = time.Second
	mostShut  = 30 * time.Second
)

// gates keep deliveries from asking in vain for numbers that a scope does not have: its window is full, or it is frozen.
// Shut, a scope lets one delivery through at a time, to see. This process's only; what others find they find themselves.
// The zero gates are open. They are safe for concurrent use.
type gates struct {
	mu   sync.Mutex
	of   map[string]*gate
	seen map[string]bool // every scope that was planned for
}

// gate is one scope that is shut.
type gate struct {
	until   time.Time // when the next one may try
	wait    time.Duration
	frozen  bool
	probing bool // one is on its way
}

// enter lets a delivery pass (0), or says how long to stay away and whether all its scopes are frozen. One scope that may
// be tried is enough; in a lane the first that is not frozen decides alone. One that passes a gate which was shut is the
// probe, and what it finds is told by shut, freeze or open; should it find nothing, the next probe goes when the gate's
// wait is over.
func (g *gates) enter(scopes []string, lane bool, now time.Time) (wait time.Duration, frozen bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen == nil {
		g.seen = map[string]bool{}
	}
	for _, scope := range scopes {
		g.seen[scope] = true
	}
	scopes = g.wanted(scopes, lane, now)
	for _, scope := range scopes { // an open one needs no probe of another
		if g.of[scope] == nil {
			return 0, false
		}
	}
	frozen = true
	for _, scope := range scopes {
		left, cold := g.pass(scope, now)
		if left == 0 {
			return 0, false
		}
		if wait == 0 || left < wait {
			wait = left
		}
		frozen = frozen && cold
	}
	return wait, frozen
}

// wanted are the scopes that may serve: in a lane the first that is not frozen, or due to be looked at.
func (g *gates) wanted(scopes []string, lane bool, now time.Time) []string {
	if !lane {
		return scopes
	}
	for i, scope := range scopes {
		if s := g.of[scope]; s == nil || !s.frozen || !now.Before(s.until) {
			return scopes[i : i+1]
		}
	}
	return scopes
}

func (g *gates) pass(scope string, now time.Time) (time.Duration, bool) {
	s := g.of[scope]
	switch {
	case s == nil:
		return 0, false
	case now.Before(s.until):
		return s.until.Sub(now), s.frozen
	}
	s.probing, s.until = true, now.Add(s.wait)
	return 0, false
}

// closed says how long every scope that was ever planned for stays shut: 0 while one is open or none is known. It spares
// a delivery the plan. Nobody passes by it.
func (g *gates) closed(now time.Time) (wait time.Duration, frozen bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for scope := range g.seen {
		s := g.of[scope]
		if s == nil || !now.Before(s.until) {
			return 0, false
		}
		if left := s.until.Sub(now); wait == 0 || left < wait {
			wait, frozen = left, s.frozen
		}
	}
	return wait, frozen
}

// shut tells that the scope had no number: longer than before when the probe found it so. It says for how long.
func (g *gates) shut(scope string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.of[scope]
	switch {
	case s == nil:
		s = g.add(scope)
		s.wait = firstShut
	case s.probing || s.frozen:
		s.wait = min(2*s.wait, mostShut)
	case now.Before(s.until): // it came before the gate shut, and finds it late
		return s.until.Sub(now)
	}
	s.until, s.frozen, s.probing = now.Add(s.wait), false, false
	return s.wait
}

// freeze tells that the scope is frozen: it is tried again when its intents are looked at again.
func (g *gates) freeze(scope string, now time.Time, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.add(scope)
	s.until, s.wait, s.frozen, s.probing = now.Add(wait), wait, true, false
}

// open tells that the scope had a number.
func (g *gates) open(scope string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.of, scope)
}

func (g *gates) add(scope string) *gate {
	if g.of == nil {
		g.of = map[string]*gate{}
	}
	if g.of[scope] == nil {
		g.of[scope] = &gate{}
	}
	return g.of[scope]
}
