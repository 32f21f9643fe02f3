package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// What the API may answer a publisher, in words that do not change.
const (
	CodeInvalid      = "invalid"       // a value can never be right: Errors says which
	CodeOtherContent = "other_content" // the id is known with other content, or on another route
	CodeNotFound     = "not_found"     // no such intent
	CodeUnauthorized = "unauthorized"  // a token is needed, or this one is not known any more
	CodeForbidden    = "forbidden"     // the token has no scope for this
	CodeRateLimited  = "rate_limited"  // too many requests
	CodeUnavailable  = "unavailable"   // the store cannot be reached
	CodeUnsure       = "unsure"        // it is not known whether it was written
)

// ProblemError is what the API, or whatever stands before it, answered instead of an intent (RFC 9457).
type ProblemError struct {
	Status int    `json:"-"`
	Code   string `json:"code"` // empty: not the API's own answer
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Errors []Flaw `json:"errors"`

	// Final says that this was the first and only try and the API refused it: nothing was stored by it. Else an earlier try
	// may have been, or this one.
	Final bool `json:"-"`

	after time.Duration // to be left alone for so long; 0: it was not said
}

// Flaw is what is wrong with one field.
type Flaw struct {
	Location string `json:"location"` // such as body.amount
	Message  string `json:"message"`
}

func (e *ProblemError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("relayer: status %d, no answer of the API", e.Status)
	}
	return fmt.Sprintf("relayer: %s: %s", e.Code, e.Detail)
}

// Is makes it the error that the store would have returned.
func (e *ProblemError) Is(target error) bool {
	switch target {
	case intents.ErrNotFound:
		return e.Code == CodeNotFound
	case intents.ErrUnavailable:
		return e.Code == CodeUnavailable
	case intents.ErrUnsure:
		return e.Code == CodeUnsure
	}
	return false
}

// passing says whether the same may be answered otherwise soon.
func (e *ProblemError) passing() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// problem reads what was answered; of what is no problem of the API only the status counts.
func (c *Client) problem(status int, body []byte, after time.Duration) *ProblemError {
	e := &ProblemError{}
	if json.Unmarshal(body, e) != nil || e.Code == "" {
		e = &ProblemError{Title: http.StatusText(status)}
	}
	e.Status, e.after = status, after
	for _, text := range []*string{&e.Code, &e.Title, &e.Detail} {
		*text = c.hide(*text)
	}
	for i := range e.Errors {
		e.Errors[i] = Flaw{c.hide(e.Errors[i].Location), c.hide(e.Errors[i].Message)}
	}
	return e
}
