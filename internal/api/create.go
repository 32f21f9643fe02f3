package api

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// newIntent is the body of a create. What may stand in it is said by intents.Intent.Validate; here only the names.
type newIntent struct {
	ID          string            `json:"id,omitempty" doc:"The caller's name for it, and its idempotency key: must be the Idempotency-Key where it is given" example:"pi_0001"`
	Route       string            `json:"route" doc:"Which way it goes" example:"payouts"`
	Account     string            `json:"account" doc:"Whose money it is" example:"acct_1"`
	Destination string            `json:"destination" doc:"Where it goes, as the route's sender writes it"`
	Asset       string            `json:"asset" example:"ETH"`
	Amount      string            `json:"amount" doc:"Digits, in the smallest unit" example:"1000000000000000000"`
	NotBefore   time.Time         `json:"not_before,omitzero" doc:"Not to be sent before"`
	ExpiresAt   time.Time         `json:"expires_at,omitzero" doc:"Not to be sent from then on"`
	Lane        string            `json:"lane,omitempty" doc:"Intents of one lane go one after the other"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Traceparent string            `json:"traceparent,omitempty" doc:"W3C trace context"`
	Authorize   *bool             `json:"authorize,omitempty" doc:"false: it waits until it is authorized. Default true"`
}

type createInput struct {
	Key  string `header:"Idempotency-Key" doc:"Required. It is the intent's id" example:"pi_0001"`
	Body newIntent
}

type created struct {
	Location string `header:"Location"`
	Replayed string `header:"Idempotent-Replayed" doc:"true where the intent was known with the same content"`
	Body     intents.View
}

func (a *api) create(ctx context.Context, in *createInput) (*created, error) {
	want, err := in.intent()
	if err != nil {
		return nil, err
	}
	door, ok := a.cfg.Doors[in.Body.Route]
	if !ok {
		return nil, &intents.InvalidError{Field: "route", Value: in.Body.Route, Want: "a route of the relayer's settings"}
	}
	if want, err = door.Admit(want); err != nil {
		return nil, err
	}
	authorize := in.Body.Authorize == nil || *in.Body.Authorize
	got, err := a.cfg.Store.Create(ctx, want, authorize, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	out := &created{Location: "/v1/intents/" + got.ID, Body: intents.JSON(got)}
	if got.CreatedAt.Before(got.ReadAt) || !got.PrunedAt.IsZero() {
		out.Replayed = "true"
	}
	a.herald.tell(ctx, door.Topic, got)
	return out, nil
}

// intent is what is asked for, not looked at yet.
func (in *createInput) intent() (intents.Intent, error) {
	b := in.Body
	switch {
	case in.Key == "":
		return intents.Intent{}, newProblem(codeNoKey, "Idempotency-Key is required: it is the intent's id, so that a repeated request creates nothing twice")
	case b.ID != "" && b.ID != in.Key:
		return intents.Intent{}, &intents.InvalidError{Field: "id", Value: b.ID, Want: "the Idempotency-Key, or nothing"}
	}
	amount, err := intents.ParseAmount(b.Amount)
	if err != nil {
		return intents.Intent{}, err
	}
	return intents.Intent{ID: in.Key, Account: b.Account, Destination: b.Destination, Asset: b.Asset, Amount: amount, NotBefore: b.NotBefore,
		ExpiresAt: b.ExpiresAt, Lane: b.Lane, Metadata: b.Metadata, Traceparent: b.Traceparent}, nil
}

// herald tells workers of what was created. While no nsqd takes anything it leaves all to the sweeper, which would anyway.
type herald struct {
	cfg   Config
	quiet atomic.Int64 // until then, in Unix nanoseconds
}

const (
	tellFor = 2 * time.Second  // for one message
	quietly = 10 * time.Second // after one that nobody took
)

func (h *herald) tell(ctx context.Context, topic string, in intents.Intent) {
	now := h.cfg.Now()
	if h.cfg.Publisher == nil || !desk.Ripe(in) || now.UnixNano() < h.quiet.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellFor)
	defer cancel()
	if err := desk.Announce(ctx, h.cfg.Publisher, topic, in.ID); err != nil {
		h.quiet.Store(now.Add(quietly).UnixNano())
		h.cfg.Logger.WarnContext(ctx, "not published: the sweeper does it", "intent", in.ID, "err", h.cfg.Redact(err.Error()))
	}
}

var errNoPublisher = errors.New("no address of NSQ is set")
