package intents

import (
	"fmt"
	"iter"
	"slices"
)

// State is where an intent stands. The numbers are what the database keeps; they are never reused.
type State int16

// The states of an intent. Authorized means: nobody holds bytes of this intent that could still take effect.
const (
	Created     State = 1 // known, not yet allowed to move money
	Authorized  State = 2 // may be sent; no hold
	Settling    State = 3 // claimed: hold placed, slot taken; bytes may have left
	Confirming  State = 4 // the other side has it; Ref is set
	Settled     State = 5 // final: the effect happened, the hold is captured
	Failed      State = 6 // final: proof that the effect did not and cannot happen
	Canceled    State = 7 // final: called off before it was claimed
	NeedsReview State = 8 // nobody can prove that it happened or that it did not; a person decides
)

// States lists every state this version knows, in the order of their numbers.
func States() []State {
	return []State{Created, Authorized, Settling, Confirming, Settled, Failed, Canceled, NeedsReview}
}

// String gives the state's name as it stands in SQL comments, logs, metrics and docs; "state(9)" for one unknown to us.
func (s State) String() string {
	switch s {
	case Created:
		return "created"
	case Authorized:
		return "authorized"
	case Settling:
		return "settling"
	case Confirming:
		return "confirming"
	case Settled:
		return "settled"
	case Failed:
		return "failed"
	case Canceled:
		return "canceled"
	case NeedsReview:
		return "needs_review"
	}
	return fmt.Sprintf("state(%d)", int16(s))
}

// ParseState reads a state's name. It returns an *InvalidError for any other text.
func ParseState(name string) (State, error) {
	for _, s := range States() {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, &InvalidError{Field: "state", Value: name, Want: "one of created, authorized, settling, confirming, settled, failed, canceled, needs_review"}
}

// Known says whether this version knows the state. Rows in states it does not know are left alone.
func (s State) Known() bool { return s >= Created && s <= NeedsReview }

// Final says whether the state ends an intent.
func (s State) Final() bool { return s == Settled || s == Failed || s == Canceled }

// Holds says whether an intent in this state holds its amount and cost in its account.
func (s State) Holds() bool { return s == Settling || s == Confirming || s == NeedsReview }

// next lists the states an intent may move to. Settling to settling is a change of claim, not of state.
func (s State) next() []State {
	switch s {
	case 0: // not stored yet
		return []State{Created}
	case Created:
		return []State{Authorized, Canceled, Failed}
	case Authorized:
		return []State{Settling, Canceled, Failed, NeedsReview}
	case Settling:
		return []State{Settling, Confirming, Settled, NeedsReview, Failed, Authorized}
	case Confirming:
		return []State{Settled, Failed, NeedsReview, Authorized}
	case NeedsReview:
		return []State{Settled, Failed, Confirming, Settling, Authorized}
	case Failed:
		return []State{Settled}
	}
	return nil
}

// CanMove says whether an intent may move from one state to another.
func CanMove(from, to State) bool { return slices.Contains(from.next(), to) }

// Edges yields every edge between two different states, by their numbers. docs/states.md shows the same edges.
func Edges() iter.Seq2[State, State] {
	return func(yield func(from, to State) bool) {
		for _, from := range States() {
			for _, to := range States() {
				if from != to && CanMove(from, to) && !yield(from, to) {
					return
				}
			}
		}
	}
}
