package simtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/batch"
)

// What may go wrong with a commit.
const (
	storeAway   fault = "store away"            // nothing is written
	deadlock    fault = "deadlock"              // nothing is written, the same batch may go again
	badRow      fault = "row refused"           // nothing is written, the batch is halved
	lostLanded  fault = "answer lost, written"  // the commit is written, its answer is lost
	lostNothing fault = "answer lost, nothing"  // it is not, and its answer is lost as well
	lostOnWay   fault = "answer lost, on way"   // its answer is lost while it is on its way: it lands later
	lostDropped fault = "answer lost, dropped"  // as above, and it never lands
	stillAway   fault = "cannot be read back"   // what became of it cannot be asked
	callAway    fault = "store call fails"      // before it stands in any queue
	lateAnswer  fault = "answer after deadline" // the answer of a call that is not batched is lost
)

var (
	errAway  = fmt.Errorf("connection refused: %w", intents.ErrUnavailable)
	errLost  = errors.New("connection reset")
	errDead  = errors.New("the process is dead")
	errRow   = errors.New("row refused")
	errLock  = errors.New("deadlock detected")
	errMoved = errors.New("the row has moved")
)

// committer carries out the batches of one queue of one process, as pgstore's do: one commit each, read back after a lost
// answer by deciding again under lock.
type committer[Op, Ans any] struct {
	p    *process
	name string
	id   func(Op) string
	do   func(Op) (Ans, error)
}

func (c *committer[Op, Ans]) gate(call string, ops []Op, menu ...fault) *gate {
	ids := make([]string, len(ops))
	for i, op := range ops {
		ids[i] = c.id(op)
	}
	return &gate{by: c.p.name + "/" + c.name, call: call, what: strings.Join(ids, " "), of: c.p, menu: menu, sure: true, keep: true}
}

// Commit stops at a gate, then writes or meets with what was chosen.
func (c *committer[Op, Ans]) Commit(_ context.Context, ops []Op) ([]batch.Answer[Ans], error) {
	ops = slices.Clone(ops) // the queue uses its own again
	v, _ := c.p.s.hall.pass(context.Background(), c.gate("commit", ops,
		storeAway, deadlock, badRow, lostLanded, lostLanded, lostNothing, lostOnWay, lostDropped))
	switch v.fault {
	case storeAway:
		return nil, errAway
	case deadlock:
		return nil, batch.Repeat(errLock)
	case badRow:
		return nil, batch.BadRow(errRow)
	case lostLanded:
		c.run(ops)
	case lostOnWay, lostDropped:
		c.p.s.db.send(&commit{lands: v.fault == lostOnWay, do: func() { c.run(ops) }})
	case lostNothing:
	default:
		if v.dead {
			return nil, errDead
		}
		return c.run(ops), nil
	}
	if v.dead {
		return nil, errDead
	}
	return nil, batch.Unsure(errLost)
}

// Resolve reads back under lock: it decides again.
func (c *committer[Op, Ans]) Resolve(_ context.Context, ops []Op) ([]batch.Answer[Ans], error) {
	v, _ := c.p.s.hall.pass(context.Background(), c.gate("read back", ops, stillAway))
	if v.dead || v.fault == stillAway {
		return nil, errAway
	}
	if s := c.p.s; s.broken.plain && len(s.db.way) > 0 {
		return nothing[Ans](len(ops)), nil
	}
	out := c.run(ops)
	for i := range out {
		out[i].Err = c.doubt(out[i].Err)
	}
	return out, nil
}

// doubt: a claim that met another row may have been had, and be over.
func (c *committer[Op, Ans]) doubt(err error) error {
	if not, ok := errors.AsType[*intents.NotClaimedError](err); ok && not.Why == intents.WhyMoved {
		return batch.Unsure(errMoved)
	}
	return err
}

// run writes one batch.
func (c *committer[Op, Ans]) run(ops []Op) []batch.Answer[Ans] {
	c.p.s.db.lock()
	out := make([]batch.Answer[Ans], len(ops))
	done := map[string]int{}
	for i, op := range ops {
		if first, again := done[c.id(op)]; again {
			out[i] = out[first]
			continue
		}
		out[i].Value, out[i].Err = c.do(op)
		done[c.id(op)] = i
	}
	return out
}

// nothing answers a whole batch with having written nothing.
func nothing[Ans any](n int) []batch.Answer[Ans] {
	out := make([]batch.Answer[Ans], n)
	for i := range out {
		out[i].Err = errAway
	}
	return out
}

// queues are the four of a process.
type queues struct {
	takes    *batch.Queue[intents.Message, intents.Intent]
	claims   *batch.Queue[claimOp, intents.Claimed]
	attaches *batch.Queue[intents.Attempt, intents.Attempt]
	results  *batch.Queue[resultOp, intents.Intent]
}

// claimOp is a claim, and the delivery that asked for it.
type claimOp struct {
	intents.Claim
	d *delivery
}

// resultOp is a decision about one intent.
type resultOp struct {
	id string
	do func(rows) (intents.Intent, error)
}

func (p *process) openQueues() {
	ctx, db := context.Background(), p.rows
	p.queues.takes = startQueue(p, "reads", func(m intents.Message) string { return m.ID },
		func(m intents.Message) (intents.Intent, error) { return db.Take(ctx, m) })
	p.queues.claims = startQueue(p, "claims", func(c claimOp) string { return c.Intent.ID },
		func(c claimOp) (intents.Claimed, error) {
			cl, err := db.Claim(ctx, c.Claim)
			if err == nil {
				p.s.claimed(c.d)
			}
			return cl, err
		})
	p.queues.attaches = startQueue(p, "attaches", func(a intents.Attempt) string { return a.Slot.String() },
		func(a intents.Attempt) (intents.Attempt, error) { return db.Attach(ctx, a) })
	p.queues.results = startQueue(p, "results", func(r resultOp) string { return r.id },
		func(r resultOp) (intents.Intent, error) { return r.do(db) })
}

func startQueue[Op, Ans any](p *process, name string, id func(Op) string, do func(Op) (Ans, error)) *batch.Queue[Op, Ans] {
	c := &committer[Op, Ans]{p: p, name: name, id: id, do: do}
	key := id
	if p.s.broken.together {
		key = func(Op) string { p.s.made++; return fmt.Sprint(p.s.made) }
	}
	q := batch.New(c, key, nil, batch.Config{
		CommitTimeout: p.s.cfg.StoreTimeout, ResolveTimeout: p.s.cfg.StoreTimeout, Repeats: 2, Jitter: func(d time.Duration) time.Duration { return d }})
	p.running.Go(q.Run)
	return q
}

func (q *queues) close() {
	q.takes.Close()
	q.claims.Close()
	q.attaches.Close()
	q.results.Close()
}

// answered turns a queue's error into one of a store's.
func answered(err error) error {
	if unsure, ok := errors.AsType[*batch.UnsureError](err); ok {
		return fmt.Errorf("%w: %w", intents.ErrUnsure, unsure.Err)
	}
	if errors.Is(err, batch.ErrClosed) {
		return errAway
	}
	return err
}
