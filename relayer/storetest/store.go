// Package storetest is the one suite both stores must pass: the model in memory and Postgres.
package storetest

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// Store is everything a store of the relayer can do: what the engine asks of it, and what operators do.
type Store interface {
	relayer.Store
	relayer.Desk
	relayer.Witness
	relayer.Due
	Operator
}

// Operator is what people and programs do beside the engine. Errors of relayer.Store apply.
type Operator interface {
	// Create stores a new intent, authorized or only created; it is read when it is created. One that is known with the
	// same content is returned as it stands. Errors: *intents.ConflictError.
	Create(ctx context.Context, in intents.Intent, authorize bool, actor string) (intents.Intent, error)
	// Authorize lets a created intent be sent; one that is authorized already is returned. Errors: intents.ErrNotFound, *intents.TransitionError.
	Authorize(ctx context.Context, id, actor string) (intents.Intent, error)
	// Cancel calls an intent off. Errors: intents.ErrNotFound, *intents.TransitionError once it was claimed.
	Cancel(ctx context.Context, id, actor string) (intents.Intent, error)
	// Get reads one intent. Errors: intents.ErrNotFound.
	Get(ctx context.Context, id string) (intents.Intent, error)
	// List reads intents, newest first.
	List(ctx context.Context, f intents.Filter) ([]intents.Intent, error)
	// Events reads an intent's timeline, oldest first. Errors: intents.ErrNotFound.
	Events(ctx context.Context, id string) ([]intents.Event, error)
	// Attempts reads the bytes stored for an intent, by number. Errors: intents.ErrNotFound.
	Attempts(ctx context.Context, id string) ([]intents.Attempt, error)
	// Count counts the intents of a route by state; of all routes when it is empty.
	Count(ctx context.Context, route string) (map[intents.State]int, error)
	// SetPaused turns a route's switch; what waits in the route is due at once when it is turned off.
	SetPaused(ctx context.Context, route string, paused bool, actor string) error
	// Routes reads every switch that was ever turned.
	Routes(ctx context.Context) ([]intents.RouteState, error)
	// Credit posts an amount to an account, once for each reference, and enforces the account from then on.
	// Errors: *intents.ConflictError (Why "ref") when the reference was used with another amount.
	Credit(ctx context.Context, e intents.Entry) (intents.Account, error)
	// Accounts reads an account in all its assets; all accounts when it is empty.
	Accounts(ctx context.Context, account string) ([]intents.Account, error)
	// OpenSigner makes a counter scope known with the chain's next number, or compares the two: it freezes the scope when
	// the chain is ahead of the numbers given out. It returns the signer as it stands.
	OpenSigner(ctx context.Context, s intents.Signer) (intents.Signer, error)
	// Freeze stops a signer by a person's order: no number is given out. Errors: intents.ErrNoSigner.
	Freeze(ctx context.Context, scope, reason, actor string) (intents.Signer, error)
	// Unfreeze lets a signer give out numbers again, above all that the chain has used. Errors: intents.ErrNoSigner.
	Unfreeze(ctx context.Context, scope, reason, actor string) (intents.Signer, error)
	// Note adds a line to an intent's timeline about what a person did. Errors: intents.ErrNotFound.
	Note(ctx context.Context, id, actor string, detail []byte) error
	// Resolve carries out a person's order about the version that the person saw, as intents.Resolve decides. again says
	// that this very order was carried out before. Errors: *intents.MovedError and *intents.InvalidError about the version,
	// *intents.OrderError, *intents.TransitionError, intents.ErrNotFound.
	Resolve(ctx context.Context, id string, o intents.Order) (in intents.Intent, again bool, err error)
	// Reviews reads what is in review on a route, or on all where that is empty, longest first.
	Reviews(ctx context.Context, route string, most int) ([]intents.Intent, error)
	// Prune leaves a tombstone of each intent that has been final for long enough, oldest first; of it only what
	// intents.Tombstone keeps is known, and what is ordered about it is a *intents.PrunedError. told may be nil.
	Prune(ctx context.Context, p intents.Prune, told func(more int)) (intents.Pruned, error)
	// Signers reads every counter scope.
	Signers(ctx context.Context) ([]intents.Signer, error)
	// DeadLetters reads dead letters, newest first, and how often each came.
	DeadLetters(ctx context.Context, most int) ([]intents.BuriedLetter, error)
	// FindDeadLetters reads dead letters whose hash, in hexadecimal digits, begins as given, newest first.
	FindDeadLetters(ctx context.Context, start string, most int) ([]intents.BuriedLetter, error)
	// Audit compares sums with what they are derived from and says what does not add up; nothing when all does.
	Audit(ctx context.Context) ([]string, error)
	// Inspect makes every check that is asked for, in one snapshot, and says what each came to, in order.
	Inspect(ctx context.Context, a intents.Audit) ([]intents.Audited, error)
}
