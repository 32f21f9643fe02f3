package simtest

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

func resultVariants() []variant {
	return []variant{
		before("facts fenced", func(d *database) rows { return &fenced{d} }),
		before("a decline believed after an earlier call", func(d *database) rows { return &credulous{d} }),
		before("hold released on unknown", func(d *database) rows { return &released{d} }),
		{"silence taken for not sent", func() broken { return broken{onResult: silenceIs(intents.NotSent)} }},
		{"silence taken for a decline", func() broken { return broken{onResult: silenceIs(intents.Declined)} }},
		{"silence taken for done", func() broken { return broken{onResult: silenceIs(intents.Done)} }},
		before("expiry looked at after the claim", func(d *database) rows { return &lateExpiry{d} }),
	}
}

// fenced believes facts only from who holds the claim.
type fenced struct{ *database }

func (f *fenced) Complete(ctx context.Context, cl intents.Claimed, r intents.Result) (intents.Intent, error) {
	in, err := f.Get(ctx, cl.Intent.ID)
	if err == nil && in.ClaimID != cl.Intent.ClaimID {
		return in, intents.ErrMoved
	}
	return f.database.Complete(ctx, cl, r)
}

// credulous fails what is declined, whatever was sent before.
type credulous struct{ *database }

func (c *credulous) Complete(ctx context.Context, cl intents.Claimed, r intents.Result) (intents.Intent, error) {
	out, err := c.database.Complete(ctx, cl, r)
	if in, _ := c.Get(ctx, cl.Intent.ID); err == nil && r.Verdict == intents.Declined && in.State == intents.Settling {
		c.dead(ctx, in, intents.Reverted)
	}
	return out, err
}

// released lets an intent go whose call nobody answered.
type released struct{ *database }

func (r *released) Complete(ctx context.Context, cl intents.Claimed, res intents.Result) (intents.Intent, error) {
	if res.Verdict == intents.Unknown {
		res.Verdict = intents.NotSent
	}
	return r.database.Complete(ctx, cl, res)
}

func silenceIs(v intents.Verdict) func(intents.Result) intents.Result {
	return func(r intents.Result) intents.Result {
		if r.Verdict == intents.Unknown {
			r.Verdict = v
		}
		return r
	}
}

// lateExpiry fails what has expired, also when its bytes may have left.
type lateExpiry struct{ *database }

func (l *lateExpiry) Sweep(ctx context.Context, route string, most int) ([]intents.Intent, error) {
	for _, id := range l.s.ids() {
		in, err := l.Get(ctx, id)
		if err == nil && in.State == intents.Settling && in.Expired(in.ReadAt) {
			l.dead(ctx, in, intents.Reverted)
		}
	}
	return l.database.Sweep(ctx, route, most)
}
