package intents

import (
	"log/slog"
	"maps"
	"time"
)

// Intent is one payment: what is to be sent where, and where it stands. Times are the database's.
type Intent struct {
	Key int64  // the store's own key, ordered in time; 0 before it is stored
	ID  string // the caller's name for it, unique; also its idempotency key

	// What is asked. Set at intake, never changed; content is compared by Hash.
	Route       string
	Account     string
	Destination string // canonical form of the route's sender
	Asset       string
	Amount      Amount
	NotBefore   time.Time // zero: at once
	ExpiresAt   time.Time // zero: never
	Lane        string    // empty: none
	Metadata    map[string]string
	Traceparent string // W3C trace context of its creation; not part of its content

	// Where it stands.
	State     State
	Version   int
	Ref       string    // transaction hash or provider id, from confirming on
	Reason    Reason    // why it failed, was canceled or is in review
	CreatedAt time.Time // when it was stored
	ChangedAt time.Time // when Version was last raised
	PrunedAt  time.Time // zero unless only its tombstone is left: id, route, state, version, ref and creation

	// What a claim took. Zero while there is none.
	Slot           Slot
	Cost           Amount    // held above the amount
	Stored         int       // attempts stored in the slot; bytes stored means: may have left
	Seen           bool      // Observe can find it
	AgainUntil     time.Time // until when the same bytes may be sent; zero: never again
	FirstClaimedAt time.Time // since it was last authorized
	ClaimID        string    // the running or last claim; empty when it was ended by a result
	ClaimUntil     time.Time
	Calls          int // claims that may have put the bytes on the wire and were not proved otherwise
	Silent         int // claims in a row that ended without a word

	// Who looks next.
	TryAt   time.Time // not to be claimed before; zero: at once
	DueAt   time.Time // when the sweeper must look; zero: never
	WatchAt time.Time // when the observer must look; zero: never

	// What the store saw beside the row when it was read.
	ReadAt time.Time // the database's clock
	Paused bool      // the route's switch is off, or nothing may be claimed at all: see Loss
}

// Held is what the intent holds in its account now: amount and cost while it is under way, else 0.
func (in Intent) Held() Amount {
	if in.State.Holds() {
		return in.Amount.Add(in.Cost)
	}
	return Amount{}
}

// Claimed says whether a claim runs at the given time of the database.
func (in Intent) Claimed(now time.Time) bool {
	return in.State == Settling && in.ClaimID != "" && now.Before(in.ClaimUntil)
}

// Expired says whether the intent is past its expiry. One without expiry never is.
func (in Intent) Expired(now time.Time) bool {
	return !in.ExpiresAt.IsZero() && !now.Before(in.ExpiresAt)
}

// MayResend says whether the bytes stored may be sent (again) at the given time. Bytes that do not exist yet may.
func (in Intent) MayResend(now time.Time) bool { return in.Stored == 0 || now.Before(in.AgainUntil) }

// ClaimsOnly says whether the stored bytes may be sent under a claim only. While the answer to the first call ever made with
// them would be believed (not sent, declined), every call must be counted before it is made, which a claim does.
func (in Intent) ClaimsOnly() bool {
	return in.Slot.Kind == Key && (in.State == Authorized || in.State == Settling)
}

// Clone gives a copy that shares no memory with in.
func (in Intent) Clone() Intent {
	in.Metadata = maps.Clone(in.Metadata)
	return in
}

// LogValue shows what identifies an intent; never its metadata.
func (in Intent) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", in.ID), slog.String("route", in.Route),
		slog.String("state", in.State.String()), slog.Int("version", in.Version))
}

// Reason says in a word why an intent failed, was canceled, or stands in review.
type Reason string

// The reasons, as they stand in SQL, logs, metrics and docs.
const (
	ReasonExpired   Reason = "expired"            // failed: past expires_at before it was claimed
	ReasonRefused   Reason = "refused"            // failed: the sender can never send it; nothing has left
	ReasonFunds     Reason = "insufficient_funds" // failed: the account could not cover it
	ReasonDeclined  Reason = "declined"           // failed: the other side declined the first call ever made
	ReasonReverted  Reason = "reverted"           // failed: executed on chain without effect
	ReasonOperator  Reason = "operator"           // canceled or resolved by a person
	ReasonUnknown   Reason = "unknown_outcome"    // review: may have happened, may not be sent again, cannot be observed
	ReasonSilent    Reason = "silent_claims"      // review: five claims in a row ended without a word
	ReasonAbandoned Reason = "review_after"       // review: not to be sent again and not seen since its first claim
	ReasonUnseen    Reason = "confirm_after"      // review: confirming for too long
	ReasonInSlot    Reason = "canceled_in_slot"   // failed: an empty use of its slot is beyond recall, so it cannot happen
	ReasonForeign   Reason = "foreign"            // review: a transaction that is not ours may have been this payment
	ReasonOddity    Reason = "contradiction"      // review: what was observed contradicts the intent
	ReasonForgotten Reason = "forgotten"          // review: the database lost what was committed, and it may have been sent
	ReasonOnce      Reason = "may_pay_twice"      // settling: a person lets its bytes be sent once more, whatever the recipient makes of it
)
