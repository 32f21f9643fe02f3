package simtest

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// gate is where a goroutine of the engine stops before it does something that others can see. When nothing runs any more
// the seed opens one of all gates, and nothing else runs until everything is quiet again. So the order of what happens is
// the seed's alone, however Go schedules goroutines.
type gate struct {
	by   string // process and goroutine: no two of a name stand anywhere at once, so gates have an order of their own
	call string
	what string
	of   *process
	menu []fault // what may go wrong here
	sure bool    // it is waited at whatever becomes of the caller's context
	keep bool    // whoever stands here outlives the process, since others wait for it: a committer
	open chan verdict

	held  bool      // once it was kept shut for a while
	until time.Time // until when
}

// risk is how much likelier than usual something goes wrong here: what loops ask all the time would use up all faults.
func (g *gate) risk() float64 {
	if strings.HasSuffix(g.by, "/attaches") || strings.HasSuffix(g.by, "/claims") || g.call == "attach" {
		return 4 // two at once who make bytes for one slot, or claim one intent, are rare enough
	}
	switch g.call {
	case "lead", "watches", "sweep", "numbers", "see", "waiting", "observe":
		return 0.05
	case "submit", "reply", "commit":
		return 2
	}
	return 1
}

// verdict is what the seed has chosen for a gate.
type verdict struct {
	fault fault
	luck  uint64 // for whatever is behind the gate to choose by
	dead  bool   // the process is no more
}

// fault names what goes wrong; empty: nothing.
type fault string

// hall is where all gates stand.
type hall struct {
	mu      sync.Mutex
	gates   []*gate
	arrived chan struct{} // somebody came
}

func newHall() *hall { return &hall{arrived: make(chan struct{}, 1)} }

// pass stops at the gate until it is opened. Without a verdict the caller's time was over first; the error is the
// context's. In a dead process the goroutine ends here.
func (h *hall) pass(ctx context.Context, g *gate) (verdict, error) {
	g.open = make(chan verdict, 1)
	if !g.of.dead.Load() {
		h.enter(g)
		if v, err := h.wait(ctx, g); err != nil || !v.dead {
			return v, err
		}
	}
	if !g.keep {
		runtime.Goexit()
	}
	return verdict{dead: true}, nil
}

func (h *hall) wait(ctx context.Context, g *gate) (verdict, error) {
	if g.sure {
		return <-g.open, nil
	}
	select {
	case v := <-g.open:
		return v, nil
	case <-ctx.Done():
		if h.leave(g) {
			return verdict{}, ctx.Err()
		}
		return <-g.open, nil
	}
}

func (h *hall) enter(g *gate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gates = append(h.gates, g)
	select {
	case h.arrived <- struct{}{}:
	default:
	}
}

// leave takes a gate away; false if it was opened.
func (h *hall) leave(g *gate) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.Index(h.gates, g)
	if i < 0 {
		return false
	}
	h.gates = slices.Delete(h.gates, i, i+1)
	return true
}

// standing lists all gates in an order that does not depend on who came first.
func (h *hall) standing() []*gate {
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.SortFunc(h.gates, compareGates)
	return slices.Clone(h.gates)
}

func compareGates(a, b *gate) int {
	return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(a.call, b.call))
}

// let opens a gate.
func (h *hall) let(g *gate, v verdict) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.gates, g); i >= 0 {
		h.gates = slices.Delete(h.gates, i, i+1)
		g.open <- v
	}
}

// actor is who makes a call: it stands in the contexts that the engine is given.
type actor struct {
	name string
	of   *process
	d    *delivery // nil: a loop
}

type actorKey struct{}

func (a *actor) in(ctx context.Context) context.Context { return context.WithValue(ctx, actorKey{}, a) }

func actorOf(ctx context.Context) *actor { return ctx.Value(actorKey{}).(*actor) }
