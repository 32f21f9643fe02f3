package evm

import (
	"context"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// glance is what one look at slots came to, one of each for every watch.
type glance struct {
	seen  []intents.Observation // what it proves
	where []presence            // where the attempts are
	views []view                // what the node that showed it saw of the chain
}

// view is where the chain stands at one look, as one node has it.
type view struct {
	head   uint64
	best   uint64            // the highest block anybody showed, this node included
	beyond uint64            // all up to this block is beyond recall; 0: nothing
	next   map[string]uint64 // by scope, the lowest number no block has used; a scope that was not told is missing
}

// behind says whether others have shown higher blocks: what the node does not know may be known.
func (v view) behind() bool { return v.head < v.best }

// observeOnce asks the next node that can answer.
func (s *Sender) observeOnce(ctx context.Context, r *round, ws []intents.Watch) (g glance, err error) {
	err = r.ask(ctx, func(ctx context.Context) error {
		looks, all := lookFor(ws)
		v, err := s.receipts(ctx, all)
		if err == nil {
			err = s.blocks(ctx, ws, all, &v)
		}
		if err != nil {
			return err
		}
		now := time.Now()
		s.pool.sawHead(nodeOf(ctx), v.head)
		v.best = max(v.head, s.pool.best(now))
		g = glance{}
		for i, w := range ws {
			g.seen = append(g.seen, s.observation(ctx, w, looks[i], v))
			g.where = append(g.where, presenceOf(looks[i]))
			g.views = append(g.views, v)
		}
		s.displaced(ctx, ws, looks, g.seen, v.beyond)
		return nil
	})
	return g, err
}

// observeAgain asks the next node for what is left in doubt, and keeps what says more. Errors as round.ask.
func (s *Sender) observeAgain(ctx context.Context, r *round, ws []intents.Watch, g glance, left []int) error {
	some := make([]intents.Watch, len(left))
	for j, i := range left {
		some[j] = ws[i]
	}
	again, err := s.observeOnce(ctx, r, some)
	if err != nil {
		return err
	}
	for j, i := range left {
		if !again.views[j].behind() || weight(again.seen[j].Fact) > weight(g.seen[i].Fact) {
			g.seen[i], g.where[i], g.views[i] = again.seen[j], again.where[j], again.views[j]
		}
	}
	return nil
}

// doubtful are the slots of which a node behind says that something is not there.
func (g glance) doubtful() (left []int) {
	for i, o := range g.seen {
		if g.views[i].behind() && (o.Fact == intents.NotSeen || o.Fact == intents.Dead) {
			left = append(left, i)
		}
	}
	return left
}

// disbelieve leaves no proof of absence that came from nodes behind: not that a slot is dead or was used by something that
// is not found, nor that bytes are gone and may go out again.
func (g glance) disbelieve(left []int) {
	for _, i := range left {
		o := g.seen[i]
		g.seen[i] = intents.Observation{Slot: o.Slot, After: o.After, Evidence: o.Evidence}
		g.where[i].gone = false
	}
}
