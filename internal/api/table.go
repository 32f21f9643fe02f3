package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// code says in a word what went wrong. It never changes; docs/api.md explains each.
type code string

const (
	codeBadRequest  code = "bad_request"
	codeNoKey       code = "no_idempotency_key"
	codeInvalid     code = "invalid"
	codeContent     code = "other_content"
	codeNotFound    code = "not_found"
	codeNoResource  code = "no_resource"
	codeAmbiguous   code = "ambiguous"
	codePruned      code = "pruned"
	codeTooLate     code = "too_late"
	codeState       code = "wrong_state"
	codeMoved       code = "moved"
	codeRefused     code = "refused"
	codeCut         code = "cut"
	codeStillDead   code = "still_dead"
	codeCursor      code = "cursor_ahead"
	codeOther       code = "other_side"
	codeUnavailable code = "unavailable"
	codeUnsure      code = "unsure"
	codeSlow        code = "too_slow"
	codeToken       code = "unauthorized"
	codeScope       code = "forbidden"
	codeHost        code = "wrong_host"
	codeType        code = "wrong_content_type"
	codeTooLarge    code = "too_large"
	codeLimit       code = "rate_limited"
	codeStreams     code = "too_many_streams"
	codeInternal    code = "internal"
)

// kind is what all problems of a code share.
type kind struct {
	status int
	title  string
	retry  int // seconds; 0: nothing is said
}

var kinds = map[code]kind{
	codeBadRequest:  {http.StatusBadRequest, "The request cannot be read", 0},
	codeNoKey:       {http.StatusBadRequest, "The Idempotency-Key is missing", 0},
	codeInvalid:     {http.StatusUnprocessableEntity, "A value can never be right", 0},
	codeContent:     {http.StatusUnprocessableEntity, "The id is known with other content", 0},
	codeNotFound:    {http.StatusNotFound, "There is no such thing", 0},
	codeNoResource:  {http.StatusNotFound, "There is no such resource or method", 0},
	codeAmbiguous:   {http.StatusConflict, "Several match", 0},
	codePruned:      {http.StatusGone, "Only a tombstone is left", 0},
	codeTooLate:     {http.StatusConflict, "It was claimed before it could be called off", 0},
	codeState:       {http.StatusConflict, "It cannot move so from where it stands", 0},
	codeMoved:       {http.StatusConflict, "It has moved since it was looked at", 0},
	codeRefused:     {http.StatusConflict, "The order is refused as things are", 0},
	codeCut:         {http.StatusConflict, "The body was not kept as a whole", 0},
	codeStillDead:   {http.StatusConflict, "It would be dead again", 0},
	codeCursor:      {http.StatusGone, "The database has not come so far", 0},
	codeOther:       {http.StatusBadGateway, "The other side cannot be asked", 5},
	codeUnavailable: {http.StatusServiceUnavailable, "The store cannot be reached", 1},
	codeUnsure:      {http.StatusServiceUnavailable, "It is not known whether it was written", 1},
	codeSlow:        {http.StatusServiceUnavailable, "It took too long", 1},
	codeToken:       {http.StatusUnauthorized, "A token is needed", 0},
	codeScope:       {http.StatusForbidden, "The token may not do this", 0},
	codeHost:        {http.StatusForbidden, "The Host header names another machine", 0},
	codeType:        {http.StatusUnsupportedMediaType, "The body must be JSON", 0},
	codeTooLarge:    {http.StatusRequestEntityTooLarge, "The body is too large", 0},
	codeLimit:       {http.StatusTooManyRequests, "Too many requests", 0},
	codeStreams:     {http.StatusServiceUnavailable, "Too many streams are open", 10},
	codeInternal:    {http.StatusInternalServerError, "Something unexpected went wrong", 0},
}

// row maps a kind of error to a problem; nil where the error is of another kind.
type row func(error) *Problem

// is maps a sentinel.
func is(target error, c code) row {
	return func(err error) *Problem {
		if !errors.Is(err, target) {
			return nil
		}
		return newProblem(c, err.Error())
	}
}

// of maps a type; more adds what else is to be told.
func of[E error](c code, more func(E, *Problem)) row {
	return func(err error) *Problem {
		e, ok := errors.AsType[E](err)
		if !ok {
			return nil
		}
		p := newProblem(c, err.Error())
		if more != nil {
			more(e, p)
		}
		return p
	}
}

// table is how errors are answered. The first row that fits counts: those that wrap others stand first.
var table = []row{
	own,
	is(context.DeadlineExceeded, codeSlow),
	is(intents.ErrUnavailable, codeUnavailable),
	is(intents.ErrUnsure, codeUnsure),
	of[*desk.UnansweredError](codeOther, nil),
	of(codeRefused, func(e *desk.RefusedError, p *Problem) { p.Way = ways[e.Order.Way] }),
	of(codeTooLate, func(e *desk.LateError, p *Problem) { p.By = by(e.By) }),
	of(codeMoved, func(e *intents.MovedError, p *Problem) { p.By = by(e.By) }),
	of[*desk.CutError](codeCut, nil),
	of[*desk.BadLetterError](codeStillDead, nil),
	of[*desk.TakenError](codeStillDead, nil),
	letter,
	of[*intents.ConflictError](codeContent, nil),
	of[*intents.PrunedError](codePruned, nil),
	of[*intents.TransitionError](codeState, nil),
	of[*intents.CursorError](codeCursor, nil),
	is(intents.ErrNotFound, codeNotFound),
	invalid,
}

// ways are the fields of an order with which a person may insist.
var ways = map[string]string{"cancel": "cancel", "unconfirmed": "unconfirmed", "twice": "may_pay_twice"}

func own(err error) *Problem {
	p, _ := errors.AsType[*Problem](err)
	return p
}

func by(e intents.Event) *intents.EventView {
	if e.Version == 0 {
		return nil
	}
	v := intents.EventJSON(e)
	return &v
}

func letter(err error) *Problem {
	e, ok := errors.AsType[*desk.LetterError](err)
	switch {
	case !ok:
		return nil
	case e.Found == 0:
		return newProblem(codeNotFound, err.Error())
	}
	return newProblem(codeAmbiguous, err.Error())
}

// invalid tells of every field that is wrong.
func invalid(err error) *Problem {
	var p *Problem
	for _, part := range parts(err) {
		if e, ok := errors.AsType[*intents.InvalidError](part); ok {
			if p == nil {
				p = newProblem(codeInvalid, err.Error())
			}
			p.Errors = append(p.Errors, Flaw{"body." + e.Field, e.Error()})
		}
	}
	return p
}

// parts takes joined errors apart.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// problem is how an error is answered: without secrets, and what nobody expected only in the log.
func (a *api) problem(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	for _, row := range table {
		if p := row(err); p != nil {
			p.Detail = a.cfg.Redact(p.Detail)
			for i := range p.Errors {
				p.Errors[i].Message = a.cfg.Redact(p.Errors[i].Message)
			}
			return p
		}
	}
	a.cfg.Logger.ErrorContext(ctx, "api", "operation", op, "err", a.cfg.Redact(err.Error()))
	return newProblem(codeInternal, "the log of the relayer says what")
}
