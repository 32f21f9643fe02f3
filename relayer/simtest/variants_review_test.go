package simtest

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

func reviewVariants() []variant {
	return []variant{
		ordering("version of the order not compared", func(in intents.Intent, o *intents.Order) { o.Version = in.Version }),
		ordering("failed while its slot is open with bytes", func(in intents.Intent, o *intents.Order) {
			if o.Verb == intents.Fail && in.Slot.Kind != intents.Key {
				o.Seen = intents.Observation{Slot: in.Slot, Of: in.Stored, Fact: intents.Dead}
			}
		}),
		ordering("failed though the other side has it", func(in intents.Intent, o *intents.Order) {
			if o.Verb == intents.Fail && in.Slot.Kind == intents.Key {
				o.Seen = intents.Observation{}
			}
		}),
		ordering("settled though nobody confirms it", func(_ intents.Intent, o *intents.Order) { o.Against = "" }),
		ordering("sent once more without a word that it may pay twice", func(_ intents.Intent, o *intents.Order) { o.MayPayTwice = true }),
	}
}

// ordering makes a variant that changes orders on their way to the rule that decides about them.
func ordering(name string, change func(in intents.Intent, o *intents.Order)) variant {
	return before(name, func(d *database) rows { return &swayed{d, change} })
}

// swayed takes an order for another.
type swayed struct {
	*database
	change func(in intents.Intent, o *intents.Order)
}

func (s *swayed) Resolve(ctx context.Context, id string, o intents.Order) (intents.Intent, bool, error) {
	if in, err := s.Get(ctx, id); err == nil {
		s.change(in, &o)
	}
	return s.database.Resolve(ctx, id, o)
}
