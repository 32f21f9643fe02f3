package pgstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

// Tx is a transaction of somebody else's, such as *sql.Tx and *sqlx.Tx, on any driver for database/sql.
type Tx interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	// Rollback is never called. Only a transaction has it: on a *sql.DB each statement would be committed by itself.
	Rollback() error
}

// InsertTx stores an authorized intent in a transaction that its caller commits or rolls back. After the commit the sweeper
// publishes it, as soon as it may be sent. One that is known with the same content is returned as it stands, of a pruned one
// what its tombstone tells.
//
// The transaction must be one of the relayer's database, with its schema in the search path, at READ COMMITTED. It waits for
// another one that stores the same id, and others wait for it: several ids are best stored in the order of their names.
//
// Errors: *intents.InvalidError, joined where there are several, and *intents.ConflictError leave the transaction as it was.
// After any other it is to be rolled back.
func InsertTx(ctx context.Context, tx Tx, in intents.Intent, actor string) (intents.Intent, error) {
	if in.Route == "" {
		return intents.Intent{}, &intents.InvalidError{Field: "route", Want: "the name of a route"}
	}
	if err := in.Validate(); err != nil {
		return intents.Intent{}, err
	}
	op := takeOp{in: in, full: true, routed: true, authorize: true, quiet: true, actor: actor}
	got, err := takeTx(ctx, lent{tx}, op)
	if err != nil {
		return intents.Intent{}, fmt.Errorf("insert intent %s: %w", in.ID, err)
	}
	return got, nil
}

// takeTx does for one operation in one transaction what takes.Commit does for many.
func takeTx(ctx context.Context, q writer, op takeOp) (intents.Intent, error) {
	var t taking
	t.reset([]takeOp{op})
	for _, step := range []func() error{
		func() error { return t.find(ctx, q) },
		func() error { return t.create(ctx, q) },
		func() error { return t.find(ctx, q) }, // another one has stored it meanwhile
	} {
		if err := step(); err != nil {
			return intents.Intent{}, err
		}
		if len(t.left) == 0 {
			return t.answers[0].Value, t.answers[0].Err
		}
	}
	return intents.Intent{}, fmt.Errorf("%w: another transaction stored it and it cannot be seen", intents.ErrUnavailable)
}

// lent is a transaction that is not ours. Its driver may not take binary arrays, but all take array literals. What is written
// in it nobody here sees committed, so it is not remembered.
type lent struct{ tx Tx }

func (l lent) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	args = slices.Clone(args)
	for i, arg := range args {
		if b, ok := arg.([]byte); ok {
			args[i] = literal(b)
		}
	}
	return l.tx.QueryContext(ctx, query, args...)
}

func (lent) wrote(...mark) {}
