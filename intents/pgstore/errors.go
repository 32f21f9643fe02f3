package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/batch"
)

// verdictError carries an error that was judged where it arose: classify leaves it as it is.
type verdictError struct{ error }

func (e *verdictError) Unwrap() error { return e.error }

// badRow says that a row cannot be read or written, whatever the server thinks of it.
func badRow(err error) error { return &verdictError{batch.BadRow(err)} }

// again says that nothing was written and the same may succeed when it is run again.
func again(err error) error { return &verdictError{batch.Repeat(err)} }

// classify says what an error before COMMIT was sent means. Then surely nothing was written: the server takes a
// transaction back whose client fails or goes. Errors of the row itself split a batch, passing ones and a lost connection
// repeat it, and for any other the store is unavailable.
func classify(ctx context.Context, err error) error {
	if v, ok := errors.AsType[*verdictError](err); ok {
		return v.error
	}
	refused := pq.As(err)
	switch {
	case ctx.Err() != nil:
		return unavailable(err)
	case refused == nil:
		return batch.Repeat(unavailable(err))
	case ofRow(refused):
		return batch.BadRow(fmt.Errorf("row refused: %w", err))
	case passing(refused):
		return batch.Repeat(unavailable(err))
	}
	return unavailable(err)
}

// ofRow: data exception, constraint violation, limit exceeded.
func ofRow(err *pq.Error) bool {
	switch err.Code.Class() {
	case "22", "23", "54":
		return true
	}
	return false
}

// passing: a serialization failure, a deadlock, a lock not had in time, a statement canceled (by statement_timeout, or by
// a late cancel request meant for another: case 46).
func passing(err *pq.Error) bool {
	switch err.Code {
	case "40001", "40P01", "55P03", "57014":
		return true
	}
	return false
}

// fatalTo says whether a connection is of no more use after an error the server returned on it: it is read-only now
// (case 43), or the server ends it.
func fatalTo(err *pq.Error) bool {
	return err.Code == "25006" || err.Fatal() || err.Code.Class() == "08" || err.Code.Class() == "57" && err.Code != "57014"
}

// afterCommit says what an error of COMMIT means. Only a refusal that leaves the connection alive is sure: the
// transaction was rolled back. In any other case it may have been committed, or may be yet.
func afterCommit(err error) error {
	if refused := pq.As(err); refused != nil && !fatalTo(refused) && refused.Code != "57014" {
		return classify(context.Background(), err)
	}
	return batch.Unsure(err)
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", intents.ErrUnavailable, err) }

// reached wraps err as unavailable when the database could not be had at all, or cannot be written to.
func reached(err error) error {
	refused := pq.As(err)
	if refused == nil || fatalTo(refused) || refused.Code.Class() == "53" {
		return unavailable(err)
	}
	return err
}

// answered turns a queue's error into one of ours.
func answered(err error) error {
	if err == nil {
		return nil
	}
	if unsure, ok := errors.AsType[*batch.UnsureError](err); ok {
		return fmt.Errorf("%w: %w", intents.ErrUnsure, unsure.Err)
	}
	if errors.Is(err, batch.ErrClosed) {
		return unavailable(err)
	}
	return err
}
