package desk

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

// Retried is what became of one of many intents that are to be sent again where that is safe.
type Retried struct {
	Intent  intents.Intent
	ByProof bool  // it ended, or was found on its way, by what the other side says
	Skipped error // why it was left alone; nil: it was moved
}

// RetrySafe sends an intent again, as it was read in a list, if the recipient knows the same bytes again. The order's verb
// and version are set here. Errors: those of reading; what stands against this one intent is told in Skipped.
func RetrySafe(ctx context.Context, r Records, other Other, looker string, in intents.Intent, o intents.Order) (Retried, error) {
	if err := in.Safe(in.ReadAt); err != nil {
		return Retried{Intent: in, Skipped: err}, nil
	}
	w, err := Read(ctx, r, in.ID)
	if err != nil {
		return Retried{Intent: in}, err
	}
	c := New(r, other, looker, w)
	o.Verb, o.Version = intents.Retry, in.Version
	if w.Intent.Version == in.Version {
		after, err := c.look(ctx, &o)
		if err != nil {
			return Retried{Intent: in, Skipped: err}, nil
		}
		if after.Version != in.Version && c.byProof(ctx, o) {
			return Retried{Intent: after, ByProof: true}, nil
		}
	}
	after, _, err := r.Resolve(ctx, in.ID, o)
	if err != nil {
		return Retried{Intent: in, Skipped: err}, nil
	}
	return Retried{Intent: after}, nil
}
