package desk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
)

// confirm finds out what is to be said for and against a reference.
func (c *Case) confirm(ctx context.Context, o *intents.Order) error {
	in := c.w.Intent
	for _, a := range c.w.Attempts {
		o.Own = o.Own || a.Name == o.Ref && a.Kind.Pays()
	}
	seen, asked := o.Seen, in.Seen && len(c.w.Attempts) > 0
	if !o.Own {
		of, ok, err := c.other.Refer(ctx, in, o.Ref)
		if _, bad := errors.AsType[*intents.InvalidError](err); bad {
			return err
		}
		if err != nil {
			return &UnansweredError{err}
		}
		if ok {
			seen, asked = of, true
		}
	}
	if asked {
		o.Proved = seen.Fact == intents.Final && strings.EqualFold(seen.Ref, o.Ref)
		o.Against = objection(seen, o.Ref)
	}
	return c.compare(ctx, o)
}

// objection is what an observation says against a reference.
func objection(seen intents.Observation, ref string) string {
	switch seen.Fact {
	case intents.Final:
		if !strings.EqualFold(seen.Ref, ref) {
			return "the other side calls it " + seen.Ref
		}
		return ""
	case intents.Included:
		return "it is not beyond recall yet: wait"
	case intents.Pending:
		return "the other side has it, but has not done it yet: wait"
	case intents.Reverted:
		return "it was executed without effect"
	case intents.Dead:
		return "it is not this payment, or can never happen: " + string(seen.Evidence)
	case intents.NotSeen:
	}
	return strings.TrimSpace("the other side does not show it " + string(seen.Evidence))
}

// compare looks whether another intent has the reference: one transaction pays one (case 103).
func (c *Case) compare(ctx context.Context, o *intents.Order) error {
	others, err := c.records.List(ctx, intents.Filter{Ref: o.Ref, States: []intents.State{intents.Confirming, intents.Settled}, Limit: 2})
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.ID != c.w.Intent.ID {
			o.Proved, o.Against = false, fmt.Sprintf("it is the reference of %s, which is %s", other.ID, other.State)
		}
	}
	return nil
}
