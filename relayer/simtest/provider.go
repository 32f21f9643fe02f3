package simtest

import (
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// provider is an HTTP service. It takes an idempotency key, for ever or until it forgets, or takes none and pays each time.
type provider struct {
	kind string
	now  func() time.Time
	seen map[string]*charge // by key
	paid map[string]int     // by intent
}

// charge is what a key stands for.
type charge struct {
	at   time.Time
	slow time.Duration // accepted first, done so much later; 0: done at once
}

// How long a payment takes that is only accepted. Some outlast all patience: a person looks while they are on their way.
const (
	slowness = 20 * time.Second
	sleepy   = 7 * time.Minute
)

func (p *provider) plan() intents.Plan {
	plan := intents.Plan{Slot: intents.Key, Scope: "endpoint"}
	switch p.kind {
	case keyed:
		plan.Again, plan.Seen = intents.Always, true
	case retained:
		plan.Again = intents.For(relied)
	case lookup:
		plan.Seen = true
	}
	return plan
}

func (*provider) prepare(in intents.Intent, slot intents.Slot, kind intents.Kind, _ []intents.Attempt, maker string) intents.Attempt {
	b := payload{slot: base(in.ID), id: base(in.ID), kind: kind.String(), maker: maker}
	return intents.Attempt{Slot: slot, Bytes: b.bytes(), Name: in.ID}
}

// idempotent says whether it looks at keys.
func (p *provider) idempotent() bool { return p.kind == keyed || p.kind == retained }

func (p *provider) known(id string) *charge {
	c := p.seen[id]
	if c != nil && p.kind == retained && p.now().Sub(c.at) > retention {
		return nil
	}
	return c
}

// arrive pays, once for each key that it knows. What it declines it has not done, and would do the next time.
func (p *provider) arrive(b payload, luck uint64) intents.Result {
	c := p.known(b.id)
	switch {
	case p.idempotent() && c != nil && luck%8 == 0:
		return intents.Result{Verdict: intents.Declined, Evidence: []byte(`"conflict"`)}
	case p.idempotent() && c != nil:
		return p.say(b.id, c)
	case luck%12 == 0:
		return intents.Result{Verdict: intents.Declined, Evidence: []byte(`"declined"`)}
	}
	c = &charge{at: p.now()}
	if luck%3 == 0 && p.kind != blind && p.kind != retained {
		c.slow = slowness
		if luck%9 == 0 {
			c.slow = sleepy
		}
	}
	p.seen[b.id] = c
	p.paid[b.id]++
	return p.say(b.id, c)
}

func (p *provider) say(id string, c *charge) intents.Result {
	if c.slow > 0 {
		return intents.Result{Verdict: intents.Accepted, Ref: "ch_" + id, After: slowness}
	}
	return intents.Result{Verdict: intents.Done, Ref: "ch_" + id}
}

// effects: what is accepted is as good as done: it cannot be called back.
func (p *provider) effects(id string) (n int, beyond bool) { return p.paid[id], p.paid[id] > 0 }

func (p *provider) did(b payload) bool { return p.paid[b.id] > 0 }

// could: each call pays, unless its key is known.
func (p *provider) could(b payload) bool { return !p.idempotent() || p.known(b.id) == nil }

func (*provider) holds() []payload { return nil }
func (*provider) tick(uint64)      {}
func (*provider) next() int64      { return 0 }

func (p *provider) observe(w intents.Watch) []intents.Observation {
	c := p.seen[base(w.Intent.ID)]
	if c == nil || p.kind == blind || p.kind == retained {
		return nil
	}
	o := intents.Observation{Slot: w.Slot, No: 1, Fact: intents.Final, Ref: "ch_" + base(w.Intent.ID)}
	if p.now().Sub(c.at) < c.slow {
		o.Fact, o.After = intents.Pending, time.Second
	}
	return []intents.Observation{o}
}
