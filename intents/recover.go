package intents

import (
	"encoding/json"
	"time"
)

// Loss is that the database has forgotten what it had committed: a standby was promoted that lacked it, or a backup was
// restored. From when it is noticed until a person has recovered, nothing is claimed.
type Loss struct {
	NoticedAt time.Time
	NoticedBy string
	Missing   string // what was not there any more, or who says so
}

// LostError says that the database has forgotten what it had committed.
type LostError struct{ Loss }

func (e *LostError) Error() string {
	return "the database has forgotten what it had committed, nothing is claimed: " + e.Missing + " (noticed by " + e.NoticedBy + " at " +
		e.NoticedAt.UTC().Format("2006-01-02T15:04:05.000Z") + "); relayer recover --since TIME goes on"
}

// Recall is a person's word about a loss.
type Recall struct {
	Since time.Time // commits after it may be missing
	Actor string
	// Spared are the routes of which nothing goes to a person: their recipients know a payment again by its key.
	Spared []string
}

// Check says what a recall lacks. Errors: *InvalidError.
func (r Recall) Check(noticed time.Time) error {
	value := ""
	if !r.Since.IsZero() {
		value = r.Since.UTC().Format(time.RFC3339)
	}
	switch {
	case r.Since.IsZero():
		return &InvalidError{Field: "since", Value: value, Want: "the moment after which commits may be missing"}
	case !r.Since.Before(noticed):
		return &InvalidError{Field: "since", Value: value, Want: "a moment before the loss was noticed, " + noticed.UTC().Format(time.RFC3339)}
	}
	return nil
}

// Why is what a signer is frozen for, and what stands in timelines.
func (r Recall) Why() string {
	return "the database forgot what was committed after " + r.Since.UTC().Format(time.RFC3339)
}

// Recalled is what a recall came to.
type Recalled struct {
	Reviewed map[string]int // intents that went to a person, by route
	Told     int            // intents not authorized yet whose timelines say that they may have been
	Frozen   []string       // scopes of the signers that were stopped
}

// Doubt decides about an intent after a loss: one that may have been sent, although the database says that it was not, goes
// to a person. It may have, if it was due before the loss was noticed. One that waits to be authorized only tells it in
// its timeline.
func Doubt(in Intent, l Loss, r Recall, now time.Time) Change {
	if in.CreatedAt.After(l.NoticedAt) || in.TryAt.After(l.NoticedAt) || in.NotBefore.After(l.NoticedAt) {
		return stay(in)
	}
	detail, _ := json.Marshal(map[string]string{ // strings always marshal
		"recovery": r.Why() + ": it may have been sent", "missing": l.Missing, "noticed_by": l.NoticedBy,
		"noticed_at": l.NoticedAt.UTC().Format(time.RFC3339Nano),
	})
	switch in.State {
	case Authorized:
		return review(in, ReasonForgotten, r.Actor, detail, now)
	case Created:
		return note(in, Evidence, r.Actor, detail, now)
	case Settling, Confirming, Settled, Failed, Canceled, NeedsReview:
	}
	return stay(in)
}

// unslotted says whether the intent is one of these and has no slot: its bytes are gone, so that nobody could watch it.
func unslotted(in Intent) bool { return forgotten(in) && in.Slot.Kind == NoSlot }

// forgotten says whether the intent is in review because the database may have forgotten that it was sent.
func forgotten(in Intent) bool { return in.State == NeedsReview && in.Reason == ReasonForgotten }
