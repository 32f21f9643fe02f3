package api

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// Store is what the API needs of the store. All methods may return an error that wraps intents.ErrUnavailable.
type Store interface {
	desk.Records
	desk.Canceler
	desk.Letters
	desk.Noter
	Creator
	Office
	Fleet
	Keys
	Feeder
}

// Creator stores intents.
type Creator interface {
	// Create stores a new intent, authorized or only created. One that is known with the same content is returned as it
	// stands, and was created before it was read. Errors: *intents.ConflictError.
	Create(ctx context.Context, in intents.Intent, authorize bool, actor string) (intents.Intent, error)
	// Authorize lets a created intent be sent. Errors: intents.ErrNotFound, *intents.TransitionError.
	Authorize(ctx context.Context, id, actor string) (intents.Intent, error)
}

// Office reads what waits for a person.
type Office interface {
	// Reviews reads what is in review on a route, or on all where that is empty, longest first.
	Reviews(ctx context.Context, route string, most int) ([]intents.Intent, error)
	// DeadLettersBefore reads a page of dead letters, newest first; from the newest on where last is zero.
	DeadLettersBefore(ctx context.Context, last intents.BuriedLetter, most int) ([]intents.BuriedLetter, error)
}

// Fleet is all processes and their routes.
type Fleet interface {
	// SetPaused turns a route's switch, for every process.
	SetPaused(ctx context.Context, route string, paused bool, actor string) error
	// Routes reads every switch that was ever turned.
	Routes(ctx context.Context) ([]intents.RouteState, error)
	// Instances reads the processes that have told of themselves within a day.
	Instances(ctx context.Context) ([]intents.Instance, error)
	// CountOpen counts intents that are due some day, and looks at no more than most of them.
	CountOpen(ctx context.Context, most int) (intents.OpenCounts, error)
}

// Keys finds tokens.
type Keys interface {
	// FindToken reads the token with the hash of a secret; false where there is none that can be used.
	FindToken(ctx context.Context, hash [32]byte) (intents.Token, bool, error)
	// HasTokens says whether a token was ever made, and whether one can be used.
	HasTokens(ctx context.Context) (made, usable bool, err error)
}

// Feeder follows events.
type Feeder interface {
	// Feed reads events after a cursor, in an order in which nothing appears later before what was read, and says where to go
	// on. The zero cursor is the end. Errors: *intents.CursorError.
	Feed(ctx context.Context, from intents.Cursor, f intents.FeedFilter, most int) ([]intents.FeedEvent, intents.Cursor, error)
}
