package relayer

import (
	"context"
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// idleNumbers is how often the numbers are looked at while nothing is watched.
const idleNumbers = 15 * time.Second

// census knows when numbers were last looked at, and which signers were frozen then.
type census struct {
	at     time.Time
	behind bool // numbers are left that nobody accounts for
	frozen map[string]string
}

// number compares what the other side has used of the sender's scopes with what was given out. What cannot be told is
// told the next time: it stops no observation.
func (o *Observer) number(ctx context.Context, busy bool) {
	n, ok := o.sender.(Numbered)
	now := time.Now()
	if !ok || !busy && !o.census.behind && now.Sub(o.census.at) < idleNumbers {
		return
	}
	o.census.at, o.census.behind = now, false
	if err := o.count(ctx, n); err != nil && ctx.Err() == nil {
		o.log.WarnContext(ctx, "numbers not compared", "err", err)
	}
}

func (o *Observer) count(ctx context.Context, n Numbered) error {
	by, done, err := o.reading(ctx)
	if err != nil {
		return err
	}
	defer done()
	all, err := n.Numbers(ctx)
	if err != nil {
		calmFor(ctx, o.log, by, err)
		return err
	}
	for scope, next := range all {
		sg, err := o.witness.See(ctx, scope, next)
		if err == nil && sg.Seen > sg.Next {
			sg, err = o.account(ctx, n, sg)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", scope, err)
		}
		o.census.behind = o.census.behind || sg.Seen > sg.Next
		o.alarm(ctx, sg)
	}
	return nil
}

// account finds out what used numbers that were never given out, and keeps it. The signer is frozen already; what its
// strangers may have paid must not be paid again when a person lets it go on.
func (o *Observer) account(ctx context.Context, n Numbered, sg intents.Signer) (intents.Signer, error) {
	found, err := n.Strangers(ctx, sg.Scope, sg.Next, sg.Seen)
	if err != nil {
		o.log.WarnContext(ctx, "strangers not found", "scope", sg.Scope, "from", sg.Next, "to", sg.Seen, "err", err)
	}
	for i, f := range found {
		number := sg.Next
		if sg, err = o.witness.Account(ctx, sg.Scope, number, f, f.Evidence(number)); err != nil {
			return sg, err
		}
		o.log.WarnContext(ctx, "foreign transaction", "scope", sg.Scope, "number", number, "hash", f.Hash, "left", len(found)-i-1)
	}
	return sg, nil
}

// alarm tells once of each change.
func (o *Observer) alarm(ctx context.Context, sg intents.Signer) {
	if o.census.frozen == nil {
		o.census.frozen = map[string]string{}
	}
	switch had := o.census.frozen[sg.Scope]; {
	case had == sg.Frozen:
	case sg.Frozen != "":
		o.log.ErrorContext(ctx, "signer is frozen", "scope", sg.Scope, "why", sg.Frozen, "next", sg.Next, "chain", sg.Seen)
	default:
		o.log.InfoContext(ctx, "signer goes on", "scope", sg.Scope, "next", sg.Next)
	}
	o.census.frozen[sg.Scope] = sg.Frozen
}
