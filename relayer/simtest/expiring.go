package simtest

import (
	"fmt"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

// lifetime is for how many blocks bytes of an expiring slot can be included.
const lifetime = 8

// expiring is a chain as Solana is one, and in their own ways TON and Sui: who signs names the slot, the very same bytes
// count once, and after their expiry they can never be included.
type expiring struct {
	blocks [][]payload
	pool   []payload
}

func (*expiring) plan() intents.Plan {
	return intents.Plan{Slot: intents.Given, Scope: "wallet", Cost: intents.NewAmount(1), Again: intents.Always, Seen: true}
}

func (e *expiring) prepare(in intents.Intent, slot intents.Slot, kind intents.Kind, _ []intents.Attempt, maker string) intents.Attempt {
	p := payload{slot: fmt.Sprintf("b%d", len(e.blocks)), id: base(in.ID), kind: kind.String(), fee: len(e.blocks) + lifetime, maker: maker}
	slot.Name = p.slot
	return intents.Attempt{Slot: slot, Bytes: p.bytes(), Name: p.name(), Expiry: intents.Expiry{Kind: intents.Height, At: int64(p.fee)}}
}

func (e *expiring) at(p payload) int {
	return slices.IndexFunc(e.blocks, func(b []payload) bool { return slices.Contains(b, p) })
}

func (e *expiring) deep(block int) bool { return block >= 0 && len(e.blocks)-block >= finality }

func (e *expiring) arrive(p payload, luck uint64) intents.Result {
	switch {
	case e.at(p) >= 0 || slices.Contains(e.pool, p):
		return intents.Result{Verdict: intents.Accepted, Ref: p.name()}
	case len(e.blocks) > p.fee:
		return intents.Result{Alive: true, Evidence: []byte(`"blockhash not found"`)}
	case luck%16 == 0:
		return intents.Result{Verdict: intents.Declined, Evidence: []byte(`"simulation failed"`)}
	}
	e.pool = append(e.pool, p)
	return intents.Result{Verdict: intents.Accepted, Ref: p.name()}
}

// tick includes what has not expired, forgets some, and now and then takes back blocks that are not deep.
func (e *expiring) tick(luck uint64) {
	if luck%7 == 0 {
		deep := min(int(luck/7)%finality, len(e.blocks))
		for i := range deep {
			e.blocks[len(e.blocks)-1-i] = nil // dropped: whoever wants it in must send it again
		}
	}
	var mined, left []payload
	for i, p := range e.pool {
		switch {
		case p.fee < len(e.blocks): // expired
		case luck>>(i%60)%4 == 0:
			left = append(left, p)
		case luck>>(i%60)%9 != 0:
			mined = append(mined, p)
		}
	}
	e.pool, e.blocks = left, append(e.blocks, mined)
}

func (e *expiring) effects(id string) (n int, beyond bool) {
	for h, b := range e.blocks {
		for _, p := range b {
			if p.id == id {
				n++
				beyond = beyond || e.deep(h)
			}
		}
	}
	return n, beyond
}

func (e *expiring) did(p payload) bool { return e.at(p) >= 0 }

// could: until no block that may be replaced is young enough for it.
func (e *expiring) could(p payload) bool { return e.at(p) >= 0 || len(e.blocks)-finality <= p.fee }

func (e *expiring) holds() []payload { return e.pool }
func (*expiring) next() int64        { return 0 }

func (e *expiring) observe(w intents.Watch) []intents.Observation {
	var out []intents.Observation
	for _, a := range w.Attempts {
		p := parse(a.Bytes)
		o := intents.Observation{Slot: w.Slot, No: a.No}
		switch at := e.at(p); {
		case e.deep(at):
			o.Fact = intents.Final
		case at >= 0:
			o.Fact = intents.Included
		case !e.could(p):
			o.Fact = intents.Dead
		case slices.Contains(e.pool, p):
			o.Fact = intents.Pending
		default:
			o.Resend = true
		}
		out = append(out, o)
	}
	return out
}
