package desk

import (
	"context"
	"errors"

	"github.com/nsqrelayer/relayer/intents"
)

// Deed is something that may be done about an intent.
type Deed string

// The deeds. The first three are verbs of an order.
const (
	Settle Deed = Deed(intents.Settle)
	Fail   Deed = Deed(intents.Fail)
	Retry  Deed = Deed(intents.Retry)
	Drop   Deed = "cancel" // use the slot for nothing, so that the payment cannot take it
	Note   Deed = "note"
)

// Choice is a deed, and whether it may be done on the version shown.
type Choice struct {
	Do      Deed
	Refused bool
	Twice   bool   // only with MayPayTwice
	Why     string // why it is refused, or what there is to know
}

// Peek asks the other side what became of the intent's bytes, and writes nothing; asked is false where there are none.
// Errors: *UnansweredError.
func (c *Case) Peek(ctx context.Context) (seen intents.Observation, asked bool, err error) {
	if len(c.w.Attempts) == 0 {
		return intents.Observation{}, false, nil
	}
	if seen, err = c.other.Peek(ctx, c.w); err != nil {
		return seen, true, &UnansweredError{err}
	}
	return seen, true, nil
}

// Choices are what may be decided about an intent after what was seen of its slot, by the rules that the store decides by.
// Nothing is offered for one that is on its way.
func Choices(in intents.Intent, seen intents.Observation) []Choice {
	all := []Choice{}
	if in.State != intents.NeedsReview && in.State != intents.Failed {
		return all
	}
	for _, v := range []intents.Verb{intents.Settle, intents.Fail, intents.Retry} {
		o := intents.Order{Verb: v, Version: in.Version, Actor: "-", Reason: "-", Ref: "-", Seen: seen, Own: true, Proved: true}
		_, err := intents.Resolve(in, o, in.ReadAt)
		no, refused := errors.AsType[*intents.OrderError](err)
		switch {
		case err == nil:
			all = append(all, Choice{Do: Deed(v)})
		case refused && no.Way == "twice":
			all = append(all, Choice{Do: Deed(v), Twice: true, Why: no.Why})
		case refused:
			all = append(all, Choice{Do: Deed(v), Refused: true, Why: no.Why})
		}
	}
	if in.Alive(seen) {
		all = append(all, Choice{Do: Drop, Why: "uses the slot for nothing; decide when that is beyond recall"})
	}
	return append(all, Choice{Do: Note})
}
