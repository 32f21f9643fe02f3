package intents

import "time"

// MostSilent is how many claims in a row may end without a word before a person must look.
const MostSilent = 5

// Claim asks for the right to send an intent: from authorized, or over a claim that has ended.
type Claim struct {
	Intent Intent // as it was read: key, route, state and version are compared
	Plan   Plan
	// Attempt is what was prepared for a Key or Given slot; it is stored in the same commit. Nil for a Counter slot,
	// and when taking over: the bytes stored first are the only ones sent.
	Attempt *Attempt
	ID      string        // the claim's id, new for each claim; the store makes one when empty
	Owner   string        // the process, for the timeline
	Term    time.Duration // how long the claim runs, from the commit
	Wait    bool          // without funds the intent waits instead of failing
}

// Claimed is a claim that was had.
type Claimed struct {
	Intent   Intent // as it stands after the commit; Intent.ClaimID is the permission to send
	Attempts []Attempt
}

// Slot is the slot to send in.
func (c Claimed) Slot() Slot { return c.Intent.Slot }

// Facts is what [Admit] must know beside the row, read under the same locks.
type Facts struct {
	Now      time.Time // the database's clock
	Paused   bool      // as Intent.Paused
	LaneBusy bool      // another intent of the lane is under way, or stands before it
	Enforced bool      // the account must cover what is held
	Free     Amount    // posted less pending of the account
	Signer   *Signer   // Counter: who would give the number, see Plan.Pick; nil: none of them is known
}

// Message is what a delivery carries: a reference to an intent, or a full one.
type Message struct {
	ID     string
	Route  string   // of the consumer that got it
	Full   bool     // Intent is complete, and creates it if it is unknown
	Intent Intent   // with Full
	Actor  string   // who brought it, for the timeline
	_      struct{} // keyed literals only
}
