package intents

import "time"

// EventKind says what an event tells.
type EventKind int16

// The kinds of event.
const (
	Changed      EventKind = 1 // state or claim changed; one for each version
	Evidence     EventKind = 2 // what a call answered or an observation showed
	Contradicted EventKind = 3 // something contradicts a final state: an alarm
	Noted        EventKind = 4 // what a person did about it
)

// String gives the kind's name.
func (k EventKind) String() string {
	switch k {
	case Changed:
		return "changed"
	case Evidence:
		return "evidence"
	case Contradicted:
		return "contradicted"
	case Noted:
		return "noted"
	}
	return "event"
}

// Event is one line of an intent's timeline. Events are only ever added.
type Event struct {
	Version  int // of the intent after it
	N        int // 0 for the change itself, then 1, 2 … for what was noted under this version
	At       time.Time
	Kind     EventKind
	From, To State  // equal when only the claim changed or nothing did
	Actor    string // process or person
	Reason   Reason
	ClaimID  string
	Ref      string
	Detail   []byte // JSON evidence; empty: none
}

// DeadLetter is a message that cannot become an intent. The same one again (topic, hash, reason) only counts.
type DeadLetter struct {
	Topic     string
	Hash      [32]byte // SHA-256 of the whole body
	Body      []byte   // cut to MaxDeadBody bytes
	Size      int      // of the whole body, in bytes
	Reason    string   // a word: see the Dead… constants
	Detail    string   // what was wrong, for a person
	MessageID string
	Route     string
}

// BuriedLetter is a dead letter as it is kept, with how often it came.
type BuriedLetter struct {
	DeadLetter
	Key             int64 // the store's own
	Count           int
	FirstAt, LastAt time.Time
}

// MaxDeadBody is how many bytes of a dead letter's body are kept.
const MaxDeadBody = 4 << 10

// Why a message became a dead letter.
const (
	DeadTooLong  = "too_long"
	DeadInvalid  = "invalid"
	DeadPanic    = "decoder_panic"
	DeadRoute    = "other_route"
	DeadConflict = "other_content"
	DeadNewer    = "newer_version"
	DeadUnknown  = "unknown_intent"
)
