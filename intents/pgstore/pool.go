package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lib/pq"

	"github.com/nsqrelayer/relayer/intents"
)

// repeats is how often a transaction of its own is run again after a passing error.
const repeats = 5

// tx runs f in a transaction on a connection of the pool, again after a passing error or a lost connection. f may not use
// the pool: nobody waits for a second connection while holding one (case 42).
// Errors: intents.ErrUnsure when the answer to COMMIT was lost.
func (s *Store) tx(ctx context.Context, f func(context.Context, *poolTx) error) error {
	for n := 0; ; n++ {
		repeat, err := s.txOnce(ctx, f)
		if !repeat || n == repeats || !pause(ctx, n) {
			return err
		}
	}
}

// txOnce runs f once, and says whether it may be run again. The transaction begins as the server would have it: lib/pq's
// own BeginTx asks for one that may write, also on a server that was turned read-only.
func (s *Store) txOnce(ctx context.Context, f func(context.Context, *poolTx) error) (repeat bool, _ error) {
	conn, err := s.pool.DB.Conn(ctx)
	if err != nil {
		return false, unavailable(err)
	}
	defer conn.Close()
	tx := &poolTx{Conn: conn}
	_, err = conn.ExecContext(ctx, "begin")
	if err == nil {
		err = f(ctx, tx)
	}
	if err != nil {
		refused := pq.As(err)
		rollback(ctx, conn, err)
		return !decided(err) && (refused == nil || passing(refused)), ofPool(err)
	}
	if _, err := conn.ExecContext(ctx, "commit"); err != nil {
		discard(conn)
		return false, answered(afterCommit(err))
	}
	s.memory.keep(s.pool, tx.marks)
	return false, nil
}

// poolTx is a connection of the pool in a transaction, with what was written in it.
type poolTx struct {
	*sql.Conn
	marks []mark
}

func (s *poolTx) wrote(marks ...mark) { s.marks = append(s.marks, marks...) }

// rollback ends a transaction that failed. A connection whose state is in doubt, or that can no longer write, is not used
// again (cases 43 and 46).
func rollback(ctx context.Context, conn *sql.Conn, cause error) {
	refused := pq.As(cause)
	healthy := decided(cause) || refused != nil && !fatalTo(refused)
	if !healthy || ctx.Err() != nil {
		discard(conn)
		return
	}
	if _, err := conn.ExecContext(ctx, "rollback"); err != nil {
		discard(conn)
	}
}

// discard takes a connection out of the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // that is how
}

// exec runs one statement that may be asked again; its own transaction.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	return s.tx(ctx, func(ctx context.Context, tx *poolTx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

// ofPool wraps what the database refused or failed at as unavailable, and leaves what was decided in Go. Data the server
// refuses is the caller's.
func ofPool(err error) error {
	if v, ok := errors.AsType[*verdictError](err); ok {
		return v.error
	}
	if decided(err) {
		return err
	}
	if refused := pq.As(err); refused != nil && ofRow(refused) {
		return err
	}
	return unavailable(err)
}

// decided says whether an error is a decision of ours.
func decided(err error) bool {
	if _, ours := errors.AsType[*verdictError](err); ours {
		return true
	}
	_, conflict := errors.AsType[*intents.ConflictError](err)
	return conflict || errors.Is(err, intents.ErrNotFound)
}

// pause waits before the next try; false when ctx ends first.
func pause(ctx context.Context, n int) bool {
	t := time.NewTimer(rand.N(10*time.Millisecond<<n) + time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ofRead wraps the failure of a read.
func ofRead(err error) error {
	if err == nil {
		return nil
	}
	return ofPool(err)
}

// all reads every row of a query, each column into the field of its name.
func all[T any](ctx context.Context, s *Store, query string, args ...any) ([]T, error) {
	var rows []T
	if err := s.pool.SelectContext(ctx, &rows, query, args...); err != nil {
		return nil, ofPool(err)
	}
	return rows, nil
}
