package api

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

type reviewsInput struct {
	Route string `query:"route"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
}

func (a *api) reviews(ctx context.Context, in *reviewsInput) (*body[page[intents.View]], error) {
	all, err := a.cfg.Store.Reviews(ctx, in.Route, in.Limit+1)
	return paged(all, in.Limit, intents.JSON, func(intents.Intent) string { return "" }), err
}

type reviewInput struct {
	ID  string `path:"id" maxLength:"64" doc:"The intent's id"`
	Ask bool   `query:"ask" default:"true" doc:"Whether the other side is asked"`
}

// reviewPage is a review as it is shown.
type reviewPage struct {
	Intent   intents.View          `json:"intent"`
	Events   []intents.EventView   `json:"events"`
	Attempts []intents.AttemptView `json:"attempts"`
	Now      *sighting             `json:"now,omitempty" doc:"What the other side says; none: it was not asked"`
	Choices  []choice              `json:"choices" doc:"What may be decided on this version"`
}

// sighting is an observation, or why there is none.
type sighting struct {
	Fact     string          `json:"fact,omitempty"`
	Attempt  int             `json:"attempt,omitempty" doc:"The one it speaks of"`
	Ref      string          `json:"ref,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// choice is a deed, and whether it may be done.
type choice struct {
	Do      string `json:"do" enum:"settle,fail,retry,cancel,note" doc:"settle, fail and retry are verbs of resolve; cancel is relayer attempt cancel"`
	Allowed bool   `json:"allowed"`
	Twice   bool   `json:"may_pay_twice,omitempty" doc:"Only with may_pay_twice"`
	Why     string `json:"why,omitempty"`
}

func (a *api) review(ctx context.Context, in *reviewInput) (*body[reviewPage], error) {
	w, err := desk.Read(ctx, a.cfg.Store, in.ID)
	if err != nil {
		return nil, err
	}
	events, err := a.cfg.Store.Events(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	p := reviewPage{Intent: intents.JSON(w.Intent), Events: []intents.EventView{}, Attempts: []intents.AttemptView{}, Choices: []choice{}}
	for _, e := range events {
		p.Events = append(p.Events, intents.EventJSON(e))
	}
	for _, at := range w.Attempts {
		p.Attempts = append(p.Attempts, intents.AttemptJSON(at))
	}
	var seen intents.Observation
	if in.Ask {
		p.Now, seen = a.peek(ctx, w)
	}
	for _, c := range desk.Choices(w.Intent, seen) {
		p.Choices = append(p.Choices, choice{string(c.Do), !c.Refused, c.Twice, c.Why})
	}
	return answer(p), nil
}

// peek asks the other side; nothing is told where no bytes were stored.
func (a *api) peek(ctx context.Context, w intents.Watch) (*sighting, intents.Observation) {
	other, err := a.cfg.Other(ctx, w.Intent.Route)
	var seen intents.Observation
	asked := true
	if err == nil {
		seen, asked, err = desk.New(a.cfg.Store, other, a.cfg.Looker, w).Peek(ctx)
	}
	switch {
	case err != nil:
		if no, ok := errors.AsType[*desk.UnansweredError](err); ok {
			err = no.Err
		}
		return &sighting{Error: a.cfg.Redact(err.Error())}, seen
	case !asked:
		return nil, seen
	}
	s := &sighting{Fact: seen.Fact.String(), Attempt: seen.No, Ref: seen.Ref}
	if json.Valid(seen.Evidence) {
		s.Evidence = seen.Evidence
	}
	return s, seen
}

type resolveInput struct {
	ID   string `path:"id" maxLength:"64" doc:"The intent's id"`
	Body struct {
		Verb        string `json:"verb" enum:"settle,fail,retry" doc:"settle: it happened. fail: it did not and cannot. retry: the same bytes again, in the same slot"`
		Version     int    `json:"version" minimum:"1" doc:"The version that you saw"`
		Reason      string `json:"reason" minLength:"1" maxLength:"4096" doc:"Why; it stands in the timeline with the token's name"`
		Ref         string `json:"ref,omitempty" maxLength:"256" doc:"settle: what shows that it happened"`
		Unconfirmed bool   `json:"unconfirmed,omitempty" doc:"settle: although the other side does not confirm the reference"`
		MayPayTwice bool   `json:"may_pay_twice,omitempty" doc:"retry: also where it may have been paid already"`
	}
}

// resolved is what an order came to.
type resolved struct {
	Intent  intents.View `json:"intent"`
	Again   bool         `json:"already_resolved" doc:"This very order was carried out before"`
	ByProof bool         `json:"by_proof" doc:"The other side was asked first, and its answer decided: nothing was left to decide"`
	Served  bool         `json:"served" doc:"Whether the intent ended up as the order wanted"`
	Seen    string       `json:"seen,omitempty" doc:"What the other side said"`
}

func (a *api) resolve(ctx context.Context, in *resolveInput) (*body[resolved], error) {
	w, err := desk.Read(ctx, a.cfg.Store, in.ID)
	if err != nil {
		return nil, err
	}
	other, err := a.cfg.Other(ctx, w.Intent.Route)
	if err != nil {
		return nil, &desk.UnansweredError{Err: err}
	}
	b := in.Body
	o := intents.Order{Verb: intents.Verb(b.Verb), Version: b.Version, Actor: actorOf(ctx), Reason: b.Reason, Ref: b.Ref, Unconfirmed: b.Unconfirmed, MayPayTwice: b.MayPayTwice}
	out, err := desk.New(a.cfg.Store, other, a.cfg.Looker, w).Decide(ctx, o)
	if err != nil {
		return nil, err
	}
	r := resolved{Intent: intents.JSON(out.Intent), Again: out.Again, ByProof: out.ByProof, Served: !out.ByProof || out.Serves(o.Verb)}
	if out.Seen.Of > 0 {
		r.Seen = out.Seen.Fact.String()
	}
	return answer(r), nil
}
