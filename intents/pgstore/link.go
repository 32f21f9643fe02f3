package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/lib/pq"
)

// queryer runs statements: a committer's connection, or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// writer is a transaction that is told what was written in it, to be remembered when it is committed.
type writer interface {
	queryer
	wrote(marks ...mark)
}

// link is a committer's one connection, with its statements prepared once. It is opened when it is needed and dropped
// after any error that leaves its state in doubt. It is not safe for concurrent use.
//
// A context is looked at between statements and never given to the driver: a cancel request that comes late hits whatever
// runs on the connection then (case 46), and watching for one costs two goroutines a statement. A statement is ended by
// the server's statement_timeout, and a silent network by the dialer's patience.
type link struct {
	db    *sql.DB // keeps no connection idle: what is closed is gone
	log   *slog.Logger
	conn  *sql.Conn
	pid   int // of the session that the statements are prepared in
	stmts map[string]*sql.Stmt

	memory *memory
	marks  []mark // of what the transaction has written

	down  error         // why the last dial failed
	retry time.Time     // not to be dialed before
	pause time.Duration // between the last failed dial and retry
}

// How long a link leaves a server alone that could not be reached. Meanwhile it answers at once.
const (
	firstPause = 50 * time.Millisecond
	mostPause  = time.Second
)

// open connects unless it is connected.
func (l *link) open(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	if l.down != nil && time.Now().Before(l.retry) {
		return unavailable(l.down)
	}
	conn, pid, err := l.dial(ctx)
	if err != nil {
		l.pause = min(max(2*l.pause, firstPause), mostPause)
		l.down, l.retry = err, time.Now().Add(l.pause)
		return unavailable(err)
	}
	l.conn, l.pid, l.stmts, l.down, l.pause = conn, pid, map[string]*sql.Stmt{}, nil, 0
	return nil
}

func (l *link) dial(ctx context.Context) (*sql.Conn, int, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, 0, err
	}
	pid, err := backend(ctx, conn, "")
	if err != nil {
		_ = conn.Close() // what counts is why it is of no use
	}
	return conn, pid, err
}

// drop gives the connection up. A transaction on it is rolled back by the server, unless its COMMIT is on the way.
func (l *link) drop() {
	if l.conn != nil {
		_ = l.conn.Close() // nobody can do anything about it
		l.conn, l.stmts = nil, nil
	}
}

// QueryContext runs a statement, prepared on this connection.
func (l *link) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	stmt := l.stmts[query]
	if stmt == nil {
		var err error
		if stmt, err = l.conn.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
		l.stmts[query] = stmt
	}
	return stmt.QueryContext(ctx, args...)
}

// read runs f outside a transaction. Errors are judged as classify does.
func (l *link) read(ctx context.Context, f func(context.Context) error) error {
	if err := l.open(ctx); err != nil {
		return err
	}
	return l.failed(ctx, f(ctx))
}

// tx runs f in a transaction. An error is unsure when the answer to COMMIT was lost, else nothing was written.
func (l *link) tx(ctx context.Context, f func(context.Context) error) error {
	if err := l.open(ctx); err != nil {
		return err
	}
	if err := l.begun(ctx, f); err != nil {
		err = l.failed(ctx, err)
		l.rollback()
		return err
	}
	if err := l.exec("commit"); err != nil {
		l.drop()
		return afterCommit(err)
	}
	l.memory.keep(l, l.marks)
	return nil
}

func (l *link) wrote(marks ...mark) { l.marks = append(l.marks, marks...) }

// begun begins a transaction and runs f in it. Should f panic, the connection goes, and the transaction with it.
func (l *link) begun(ctx context.Context, f func(context.Context) error) error {
	returned := false
	l.marks = nil
	defer func() {
		if !returned {
			l.drop()
		}
	}()
	err := l.begin()
	if err == nil {
		err = f(ctx)
	}
	if err == nil {
		err = ctx.Err()
	}
	returned = true
	return err
}

// begin begins a transaction, in the session it must be in: in another one our statements may be somebody else's (case 47).
func (l *link) begin() error {
	var pid int
	if err := l.conn.QueryRowContext(context.Background(), "begin; select pg_backend_pid()").Scan(&pid); err != nil {
		return err
	}
	if pid != l.pid {
		l.log.Error("connection dropped", "error", errPooled)
		l.drop()
		return &verdictError{unavailable(errPooled)}
	}
	return nil
}

// exec runs a statement without arguments by the simple protocol. database/sql repeats nothing on a connection that is
// held (case 38).
func (l *link) exec(query string) error {
	_, err := l.conn.ExecContext(context.Background(), query)
	return err
}

// failed judges an error and drops the connection when it may be of no more use.
func (l *link) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	_, ours := errors.AsType[*verdictError](err)
	refused := pq.As(err)
	if !ours && (refused == nil && ctx.Err() == nil || refused != nil && fatalTo(refused)) {
		l.log.WarnContext(ctx, "connection dropped", "error", err)
		l.drop()
	}
	return classify(ctx, err)
}

func (l *link) rollback() {
	if l.conn != nil && l.exec("rollback") != nil {
		l.drop()
	}
}

// dialer makes connections on which a read that waits for longer than patience fails: on a network that swallows everything
// lib/pq would wait for ever, whatever its context says.
type dialer struct {
	net.Dialer
	patience time.Duration
}

func (d *dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

func (d *dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &impatient{Conn: c, patience: d.patience}, nil
}

type impatient struct {
	net.Conn
	patience time.Duration
	limit    time.Time // of connecting, which may be sooner
}

// SetDeadline is what lib/pq calls before it connects, and after.
func (c *impatient) SetDeadline(t time.Time) error {
	c.limit = t
	return c.Conn.SetDeadline(t)
}

func (c *impatient) Read(p []byte) (int, error) {
	end := time.Now().Add(c.patience)
	if !c.limit.IsZero() && c.limit.Before(end) {
		end = c.limit
	}
	if err := c.SetReadDeadline(end); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}
