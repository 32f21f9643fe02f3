package desk

import (
	"fmt"

	"github.com/nsqrelayer/relayer/intents"
)

// UnansweredError says that the other side could not be asked, or its answer not be written: nothing was decided.
type UnansweredError struct{ Err error }

func (e *UnansweredError) Error() string {
	return "the other side cannot be asked, nothing was decided: " + e.Err.Error()
}

// Unwrap gives what went wrong.
func (e *UnansweredError) Unwrap() error { return e.Err }

// RefusedError says that an order is not carried out as things are. Verb is what the order came to: a retry of what
// happened after all is a settle.
type RefusedError struct {
	Verb  intents.Verb
	Order *intents.OrderError
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s is refused: %v", e.Verb, e.Order) }

// Unwrap gives why, and whether there is a way.
func (e *RefusedError) Unwrap() error { return e.Order }

// LateError says that an intent was claimed before it could be called off, and by whom.
type LateError struct {
	Late *intents.TransitionError
	By   intents.Event // the last change; zero where it cannot be read
}

func (e *LateError) Error() string {
	if e.By.Version == 0 {
		return e.Late.Error()
	}
	return fmt.Sprintf("%v: %s moved it at %s", e.Late, e.By.Actor, e.By.At.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// Unwrap gives from where it could not move.
func (e *LateError) Unwrap() error { return e.Late }

// CutError says that a dead letter's body is not kept as a whole: it must be published from where it came.
type CutError struct{ Kept, Size int }

func (e *CutError) Error() string {
	return fmt.Sprintf("only %d of %d bytes are kept: publish it from where it came", e.Kept, e.Size)
}

// BadLetterError says that a dead letter is no message by itself.
type BadLetterError struct{ Err error }

func (e *BadLetterError) Error() string { return "it would be dead again: " + e.Err.Error() }

// Unwrap gives what is wrong with it.
func (e *BadLetterError) Unwrap() error { return e.Err }

// TakenError says that a dead letter was not published, since its id is another payment's.
type TakenError struct{ Intent intents.Intent }

func (e *TakenError) Error() string {
	return fmt.Sprintf("not published, it would be dead again: the id %s is known since %s with another content or on another route, state %s",
		e.Intent.ID, e.Intent.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z"), e.Intent.State)
}

// LetterError says that no dead letter, or more than one, has a hash that begins as given.
type LetterError struct {
	Start string
	Found int // different hashes; 0: none
}

func (e *LetterError) Error() string {
	if e.Found == 0 {
		return "no dead letter " + e.Start
	}
	return fmt.Sprintf("%s: %d dead letters begin like this", e.Start, e.Found)
}
