package api

import (
	"context"
	"strconv"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// named is a request about one intent.
type named struct {
	ID string `path:"id" maxLength:"64" doc:"The intent's id" example:"pi_0001"`
}

func (a *api) get(ctx context.Context, in *named) (*body[intents.View], error) {
	got, err := a.cfg.Store.Get(ctx, in.ID)
	return answer(intents.JSON(got)), err
}

func (a *api) events(ctx context.Context, in *named) (*body[page[intents.EventView]], error) {
	all, err := a.cfg.Store.Events(ctx, in.ID)
	return paged(all, len(all), intents.EventJSON, nil), err
}

func (a *api) attempts(ctx context.Context, in *named) (*body[page[intents.AttemptView]], error) {
	all, err := a.cfg.Store.Attempts(ctx, in.ID)
	return paged(all, len(all), intents.AttemptJSON, nil), err
}

func (a *api) cancel(ctx context.Context, in *named) (*body[intents.View], error) {
	got, err := desk.Cancel(ctx, a.cfg.Store, in.ID, actorOf(ctx))
	return answer(intents.JSON(got)), err
}

func (a *api) authorize(ctx context.Context, in *named) (*body[intents.View], error) {
	got, err := a.cfg.Store.Authorize(ctx, in.ID, actorOf(ctx))
	if err == nil {
		a.herald.tell(ctx, a.cfg.Doors[got.Route].Topic, got)
	}
	return answer(intents.JSON(got)), err
}

type noteInput struct {
	ID   string `path:"id" maxLength:"64" doc:"The intent's id"`
	Body struct {
		Note string `json:"note" minLength:"1" maxLength:"4096" doc:"What there is to know"`
	}
}

func (a *api) note(ctx context.Context, in *noteInput) (*body[intents.View], error) {
	if err := desk.AddNote(ctx, a.cfg.Store, in.ID, actorOf(ctx), in.Body.Note); err != nil {
		return nil, err
	}
	return a.get(ctx, &named{in.ID})
}

type listInput struct {
	Route   string    `query:"route"`
	State   []string  `query:"state,explode" enum:"created,authorized,settling,confirming,settled,failed,canceled,needs_review" doc:"May be repeated"`
	Account string    `query:"account"`
	Asset   string    `query:"asset"`
	Lane    string    `query:"lane"`
	Ref     string    `query:"ref" doc:"A transaction hash, a provider's id"`
	Since   time.Time `query:"since" doc:"Created at or after"`
	Until   time.Time `query:"until" doc:"Created before"`
	Limit   int       `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor  string    `query:"cursor" maxLength:"20" doc:"next of the page before"`
}

func (a *api) list(ctx context.Context, in *listInput) (*body[page[intents.View]], error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	all, err := a.cfg.Store.List(ctx, f)
	return paged(all, in.Limit, intents.JSON, func(last intents.Intent) string { return strconv.FormatInt(last.Key, 36) }), err
}

func (in *listInput) filter() (intents.Filter, error) {
	f := intents.Filter{Route: in.Route, Account: in.Account, Asset: in.Asset, Lane: in.Lane, Ref: in.Ref, Since: in.Since, Until: in.Until, Limit: in.Limit + 1}
	for _, name := range in.State {
		s, err := intents.ParseState(name)
		if err != nil {
			return f, err
		}
		f.States = append(f.States, s)
	}
	if in.Cursor == "" {
		return f, nil
	}
	key, err := strconv.ParseInt(in.Cursor, 36, 64)
	if err != nil || key <= 0 {
		return f, badCursor(in.Cursor)
	}
	f.Before = key
	return f, nil
}

// badCursor tells of a cursor that no page gave.
func badCursor(text string) *Problem {
	p := newProblem(codeInvalid, "cursor: want next of the page before")
	p.Errors = []Flaw{{"query.cursor", strconv.Quote(text) + " was given by no page"}}
	return p
}
