package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// kind is a way to break a part.
type kind string

const (
	kill    kind = "SIGKILL"
	restart kind = "SIGTERM" // ended in order: a deploy of the relayer, a restart of a server
	freeze  kind = "SIGSTOP"
	sever   kind = "connections terminated" // by the database
	refuse  kind = "refuses"                // connections
	hang    kind = "hangs"                  // takes calls and passes them on when it is over
	deaf    kind = "answers lost"           // calls arrive, their answers do not
	late    kind = "answers late"
	forget  kind = "pool dropped"
)

// The parts beside the relayer's processes, by name.
const (
	partNSQD     = "nsqd"
	partPostgres = "postgres"
	partRPC      = "rpc"
	partChain    = "chain"
	partProvider = "provider"
)

// workerName is the part that the nth process of the relayer is, from 1 on.
func workerName(n int) string { return fmt.Sprintf("relayer-%d", n) }

// fault is one part broken in one way.
type fault struct {
	at    time.Duration // since the first moment of the plan
	part  string
	kind  kind
	lasts time.Duration // until the part is brought back; 0: at once
}

func (f fault) String() string {
	if f.lasts == 0 {
		return fmt.Sprintf("%-10s %s", f.part, f.kind)
	}
	return fmt.Sprintf("%-10s %s, for %s", f.part, f.kind, f.lasts)
}

// harm is what may happen to a part, how often beside others, and for how long.
type harm struct {
	part        string
	kind        kind
	weight      int
	least, most time.Duration
	atOnce      float64 // share of those that last no time at all
}

// harms are all that may happen with so many processes of the relayer.
func harms(workers int) []harm {
	const s = time.Second
	all := []harm{
		{part: partNSQD, kind: kill, weight: 6, least: s, most: 8 * s, atOnce: 0.5},
		{part: partNSQD, kind: restart, weight: 3, least: s, most: 8 * s, atOnce: 0.5},
		{part: partPostgres, kind: kill, weight: 6, least: s, most: 8 * s, atOnce: 0.5},
		{part: partPostgres, kind: restart, weight: 3, least: s, most: 8 * s, atOnce: 0.5},
		{part: partPostgres, kind: sever, weight: 6, atOnce: 1},
		{part: partRPC, kind: refuse, weight: 3, least: s, most: 8 * s},
		{part: partRPC, kind: hang, weight: 3, least: s, most: 8 * s},
		{part: partRPC, kind: deaf, weight: 4, least: s, most: 8 * s},
		{part: partRPC, kind: late, weight: 2, least: 2 * s, most: 8 * s},
		{part: partChain, kind: forget, weight: 6, atOnce: 1},
		{part: partProvider, kind: refuse, weight: 3, least: s, most: 8 * s},
		{part: partProvider, kind: hang, weight: 3, least: s, most: 8 * s},
		{part: partProvider, kind: deaf, weight: 4, least: s, most: 8 * s},
		{part: partProvider, kind: late, weight: 2, least: 2 * s, most: 8 * s},
	}
	for n := range workers {
		all = append(all,
			harm{part: workerName(n + 1), kind: kill, weight: 7, least: s, most: 10 * s, atOnce: 0.5},
			harm{part: workerName(n + 1), kind: restart, weight: 4, atOnce: 1},
			harm{part: workerName(n + 1), kind: freeze, weight: 6, least: 2 * s, most: 30 * s})
	}
	return all
}

// recovery is how long a part is left alone after it was brought back.
const recovery = 2 * time.Second

// plan says what breaks when. It follows from its seed alone. A part that is broken, or came back just now, is not broken
// again.
type plan struct {
	dice  *rand.Rand
	every time.Duration // between two faults, in the mean
	harms []harm
	at    time.Duration
	free  map[string]time.Duration // by part: from when on it may be broken
}

func newPlan(seed uint64, every time.Duration, workers int) *plan {
	return &plan{dice: rand.New(rand.NewPCG(seed, 0)), every: every, harms: harms(workers), free: map[string]time.Duration{}}
}

// next is the next fault; at rises.
func (p *plan) next() fault {
	gap := p.dice.ExpFloat64() * float64(p.every)
	p.at += min(time.Duration(gap), 4*p.every).Round(time.Millisecond)
	whole := p.whole()
	for ; whole == 0; whole = p.whole() { // all parts are broken
		p.at += recovery
	}
	h := p.pick(p.dice.IntN(whole))
	f := fault{at: p.at, part: h.part, kind: h.kind}
	if p.dice.Float64() >= h.atOnce {
		f.lasts = (h.least + time.Duration(p.dice.Float64()*float64(h.most-h.least))).Round(100 * time.Millisecond)
	}
	p.free[f.part] = f.at + f.lasts + recovery
	return f
}

func (p *plan) may(h harm) bool { return p.free[h.part] <= p.at }

// whole is the weight of all that may happen now.
func (p *plan) whole() (sum int) {
	for _, h := range p.harms {
		if p.may(h) {
			sum += h.weight
		}
	}
	return sum
}

// pick is what has its share of the weight at a point.
func (p *plan) pick(point int) harm {
	for _, h := range p.harms {
		if !p.may(h) {
			continue
		}
		if point < h.weight {
			return h
		}
		point -= h.weight
	}
	return harm{}
}
