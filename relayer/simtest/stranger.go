package simtest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/nsqrelayer/relayer/intents"
)

// strange is the id in transactions that are none of ours.
const strange = "?"

// intrude has somebody else use the signer's next number, at a fee that nobody tops.
func (c *chain) intrude(destination string, amount intents.Amount, maker string) {
	n := c.next()
	p := payload{slot: strconv.FormatInt(n, 10), id: strange, kind: "foreign", fee: 1000, maker: maker, number: n}
	c.strangers[p] = intents.Foreign{Hash: p.name(), Bytes: p.bytes(), Destination: destination, Amount: amount}
	for i, q := range c.pool {
		if q.number == n {
			c.take(p, i)
			return
		}
	}
	c.take(p, -1)
}

// date notes when a stranger's transaction is mined.
func (c *chain) date(p payload) {
	if f, ok := c.strangers[p]; ok {
		f.At = c.now()
		c.strangers[p] = f
	}
}

// stranger tells who else used a number beyond recall.
func (c *chain) stranger(number int64) (intents.Foreign, bool) {
	by, beyond, used := c.used(number)
	f, ok := c.strangers[by]
	return f, used && beyond && ok
}

// between lists the strangers of numbers, without a gap.
func (c *chain) between(from, to int64) []intents.Foreign {
	var out []intents.Foreign
	for n := from; n < to; n++ {
		f, ok := c.stranger(n)
		if !ok {
			break
		}
		out = append(out, f)
	}
	return out
}

// known lists all strangers' transactions, by name.
func (c *chain) known() []intents.Foreign {
	return slices.SortedFunc(maps.Values(c.strangers), func(a, b intents.Foreign) int { return cmp.Compare(a.Hash, b.Hash) })
}

// refer tells what a reference is that a person brings.
func (c *chain) refer(in intents.Intent, ref string) intents.Observation {
	o := intents.Observation{Ref: ref}
	for p, f := range c.strangers {
		at := c.at(p)
		switch {
		case f.Hash != ref:
		case !f.Pays(in):
			o.Fact = intents.Dead
		case c.deep(at):
			o.Fact = intents.Final
		case at >= 0:
			o.Fact = intents.Included
		case slices.Contains(c.pool, p):
			o.Fact = intents.Pending
		}
	}
	return o
}

// intrude has a stranger pay what one of the payments would pay, or something else.
func (s *sim) intrude() bool {
	c, ok := s.recipient.(*chain)
	if !ok {
		return false
	}
	s.made++
	p := s.anyPayment()
	to := p.in.Destination
	if s.chance(0.5) {
		to = "elsewhere"
	}
	s.note("a stranger pays %s to %s", p.in.Amount, to)
	c.intrude(to, p.in.Amount, "x"+strconv.Itoa(s.made))
	return true
}

// allow lets a signer go on that was frozen, once everything it has used is accounted for: a person has looked.
func (s *sim) allow() {
	all, err := s.db.Signers(s.ctx())
	if err != nil {
		return
	}
	for _, sg := range all {
		if sg.Frozen != "" && sg.Seen <= sg.Next {
			s.note("operator unfreezes %s: %s", sg.Scope, sg.Frozen)
			_, _ = s.db.Unfreeze(s.ctx(), sg.Scope, "looked at", "operator") // it is known
		}
	}
}
