package intents

import (
	"fmt"
	"time"
)

// Verdict is what a sender makes of one call.
type Verdict int16

// The verdicts. Unknown is the zero value: silence proves nothing.
const (
	Unknown  Verdict = 0 // it may have taken effect, or may yet
	Accepted Verdict = 1 // fact: the other side has it
	Done     Verdict = 2 // fact: the effect happened
	NotSent  Verdict = 3 // permission: not a byte of it was taken
	Declined Verdict = 4 // permission: the other side will never do it
)

// String gives the verdict's name.
func (v Verdict) String() string {
	switch v {
	case Unknown:
		return "unknown"
	case Accepted:
		return "accepted"
	case Done:
		return "done"
	case NotSent:
		return "not_sent"
	case Declined:
		return "declined"
	}
	return fmt.Sprintf("verdict(%d)", int16(v))
}

// Result is what became of one Submit. The zero Result means unknown.
type Result struct {
	Verdict  Verdict
	Ref      string        // transaction hash, provider id; with Accepted and Done
	After    time.Duration // when to look again; 0: the caller's default
	Calm     time.Duration // shut the throttle for so long, since there are too many calls; 0: not at all
	Known    bool          // Calm is what is left of what an earlier call was told: no call was refused now
	Alive    bool          // the other side is in good health all the same: no sign of an outage, whatever the verdict
	Taken    bool          // Counter: the slot's number is used, and nobody knows these bytes; see Conclude
	Evidence []byte        // JSON: what was asked and answered, without secrets; empty: none
}

// Fact is what an observation proves. NotSeen, the zero Fact, proves nothing.
type Fact int16

// The facts.
const (
	NotSeen  Fact = 0
	Pending  Fact = 1 // the other side has the bytes
	Included Fact = 2 // it happened, not yet beyond recall
	Final    Fact = 3 // it happened, beyond recall
	Reverted Fact = 4 // it was executed beyond recall, without effect
	Dead     Fact = 5 // it can never happen; with No 0: no attempt of the slot can, and the intent may take a new one
)

// String gives the fact's name. Final reads "settled".
func (f Fact) String() string {
	switch f {
	case NotSeen:
		return "not_seen"
	case Pending:
		return "pending"
	case Included:
		return "included"
	case Final:
		return "settled"
	case Reverted:
		return "reverted"
	case Dead:
		return "dead"
	}
	return fmt.Sprintf("fact(%d)", int16(f))
}

// Watch is a slot to observe: its intent and all its attempts, in order. A filler's Intent is zero.
type Watch struct {
	Intent   Intent
	Slot     Slot
	Attempts []Attempt
}

// Observation is what became of one slot.
type Observation struct {
	Slot     Slot
	No       int // the attempt it speaks of; 0: the slot as a whole
	Of       int // how many attempts the slot had when it was looked at; death is believed only when it has no more
	Fact     Fact
	Ref      string        // what the other side calls it; empty: the attempt's name
	Want     Kind          // another attempt the sender asks for: Bump, Cancel or Fill; 0: none
	Resend   bool          // the sender asks for attempt No to be sent again as it is stored; a Want goes before it
	After    time.Duration // when to look again; 0: the observer's default
	Evidence []byte        // JSON, without secrets

	// Foreign, with Dead and No 0, is the transaction that used the slot's number.
	Foreign *Foreign
	// Gone, with NotSeen, says that the slot was used and nobody could tell by what.
	Gone bool
}
