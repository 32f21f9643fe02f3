package intents

import (
	"fmt"
	"time"
)

// Prune says which final intents are to leave nothing but a tombstone.
//
// Before should lie further back than any message or call can be under way: who looks for an id at the very moment at which
// its intent is made, ends and is pruned may find neither.
type Prune struct {
	Before time.Time // only what has been final since before
	Route  string    // only of this route; empty: of all
	Limit  int       // at most so many; 0: all
	DryRun bool      // only count
}

// Pruned is what a prune came to.
type Pruned struct {
	Intents map[State]int // that left a tombstone, or would, by how they ended
	Kept    map[Kept]int  // final for long enough, by why they stay
	Alarms  []string      // ids of those kept for KeptAlarm, at most MaxAlarms
	Slots   int           // numbers of signers that no intent is left of
}

// MaxAlarms is how many ids a prune tells of.
const MaxAlarms = 20

// NewPruned is that of a prune that has not begun.
func NewPruned() Pruned { return Pruned{Intents: map[State]int{}, Kept: map[Kept]int{}} }

// Keep counts an intent that stays.
func (p *Pruned) Keep(in Intent, why Kept) {
	p.Kept[why]++
	if why == KeptAlarm && len(p.Alarms) < MaxAlarms {
		p.Alarms = append(p.Alarms, in.ID)
	}
}

// Total is how many intents left a tombstone, or would.
func (p Pruned) Total() int {
	n := 0
	for _, of := range p.Intents {
		n += of
	}
	return n
}

// Kept says in a word why an intent stays although it has been final for long enough.
type Kept string

// Why intents stay.
const (
	KeptSlot  Kept = "slot"         // its slot is open, or is to be filled
	KeptAlarm Kept = "contradicted" // something contradicts its end, and nobody has looked at that
)

// Aged says whether an intent has been final for long enough.
func (p Prune) Aged(in Intent) bool {
	return in.State.Final() && in.ChangedAt.Before(p.Before) && (p.Route == "" || p.Route == in.Route)
}

// KeptFor says why an aged intent stays; empty: it may be pruned. open says that a slot of it is. Its timeline may lack what
// is neither a change, nor an alarm, nor a note.
func KeptFor(open bool, timeline []Event) Kept {
	switch {
	case open:
		return KeptSlot
	case alarmed(timeline):
		return KeptAlarm
	}
	return ""
}

// alarmed says whether an end is contradicted, and nobody has noted or changed anything since.
func alarmed(timeline []Event) bool {
	alarm := false
	for _, e := range timeline {
		switch e.Kind {
		case Contradicted:
			alarm = true
		case Changed, Noted:
			alarm = false
		case Evidence:
		}
	}
	return alarm
}

// PrunedError says that only the tombstone of an intent is left, so that nothing can be done with it any more.
type PrunedError struct {
	ID    string
	State State // how it ended
	At    time.Time
}

func (e *PrunedError) Error() string {
	return fmt.Sprintf("intent %s is %s and was pruned at %s", e.ID, e.State, e.At.UTC().Format(time.RFC3339))
}

// Left says that only the tombstone of an intent is left, if it is so. Errors: *PrunedError.
func Left(in Intent) error {
	if in.PrunedAt.IsZero() {
		return nil
	}
	return &PrunedError{ID: in.ID, State: in.State, At: in.PrunedAt}
}

// Tombstone is what stays of an intent pruned at the given time.
func Tombstone(in Intent, at time.Time) Intent {
	return Intent{Key: in.Key, ID: in.ID, Route: in.Route, State: in.State, Version: in.Version, Ref: in.Ref, CreatedAt: in.CreatedAt, PrunedAt: at}
}
