// Package desk is what people do about intents, by whatever door they come: the command line, the HTTP API, the console.
// It asks the other side first, decides on the version that was seen, and prints nothing.
package desk

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

// Records are what is decided on.
type Records interface {
	// Get reads one intent. Errors: intents.ErrNotFound.
	Get(ctx context.Context, id string) (intents.Intent, error)
	// Attempts reads the bytes stored for it, by number. Errors: intents.ErrNotFound.
	Attempts(ctx context.Context, id string) ([]intents.Attempt, error)
	// List reads intents, newest first.
	List(ctx context.Context, f intents.Filter) ([]intents.Intent, error)
	// Resolve carries out an order about the version that the person saw. again: this very order was carried out before.
	// Errors: *intents.MovedError and *intents.InvalidError about the version, *intents.OrderError,
	// *intents.TransitionError, intents.ErrNotFound.
	Resolve(ctx context.Context, id string, o intents.Order) (in intents.Intent, again bool, err error)
}

// Other is the other side of an intent's route.
type Other interface {
	// Look asks what became of a slot, and writes what it means. Errors: it cannot be asked, or not be written.
	Look(ctx context.Context, w intents.Watch) (intents.Observation, intents.Intent, error)
	// Peek asks and writes nothing. Errors: it cannot be asked.
	Peek(ctx context.Context, w intents.Watch) (intents.Observation, error)
	// Refer asks what a reference is that a person brings; false when it cannot tell.
	// Errors: *intents.InvalidError when it can be no reference; any other: it cannot be asked.
	Refer(ctx context.Context, in intents.Intent, ref string) (intents.Observation, bool, error)
}

// Case is one intent on the desk.
type Case struct {
	records Records
	other   Other
	looker  string
	w       intents.Watch
}

// New lays an intent, as it was read, on the desk. Looker is who stands in timelines for what other writes.
func New(r Records, other Other, looker string, w intents.Watch) *Case {
	return &Case{records: r, other: other, looker: looker, w: w}
}

// Read reads an intent and the bytes stored for it. Errors: intents.ErrNotFound.
func Read(ctx context.Context, r interface {
	Get(ctx context.Context, id string) (intents.Intent, error)
	Attempts(ctx context.Context, id string) ([]intents.Attempt, error)
}, id string) (intents.Watch, error) {
	in, err := r.Get(ctx, id)
	if err != nil {
		return intents.Watch{}, err
	}
	as, err := r.Attempts(ctx, id)
	return intents.Watch{Intent: in, Slot: in.Slot, Attempts: as}, err
}
