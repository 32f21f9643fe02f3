package desk

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

// Outcome is what an order came to.
type Outcome struct {
	Intent  intents.Intent
	Seen    intents.Observation // what the other side said just before
	Again   bool                // this very order was carried out before
	ByProof bool                // what the other side said decided: nothing was left to decide
}

// Serves says whether the intent ended up as an order wanted.
func (o Outcome) Serves(v intents.Verb) bool {
	return slices.Contains(map[intents.Verb][]intents.State{
		intents.Settle: {intents.Settled},
		intents.Fail:   {intents.Failed},
		intents.Retry:  {intents.Settled, intents.Confirming, intents.Authorized},
	}[v], o.Intent.State)
}

// Decide asks the other side, and has an order carried out about the version that the person saw.
// Errors: *RefusedError, *UnansweredError, *intents.MovedError, *intents.InvalidError, *intents.TransitionError,
// intents.ErrNotFound, and those of the records.
func (c *Case) Decide(ctx context.Context, o intents.Order) (Outcome, error) {
	in := c.w.Intent
	if o.Version != in.Version { // the store says whether it was this very order, or whose
		return c.resolve(ctx, o)
	}
	after, err := c.look(ctx, &o)
	if err != nil {
		return Outcome{}, err
	}
	if after.Version != in.Version {
		if c.byProof(ctx, o) {
			return Outcome{Intent: after, Seen: o.Seen, ByProof: true}, nil
		}
		return c.resolve(ctx, o)
	}
	if o.Verb == intents.Settle {
		if err := c.confirm(ctx, &o); err != nil {
			return Outcome{}, err
		}
	}
	return c.resolve(ctx, o)
}

// look asks what became of the intent's bytes. What is proved about one in review is written: then nobody need decide.
func (c *Case) look(ctx context.Context, o *intents.Order) (in intents.Intent, err error) {
	in = c.w.Intent
	switch {
	case len(c.w.Attempts) == 0:
	case in.State == intents.NeedsReview:
		o.Seen, in, err = c.other.Look(ctx, c.w)
	case in.State == intents.Failed:
		o.Seen, err = c.other.Peek(ctx, c.w)
		if o.Verb == intents.Retry && o.Seen.Fact == intents.Final { // it happened after all (case 106)
			o.Verb, o.Ref, o.Own, o.Proved = intents.Settle, o.Seen.Ref, true, true
		}
	}
	if err != nil {
		return in, &UnansweredError{err}
	}
	return in, nil
}

// byProof says whether it was our look that moved the intent on, and not another person or process meanwhile.
func (c *Case) byProof(ctx context.Context, o intents.Order) bool {
	_, _, err := c.records.Resolve(ctx, c.w.Intent.ID, o)
	moved, ok := errors.AsType[*intents.MovedError](err)
	return ok && moved.By.Actor == c.looker && !bytes.HasPrefix(moved.By.Detail, []byte(`{"did":"review `))
}

// resolve has the order carried out.
func (c *Case) resolve(ctx context.Context, o intents.Order) (Outcome, error) {
	in, again, err := c.records.Resolve(ctx, c.w.Intent.ID, o)
	if no, ok := errors.AsType[*intents.OrderError](err); ok {
		return Outcome{}, &RefusedError{o.Verb, no}
	}
	return Outcome{Intent: in, Seen: o.Seen, Again: again}, err
}
