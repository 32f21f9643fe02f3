package simtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// face is the store as the engine of one process sees it: gates before and after the queues, and one gate at each call
// that is not batched.
type face struct{ p *process }

// stop stands at a gate of the store.
func (f face) stop(ctx context.Context, call, what string, menu ...fault) (verdict, error) {
	a := actorOf(ctx)
	return a.of.s.hall.pass(ctx, &gate{by: a.name, call: call, what: what, of: a.of, menu: menu})
}

// batched stands before a queue, goes through it, and stands behind it: there the caller may die, or wait long, with an
// answer that it has not seen yet.
func batched[T any](ctx context.Context, f face, call, what string, do func() (T, error)) (out T, err error) {
	v, err := f.stop(ctx, call, what, callAway)
	if err == nil && v.fault == callAway {
		err = errAway
	}
	if err != nil {
		return out, err
	}
	out, err = do()
	a := actorOf(ctx)
	_, _ = a.of.s.hall.pass(ctx, &gate{by: a.name, call: "answer", what: brief(err), of: a.of, sure: true})
	return out, answered(err)
}

// direct is a call that is a commit of its own.
func direct[T any](ctx context.Context, f face, call, what string, do func() (T, error)) (out T, err error) {
	v, err := f.stop(ctx, call, what, callAway, lateAnswer)
	switch {
	case err != nil:
		return out, err
	case v.fault == callAway:
		return out, errAway
	}
	out, err = do()
	if v.fault == lateAnswer {
		var none T
		return none, errAway
	}
	return out, err
}

func brief(err error) string {
	if err == nil {
		return "ok"
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// Take reads or creates an intent. Now and then it shows a state that only a newer version knows.
func (f face) Take(ctx context.Context, m intents.Message) (intents.Intent, error) {
	in, err := batched(ctx, f, "take", m.ID, func() (intents.Intent, error) { return f.p.queues.takes.Do(ctx, m) })
	if err == nil && f.p.s.newer[in.ID] {
		in.State = newerState
	}
	return in, err
}

// newerState is one that this version does not know.
const newerState intents.State = 99

// Claim claims. The claim's id is replaced by one that replays.
func (f face) Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error) {
	a := actorOf(ctx)
	a.d.claims++
	c.ID = fmt.Sprintf("%s-c%d", a.name, a.d.claims)
	a.d.asked = time.Now()
	return batched(ctx, f, "claim", c.Intent.ID, func() (intents.Claimed, error) {
		return f.p.queues.claims.Do(ctx, claimOp{c, a.d})
	})
}

// Attach stores bytes.
func (f face) Attach(ctx context.Context, at intents.Attempt) (intents.Attempt, error) {
	return batched(ctx, f, "attach", at.Slot.String(), func() (intents.Attempt, error) { return f.p.queues.attaches.Do(ctx, at) })
}

// result hands a decision to the queue of results.
func (f face) result(ctx context.Context, call string, id string, do func(rows) (intents.Intent, error)) (intents.Intent, error) {
	return batched(ctx, f, call, id, func() (intents.Intent, error) { return f.p.queues.results.Do(ctx, resultOp{id, do}) })
}

// Complete writes a result.
func (f face) Complete(ctx context.Context, cl intents.Claimed, r intents.Result) (intents.Intent, error) {
	return f.result(ctx, "complete "+r.Verdict.String(), cl.Intent.ID, func(db rows) (intents.Intent, error) {
		was := f.p.s.monitor.last[cl.Intent.ID]
		in, err := db.Complete(context.Background(), cl, r)
		f.p.s.monitor.told(was, cl, r)
		return in, err
	})
}

// Park postpones an intent.
func (f face) Park(ctx context.Context, in intents.Intent, wait time.Duration) error {
	_, err := f.result(ctx, "park", in.ID, func(db rows) (intents.Intent, error) {
		return in, db.Park(context.Background(), in, wait)
	})
	return err
}

// Refuse fails an intent.
func (f face) Refuse(ctx context.Context, in intents.Intent, reason intents.Reason, detail []byte) (intents.Intent, error) {
	return f.result(ctx, "refuse", in.ID, func(db rows) (intents.Intent, error) {
		return db.Refuse(context.Background(), in, reason, detail)
	})
}

// Bury keeps a dead letter.
func (f face) Bury(ctx context.Context, l intents.DeadLetter) error {
	_, err := direct(ctx, f, "bury", l.Reason, func() (int, error) {
		return 0, f.p.rows.Bury(ctx, l)
	})
	return err
}

// Ping asks whether the store can be written to.
func (f face) Ping(ctx context.Context) error {
	_, err := direct(ctx, f, "ping", "", func() (int, error) { return 0, nil })
	return err
}

// Watches lists slots to look at.
func (f face) Watches(ctx context.Context, route string, most int) ([]intents.Watch, error) {
	return direct(ctx, f, "watches", "", func() ([]intents.Watch, error) { return f.p.rows.Watches(ctx, route, most) })
}

// Record writes observations.
func (f face) Record(ctx context.Context, ws []intents.Watch, os []intents.Observation, p intents.Patience) ([]intents.Intent, error) {
	return direct(ctx, f, "record", shown(ws, os), func() ([]intents.Intent, error) {
		return f.p.rows.Record(context.Background(), ws, os, p)
	})
}

func shown(ws []intents.Watch, os []intents.Observation) string {
	var b strings.Builder
	for i, o := range os {
		fmt.Fprintf(&b, "%s#%d=%s ", ws[i].Intent.ID, o.No, o.Fact)
	}
	return b.String()
}

// See tells a signer's next number.
func (f face) See(ctx context.Context, scope string, next int64) (intents.Signer, error) {
	return direct(ctx, f, "see", fmt.Sprint(next), func() (intents.Signer, error) { return f.p.rows.See(ctx, scope, next) })
}

// Account keeps what a stranger used.
func (f face) Account(ctx context.Context, scope string, number int64, x intents.Foreign, detail []byte) (intents.Signer, error) {
	return direct(ctx, f, "account", scope, func() (intents.Signer, error) { return f.p.rows.Account(ctx, scope, number, x, detail) })
}

// Lead takes a lease.
func (f face) Lead(ctx context.Context, name, owner string, term time.Duration) (bool, error) {
	return direct(ctx, f, "lead", name, func() (bool, error) { return f.p.rows.Lead(ctx, name, owner, term) })
}

// Sweep decides on what is due.
func (f face) Sweep(ctx context.Context, route string, most int) ([]intents.Intent, error) {
	return direct(ctx, f, "sweep", "", func() ([]intents.Intent, error) { return f.p.rows.Sweep(context.Background(), route, most) })
}

// Waiting tells what nobody looked at.
func (f face) Waiting(ctx context.Context, ins []intents.Intent) ([]intents.Intent, error) {
	return direct(ctx, f, "waiting", "", func() ([]intents.Intent, error) { return f.p.rows.Waiting(ctx, ins) })
}

// read gives an intent and its bytes to a person.
func (f face) read(ctx context.Context, id string) (intents.Watch, error) {
	return direct(ctx, f, "read", id, func() (intents.Watch, error) {
		if _, pruned := f.p.s.db.tombs[id]; pruned {
			return intents.Watch{}, intents.ErrNotFound
		}
		in, err := f.p.s.db.Get(ctx, id)
		as, err2 := f.p.s.db.Attempts(ctx, id)
		return intents.Watch{Intent: in, Slot: in.Slot, Attempts: as}, errors.Join(err, err2)
	})
}

// Resolve carries out a person's order; again: this very one was carried out before.
func (f face) Resolve(ctx context.Context, id string, o intents.Order) (again bool, err error) {
	return direct(ctx, f, "resolve", id+" "+string(o.Verb), func() (bool, error) {
		f.p.s.db.lock()
		was := f.p.s.monitor.last[id]
		_, again, err := f.p.rows.Resolve(ctx, id, o)
		f.p.s.monitor.ordered(was, o, again)
		return again, err
	})
}
