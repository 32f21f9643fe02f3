package intents

import (
	"errors"
	"fmt"
	"time"
)

// Sentinels carry no detail of their own.
var (
	// ErrNotFound: no intent of this id is known, not even as a tombstone.
	ErrNotFound = errors.New("intent not found")
	// ErrMoved: the row is no longer as the caller saw it. Read again, decide again.
	ErrMoved = errors.New("intent has moved")
	// ErrSlotClosed: the slot was proved dead or used up; no bytes may be stored in it any more.
	ErrSlotClosed = errors.New("slot is closed")
	// ErrNoSigner: the scope of a counter slot is not known to the store; it is opened at start.
	ErrNoSigner = errors.New("signer is not open")
	// ErrClaimsOnly: the bytes may be sent under a claim only, since every call with them must be counted.
	ErrClaimsOnly = errors.New("its bytes may be sent under a claim only: a worker does it when it is due")
	// ErrUnavailable: the store cannot be reached or cannot write now. Nothing was written.
	ErrUnavailable = errors.New("store is unavailable")
	// ErrUnsure: the store lost the answer to a commit and could not learn it either. Go on as after a crash.
	ErrUnsure = errors.New("the commit's answer is lost")
)

// InvalidError says that a value can never be right: which field, what it holds, what would be right.
type InvalidError struct{ Field, Value, Want string }

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: %s is invalid, want %s", e.Field, quote(e.Value), e.Want)
}

// NewerError says that a message body is of a version this program does not know yet.
type NewerError struct{ Version int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("message body of version %d is newer than us", e.Version)
}

// ConflictError says that an id is taken: by other content, or on another route.
type ConflictError struct {
	ID   string
	Why  string // "content" or "route"
	Have string // content hash or route that is stored
	Got  string // content hash or route that came
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("intent %s is known with another %s: have %s, got %s", e.ID, e.Why, e.Have, e.Got)
}

// TransitionError says that an intent cannot move as asked from where it stands.
type TransitionError struct {
	ID       string
	From, To State
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("intent %s is %s and cannot become %s", e.ID, e.From, e.To)
}

// OrderError says why a person's order is not carried out as things are, and whether there is a way.
type OrderError struct {
	Why string
	Way string // "cancel": use the slot for nothing first; "unconfirmed", "twice": the person may insist; empty: none
}

func (e *OrderError) Error() string { return e.Why }

// MovedError says that an order was about a version that is over, and what ended it.
type MovedError struct {
	ID  string
	Saw int   // the version that the person saw
	By  Event // the change that followed it
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("intent %s is past v%d: %s moved it from %s to %s at %s", e.ID, e.Saw, e.By.Actor, e.By.From, e.By.To,
		e.By.At.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// Unwrap makes it an ErrMoved.
func (e *MovedError) Unwrap() error { return ErrMoved }

// RefusedError is a sender's verdict on an intent that can never be sent as it is. Nothing has left.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "refused: " + e.Why }

// LimitedError says that the other side asks for fewer calls: not now, and the throttle is to be calmed for After.
type LimitedError struct {
	After time.Duration
	Known bool  // nothing was asked now: After is what is left of what an earlier call was told
	Err   error // what it said
}

func (e *LimitedError) Error() string {
	return fmt.Sprintf("asked for fewer calls for %s: %v", e.After.Round(time.Millisecond), e.Err)
}

// Unwrap gives what the other side said.
func (e *LimitedError) Unwrap() error { return e.Err }

// Why says what stood against a claim.
type Why string

// What can stand against a claim, in the order in which it is looked at.
const (
	WhyMoved   Why = "moved"   // state or version are no longer as read
	WhyRunning Why = "running" // another claim still runs
	WhyExpired Why = "expired" // past expires_at; the intent is failed now
	WhyNotDue  Why = "not_due" // before not_before or the next try
	WhyPaused  Why = "paused"  // the route is paused, or the database forgot what it had committed
	WhySilent  Why = "silent"  // five claims in a row ended without a word; it is in review now
	WhyAgain   Why = "again"   // its bytes must not be sent again
	WhyLane    Why = "lane"    // another intent of its lane goes first
	WhyFunds   Why = "funds"   // the account cannot cover amount and cost
	WhyFrozen  Why = "frozen"  // the signer gives out no numbers until a person looks
	WhyNoSlot  Why = "no_slot" // the signer's window is full
)

// NotClaimedError says why a claim was not had and, where that is known, until when there is no use in asking again.
type NotClaimedError struct {
	Why   Why
	Until time.Time // database clock; zero when unknown
	Scope string    // WhyFrozen, WhyNoSlot: the scope that was picked and had no number to give
}

func (e *NotClaimedError) Error() string { return "not claimed: " + string(e.Why) }

// quote shows a value in an error, cut to a length a line can bear.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
	}
	return fmt.Sprintf("%q", s)
}
