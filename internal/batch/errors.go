package batch

import (
	"errors"
	"fmt"
)

// ErrClosed answers an operation that was not sealed before [Queue.Close]. Nothing was written for it.
var ErrClosed = errors.New("batch: queue closed")

// UnsureError says that nobody knows whether an operation was written; it may even be written later. A [Committer]
// returns it when the answer to its commit was lost. A caller gets it only if Resolve could not tell either, and goes
// on as after a crash.
type UnsureError struct {
	Err error // why it is not known
}

// Error says that the outcome is unknown, and why.
func (e *UnsureError) Error() string {
	return fmt.Sprintf("batch: not known whether written: %v", e.Err)
}

// Unwrap returns the reason.
func (e *UnsureError) Unwrap() error { return e.Err }

// Unsure marks err as the loss of a commit's answer.
func Unsure(err error) error { return &UnsureError{Err: err} }

// Repeat marks err as passing: nothing was written, and the same batch may succeed when run again (a deadlock, a lock
// timeout, a serialization failure). err must not be nil. Callers get err without the mark, if the mark is outermost.
func Repeat(err error) error { return &markedError{error: err, mark: repeat} }

// BadRow marks err as the fault of some row: nothing was written, and a part of the batch may succeed. err must not be
// nil. The caller whose row it is gets err, as with [Repeat].
func BadRow(err error) error { return &markedError{error: err, mark: badRow} }

// mark is what a queue does about an error of Commit.
type mark int

const (
	plain mark = iota // tell every caller
	repeat
	badRow
	unsure
)

type markedError struct {
	error
	mark mark
}

func (e *markedError) Unwrap() error { return e.error }

// markOf finds the mark anywhere in err. Unsure wins: it promises least.
func markOf(err error) mark {
	if _, ok := errors.AsType[*UnsureError](err); ok {
		return unsure
	}
	if m, ok := errors.AsType[*markedError](err); ok {
		return m.mark
	}
	return plain
}

// unmarked returns err as it was before it was marked.
func unmarked(err error) error {
	if m, ok := err.(*markedError); ok {
		return m.error
	}
	return err
}

// reason returns why an unsure commit is unsure, without saying again that it is.
func reason(err error) error {
	if u, ok := err.(*UnsureError); ok {
		return u.Err
	}
	return err
}
