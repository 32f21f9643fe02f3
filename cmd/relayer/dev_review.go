//go:build !lean

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// stuck is a demo intent that nobody but a person can end.
type stuck struct {
	id, to  string
	again   intents.Again // how long its bytes may be sent again
	arrives bool          // the provider gets it, and its answer is lost
	order   string        // what the payment is for
}

// stuckIntents are the three that relayer dev --demo review leaves: one happened and its answer was lost, one never
// arrived and may be sent again, of one nobody can say, and sending it again may pay twice.
func stuckIntents(run string) []stuck {
	return []stuck{
		{id: "pi_" + run + "_happened", to: "customer-anna", arrives: true, order: "the answer to this one was lost"},
		{id: "pi_" + run + "_lost", to: "customer-ben", again: intents.For(24 * time.Hour), order: "the provider accepted this one and forgot it"},
		{id: "pi_" + run + "_unclear", to: "customer-cleo", order: "nobody knows what became of this one"},
	}
}

// leaveReviews makes three intents that need a person. Their bytes are real, so that each can be sent again.
func (d *dev) leaveReviews(ctx context.Context, run string) error {
	r := d.proc.route("webhooks")
	for _, s := range stuckIntents(run) {
		if err := d.leave(ctx, r, s); err != nil {
			return fmt.Errorf("demo %s: %w", s.id, err)
		}
	}
	return nil
}

func (d *dev) leave(ctx context.Context, r *route, s stuck) error {
	cl, err := d.claimStuck(ctx, r, s)
	if err != nil {
		return err
	}
	if s.again != intents.Never { // accepted, and then nothing more of it
		in, err := d.proc.store.Complete(ctx, cl, intents.Result{Verdict: intents.Accepted, Ref: s.id, Evidence: []byte(`{"status":202,"body":{"status":"processing"}}`)})
		if err != nil {
			return err
		}
		_, err = d.proc.store.Record(ctx, []intents.Watch{{Intent: in, Slot: in.Slot}}, []intents.Observation{{Slot: in.Slot, Of: 1, Evidence: []byte(`{"status":404}`)}},
			intents.Patience{ConfirmAfter: time.Nanosecond})
		return err
	}
	if s.arrives {
		r.way.Submit(ctx, cl.Attempts[0])
	}
	_, err = d.proc.store.Complete(ctx, cl, intents.Result{Evidence: []byte(`{"error":"connection reset by peer","sent":true}`)})
	return err
}

// claimStuck has an intent claimed as a worker would, but for how often it may be sent.
func (d *dev) claimStuck(ctx context.Context, r *route, s stuck) (intents.Claimed, error) {
	in, err := d.proc.store.Create(ctx, intents.Intent{ID: s.id, Route: r.name, Account: demoAccount, Destination: s.to, Asset: "USD",
		Amount: intents.NewAmount(4200), Metadata: map[string]string{"demo": s.order}}, true, "demo")
	if err != nil {
		return intents.Claimed{}, err
	}
	plan, err := r.way.Plan(ctx, in)
	if err != nil {
		return intents.Claimed{}, err
	}
	plan.Again, plan.Seen = s.again, s.again != intents.Never
	at, err := r.way.Prepare(ctx, in, intents.Slot{Kind: intents.Key, Scope: plan.Scope, Name: in.ID}, intents.First, nil)
	at.No, at.Kind = 1, intents.First
	if err != nil {
		return intents.Claimed{}, err
	}
	return d.proc.store.Claim(ctx, intents.Claim{Intent: in, Owner: "demo", Term: time.Hour, Plan: plan, Attempt: &at})
}
