package simtest

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

func (s *sim) chance(p float64) bool { return s.rand.Float64() < p }

// malice is how likely a prank is: most while a claim is in the air, when there is most to break.
func (s *sim) malice() float64 {
	for _, m := range s.machines {
		if m.p != nil && m.p.sends() {
			return 0.1
		}
	}
	return 0.015
}

// open lists the gates that may be opened: not those of processes that are frozen, nor those where it is slow.
func (s *sim) open() []*gate {
	now := time.Now()
	var out []*gate
	for _, g := range s.hall.standing() {
		if !g.of.frozen && !g.until.After(now) {
			out = append(out, g)
		}
	}
	return out
}

// choose opens one gate, and lets something go wrong there.
func (s *sim) choose(gates []*gate) {
	g := s.pick(gates)
	if s.left > 0 && !s.calm && !g.held && s.chance(s.scene.slow*g.risk()) {
		s.hold(g)
		return
	}
	v := verdict{luck: s.rand.Uint64()}
	if s.left > 0 && !s.calm && len(g.menu) > 0 && s.chance(s.scene.faulty*g.risk()) {
		v.fault = g.menu[s.rand.IntN(len(g.menu))]
		s.fault(string(v.fault))
	}
	s.note("%s %s %s  %s", g.by, g.call, g.what, v.fault)
	s.hall.let(g, v)
}

// pick takes any gate; in some scenes the one of whoever has the highest rank, which is drawn anew now and then: so that
// some get far ahead of others.
func (s *sim) pick(gates []*gate) *gate {
	if !s.scene.ranked {
		return gates[s.rand.IntN(len(gates))]
	}
	if s.chance(0.03) {
		s.ranks = s.rand.Uint64()
	}
	return slices.MaxFunc(gates, func(a, b *gate) int { return cmp.Compare(s.rank(a), s.rank(b)) })
}

func (s *sim) rank(g *gate) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", g.by, s.ranks)
	return h.Sum64()
}

// slow keeps one goroutine waiting, while the others of its process go on.
const slow fault = "slow"

func (s *sim) hold(g *gate) {
	d := s.between(10*time.Millisecond, []time.Duration{time.Second, time.Second, 10 * time.Second, time.Minute}[s.rand.IntN(4)])
	g.held, g.until = true, time.Now().Add(d)
	s.fault(string(slow))
	s.note("%s %s %s is slow: %s", g.by, g.call, g.what, d)
	s.after(d, "", func() {}) // somebody looks again then
}

func (s *sim) fault(name string) {
	s.left--
	s.faults[name]++
}
