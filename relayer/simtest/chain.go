package simtest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// finality is how many blocks, its own included, make a payment beyond recall. No reorganisation is so deep.
const finality = 3

// chain is an EVM-like chain with one signer: a number is used once, transactions wait in a pool that may forget them, and
// blocks that are not deep enough may be replaced.
type chain struct {
	blocks [][]payload
	pool   []payload
	since  map[string]int // height at which a transaction came into the pool
	now    func() time.Time

	strangers map[payload]intents.Foreign // by whoever else has the key
}

func (*chain) plan() intents.Plan {
	return intents.Plan{Slot: intents.Counter, Scope: signer, Cost: intents.NewAmount(3), Again: intents.Always, Seen: true}
}

// signer is the one scope of a chain.
const signer = "signer"

func (*chain) prepare(in intents.Intent, slot intents.Slot, kind intents.Kind, prior []intents.Attempt, maker string) intents.Attempt {
	p := payload{slot: strconv.FormatInt(slot.Number, 10), id: "-", kind: kind.String(), fee: 1 + len(prior), maker: maker, number: slot.Number}
	if kind.Pays() {
		p.id = base(in.ID)
	}
	return intents.Attempt{Slot: slot, Bytes: p.bytes(), Name: p.name()}
}

func (c *chain) next() int64 {
	n := int64(0)
	for _, b := range c.blocks {
		n += int64(len(b))
	}
	return n
}

// at is the block of a transaction, -1: none.
func (c *chain) at(p payload) int {
	return slices.IndexFunc(c.blocks, func(b []payload) bool { return slices.Contains(b, p) })
}

// deep says whether a block is beyond recall.
func (c *chain) deep(block int) bool { return block >= 0 && len(c.blocks)-block >= finality }

// used is who used a number, and whether beyond recall.
func (c *chain) used(number int64) (by payload, beyond, ok bool) {
	for h, b := range c.blocks {
		for _, p := range b {
			if p.number == number {
				return p, c.deep(h), true
			}
		}
	}
	return payload{}, false, false
}

// arrive answers as nodes do: what is known is accepted again, what is too cheap or late is an error that proves nothing.
func (c *chain) arrive(p payload, luck uint64) intents.Result {
	rival := slices.IndexFunc(c.pool, func(q payload) bool { return q.number == p.number })
	switch {
	case c.at(p) >= 0 || slices.Contains(c.pool, p):
		return intents.Result{Verdict: intents.Accepted, Ref: p.name()}
	case p.number < c.next():
		return intents.Result{Alive: true, Evidence: []byte(`"nonce too low"`)}
	case rival >= 0 && c.pool[rival].fee >= p.fee:
		return intents.Result{Alive: true, Evidence: []byte(`"underpriced"`)}
	case luck%16 == 0: // refused, and taken by another node all the same, or not
		if luck%32 == 0 {
			c.take(p, rival)
		}
		return intents.Result{Verdict: intents.Declined, Evidence: []byte(`"insufficient funds"`)}
	}
	c.take(p, rival)
	return intents.Result{Verdict: intents.Accepted, Ref: p.name()}
}

func (c *chain) take(p payload, rival int) {
	if rival >= 0 {
		c.pool = slices.Delete(c.pool, rival, rival+1)
	}
	c.since[p.name()] = len(c.blocks)
	c.pool = append(c.pool, p)
}

// tick mines a block of what follows on, or an empty one; now and then it first forgets a transaction or some blocks.
func (c *chain) tick(luck uint64) {
	if luck%11 == 0 && len(c.pool) > 0 {
		i := int(luck/11) % len(c.pool)
		c.pool = slices.Delete(c.pool, i, i+1)
	}
	if luck%7 == 0 {
		c.reorganize(int(luck/7)%finality, luck%2 == 0)
	}
	if luck%3 == 0 {
		c.blocks = append(c.blocks, nil)
		return
	}
	slices.SortFunc(c.pool, func(a, b payload) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.maker, b.maker))
	})
	var mined, left []payload
	next := c.next()
	for _, p := range c.pool {
		if p.number == next && len(mined) < 3 {
			c.date(p)
			mined, next = append(mined, p), next+1
			continue
		}
		left = append(left, p)
	}
	c.pool, c.blocks = left, append(c.blocks, mined)
}

// reorganize replaces the last blocks by nothing; their transactions wait again, or are forgotten.
func (c *chain) reorganize(deep int, forget bool) {
	deep = min(deep, len(c.blocks))
	lost := slices.Concat(c.blocks[len(c.blocks)-deep:]...)
	c.blocks = c.blocks[:len(c.blocks)-deep]
	for range deep { // the other branch is as long
		c.blocks = append(c.blocks, nil)
	}
	if forget {
		return
	}
	for _, p := range lost {
		c.pool = slices.DeleteFunc(c.pool, func(q payload) bool { return q.number == p.number })
		c.take(p, -1)
	}
}

func (c *chain) effects(id string) (n int, beyond bool) {
	for h, b := range c.blocks {
		for _, p := range b {
			if p.id == id {
				n++
				beyond = beyond || c.deep(h)
			}
		}
	}
	return n, beyond
}

func (c *chain) did(p payload) bool { return c.at(p) >= 0 }

// could: unless its number is used beyond recall, any bytes may be mined, whoever has them.
func (c *chain) could(p payload) bool {
	by, beyond, used := c.used(p.number)
	return !used || !beyond || by == p
}

func (c *chain) holds() []payload { return c.pool }

func (c *chain) observe(w intents.Watch) []intents.Observation {
	if f, ok := c.stranger(w.Slot.Number); ok {
		return []intents.Observation{{Slot: w.Slot, Fact: intents.Dead, Foreign: &f, Evidence: f.Evidence(w.Slot.Number)}}
	}
	if len(w.Attempts) == 0 {
		return []intents.Observation{{Slot: w.Slot, Want: intents.Fill}}
	}
	var out []intents.Observation
	waits := false
	for _, a := range w.Attempts {
		o := c.look(w, a)
		waits = waits || o.Fact == intents.Pending && len(c.blocks)-c.since[a.Name] > 1
		out = append(out, o)
	}
	last := &out[len(out)-1]
	if waits && len(w.Attempts) < 4 && last.Fact == intents.Pending {
		last.Want = intents.Bump
		if w.Intent.ID == "" {
			last.Want = intents.Fill
		}
	}
	return out
}

func (c *chain) look(w intents.Watch, a intents.Attempt) intents.Observation {
	p := parse(a.Bytes)
	o := intents.Observation{Slot: w.Slot, No: a.No, Evidence: fmt.Appendf(nil, `"height %d"`, len(c.blocks))}
	at := c.at(p)
	_, beyond, used := c.used(p.number)
	switch {
	case c.deep(at):
		o.Fact = intents.Final
	case at >= 0:
		o.Fact = intents.Included
	case used && beyond:
		o.Fact = intents.Dead
	case slices.Contains(c.pool, p):
		o.Fact = intents.Pending
	default:
		o.Resend = true
	}
	return o
}
