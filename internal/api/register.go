package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nsqrelayer/relayer/intents"
)

// register tells of every operation. The scope stands with it.
func (a *api) register() {
	get, post := http.MethodGet, http.MethodPost
	add(a, intents.ScopeSubmit, op(post, "/v1/intents", "create-intent", "Create an intent", http.StatusAccepted), a.create)
	add(a, intents.ScopeRead, op(get, "/v1/intents", "list-intents", "List intents, newest first", 0), a.list)
	add(a, intents.ScopeRead, op(get, "/v1/intents/{id}", "get-intent", "Show an intent", 0), a.get)
	add(a, intents.ScopeRead, op(get, "/v1/intents/{id}/events", "list-events", "Show an intent's timeline, oldest first", 0), a.events)
	add(a, intents.ScopeRead, op(get, "/v1/intents/{id}/attempts", "list-attempts", "Show what was stored to be sent, without the bytes", 0), a.attempts)
	add(a, intents.ScopeSubmit, op(post, "/v1/intents/{id}/cancel", "cancel-intent", "Call an intent off; certain until it is claimed", 0), a.cancel)
	add(a, intents.ScopeOperate, op(post, "/v1/intents/{id}/authorize", "authorize-intent", "Let a created intent be sent", 0), a.authorize)
	add(a, intents.ScopeOperate, op(post, "/v1/intents/{id}/notes", "note-intent", "Add a line to an intent's timeline", 0), a.note)
	add(a, intents.ScopeRead, op(get, "/v1/reviews", "list-reviews", "List what is in review, longest first", 0), a.reviews)
	add(a, intents.ScopeRead, op(get, "/v1/reviews/{id}", "get-review", "Show the evidence, what the other side says now, and what may be decided", 0), a.review)
	add(a, intents.ScopeOperate, op(post, "/v1/reviews/{id}/resolve", "resolve-review", "Decide about an intent in review, on the version that was seen", 0), a.resolve)
	add(a, intents.ScopeRead, op(get, "/v1/deadletters", "list-deadletters", "List messages that could not become intents, newest first", 0), a.letters)
	add(a, intents.ScopeRead, op(get, "/v1/deadletters/{hash}", "get-deadletter", "Show a dead letter with its body", 0), a.letter)
	add(a, intents.ScopeOperate, op(post, "/v1/deadletters/{hash}/replay", "replay-deadletter", "Publish a dead letter's body again", http.StatusAccepted), a.replay)
	add(a, intents.ScopeRead, op(get, "/v1/routes", "list-routes", "List routes and their switches", 0), a.routes)
	add(a, intents.ScopeOperate, op(post, "/v1/routes/{route}/pause", "pause-route", "Stop a route from claiming, in all processes", 0), a.pause)
	add(a, intents.ScopeOperate, op(post, "/v1/routes/{route}/resume", "resume-route", "Let a paused route claim again", 0), a.resume)
	add(a, intents.ScopeRead, op(get, "/v1/instances", "list-instances", "List the processes that work", 0), a.instances)
	add(a, intents.ScopeRead, op(get, "/v1/stats", "get-stats", "Count what is open; bounded and cached", 0), a.stats)
	a.addStream()
}

func op(method, path, id, summary string, status int) huma.Operation {
	return huma.Operation{Method: method, Path: path, OperationID: id, Summary: summary, DefaultStatus: status, MaxBodyBytes: maxBody + 1}
}

// describe completes an operation: its scope, its errors.
func (a *api) describe(scope intents.Scope, o huma.Operation) huma.Operation {
	o.Metadata = map[string]any{"scope": scope}
	o.Description = "Scope: " + string(scope) + "."
	o.Security = []map[string][]string{{"bearer": {}}}
	schema := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")
	o.Responses = map[string]*huma.Response{"default": {Description: "What went wrong", Content: map[string]*huma.MediaType{"application/problem+json": {Schema: schema}}}}
	return o
}

// add registers an operation: bounded in time, its errors as problems.
func add[I, O any](a *api, scope intents.Scope, o huma.Operation, f func(ctx context.Context, in *I) (*O, error)) {
	o = a.describe(scope, o)
	status := o.DefaultStatus
	if status == 0 {
		status = http.StatusOK
	}
	o.DefaultStatus = status
	huma.Register(a.huma, o, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, a.cfg.Timeout)
		defer cancel()
		out, err := f(ctx, in)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return out, a.problem(ctx, o.OperationID, err)
	})
}

// body is an answer.
type body[T any] struct{ Body T }

func answer[T any](v T) *body[T] { return &body[T]{v} }

// page is part of a list.
type page[T any] struct {
	Data []T    `json:"data" nullable:"false"`
	More bool   `json:"has_more" doc:"Whether more match"`
	Next string `json:"next,omitempty" doc:"The cursor of the page that follows"`
}

// paged makes a page of up to most of what was read, which is one more where more match.
func paged[T, V any](all []T, most int, view func(T) V, next func(T) string) *body[page[V]] {
	p := page[V]{Data: []V{}, More: len(all) > most}
	if p.More {
		all = all[:most]
		p.Next = next(all[most-1])
	}
	for _, one := range all {
		p.Data = append(p.Data, view(one))
	}
	return answer(p)
}
