package simtest

import (
	"context"
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

func claimVariants() []variant {
	return []variant{
		before("version not compared", func(d *database) rows { return &staleClaim{d} }),
		before("claim id ignored", func(d *database) rows { return &anyClaim{d} }),
		before("takeover before the claim's end", func(d *database) rows { return &hasty{database: d} }),
		{"one id twice in a batch", func() broken { return broken{together: true} }},
		{"lost commit read back plainly", func() broken { return broken{plain: true} }},
		{"owner's own deadline not looked at", carefree},
		{"claim counted by the monotonic clock alone", func() broken { return broken{onConfig: monotonicOnly} }},
		{"claim counted by the wall clock alone", func() broken { return broken{onConfig: wallOnly} }},
		{"pause not looked at", func() broken { return broken{onPause: func(*sim, bool) {}} }},
		before("lane not looked at", func(d *database) rows { return &laneless{d} }),
		{"funds not looked at", func() broken { return broken{onStart: generous} }},
		{"sent again though it has no key", func() broken { return broken{onPlan: again} }},
		{"sent again though the key may be forgotten", func() broken { return broken{onPlan: againWithKey} }},
	}
}

// staleClaim gives the claim to whoever asks, whatever the row has become since it was read.
type staleClaim struct{ *database }

func (s *staleClaim) Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error) {
	cl, err := s.database.Claim(ctx, c)
	not, ok := errors.AsType[*intents.NotClaimedError](err)
	in, _ := s.Get(ctx, c.Intent.ID)
	if !ok || not.Why != intents.WhyMoved || in.State != intents.Settling || in.Stored == 0 {
		return cl, err
	}
	as, err := s.Attempts(ctx, in.ID)
	in.ClaimID = c.ID
	return intents.Claimed{Intent: in, Attempts: as}, err
}

// anyClaim takes a permission from whoever had a claim once.
type anyClaim struct{ *database }

func (a *anyClaim) Complete(ctx context.Context, cl intents.Claimed, r intents.Result) (intents.Intent, error) {
	if in, err := a.Get(ctx, cl.Intent.ID); err == nil {
		cl.Intent.ClaimID = in.ClaimID
	}
	return a.database.Complete(ctx, cl, r)
}

// hasty shows running claims as ended, and claims over them: its clock goes ahead for that moment.
type hasty struct{ *database }

func (h *hasty) Take(ctx context.Context, m intents.Message) (intents.Intent, error) {
	in, err := h.database.Take(ctx, m)
	if in.State == intents.Settling {
		in.ClaimID, in.TryAt = "", time.Time{}
	}
	return in, err
}

func (h *hasty) Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error) {
	in, err := h.Get(ctx, c.Intent.ID)
	if err == nil && in.Claimed(h.clock()) && in.Stored > 0 {
		h.ahead = in.ClaimUntil.Sub(h.clock())
		defer func() { h.ahead = 0 }()
	}
	return h.database.Claim(ctx, c)
}

// carefree owners think that their claims run for hours. The database does not.
func carefree() broken {
	var term, review time.Duration
	return broken{
		onConfig: func(c relayer.Config) relayer.Config {
			term, review = c.Term(), c.ReviewAfter
			c.PrepareTimeout, c.ReviewAfter = 10*time.Hour, 20*time.Hour
			return c
		},
		onRows: func(d *database) rows { return &termed{d, &term, &review} },
	}
}

type termed struct {
	*database
	term, review *time.Duration
}

func (t *termed) Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error) {
	c.Term = *t.term
	return t.database.Claim(ctx, c)
}

func (t *termed) Record(ctx context.Context, ws []intents.Watch, os []intents.Observation, p intents.Patience) ([]intents.Intent, error) {
	p.ReviewAfter = *t.review
	return t.database.Record(ctx, ws, os, p)
}

// laneless forgets the lanes of what comes in messages.
type laneless struct{ *database }

func (l *laneless) Take(ctx context.Context, m intents.Message) (intents.Intent, error) {
	m.Intent.Lane = ""
	return l.database.Take(ctx, m)
}

// generous accounts have what nobody posted.
func generous(s *sim) {
	if s.scene.enforced {
		funds := s.scene.funds
		s.credit(unlimited)
		s.scene.funds = funds
	}
}

// againWithKey trusts that a provider keeps its keys.
func againWithKey(p intents.Plan) intents.Plan {
	if p.Again == intents.For(relied) {
		p.Again = intents.Always
	}
	return p
}

// again plans to send the same bytes as often as it takes.
func again(p intents.Plan) intents.Plan {
	p.Again = intents.Always
	return p
}

// monotonicOnly has no wall clock: what it takes for one stands still as well while its machine sleeps.
func monotonicOnly(c relayer.Config) relayer.Config {
	now, start := c.Now, c.Now()
	c.Now = func() time.Time { return start.Round(0).Add(now().Sub(start)) }
	return c
}

// wallOnly has no monotonic clock.
func wallOnly(c relayer.Config) relayer.Config {
	now := c.Now
	c.Now = func() time.Time { return now().Round(0) }
	return c
}
