package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/lib/pq"

	"github.com/nsqrelayer/relayer/intents"
)

// session is how connections are made. What the DSN sets goes out with the start of one, and what we set right after it: a
// pooler takes no setting at the start that it does not know.
type session struct {
	cfg pq.Config
	own []string // statements
}

// ordinary is a session with a clock that is read right.
func ordinary(cfg pq.Config) session {
	s := session{cfg: cfg}
	s.set("timezone", "UTC")
	return s
}

// set sets a server setting for the session unless the DSN sets it.
func (s *session) set(name, value string) {
	if _, given := s.cfg.Runtime[name]; !given {
		s.own = append(s.own, "set "+name+" = "+pq.QuoteLiteral(value))
	}
}

// connector makes such connections, through d if that is not nil.
func (s session) connector(d pq.Dialer) (driver.Connector, error) {
	c, err := pq.NewConnectorConfig(s.cfg)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	if d != nil {
		c.Dialer(d)
	}
	return &tuned{c, strings.Join(s.own, "; ")}, nil
}

// tuned makes connections and sets what they need before anybody uses them.
type tuned struct {
	driver.Connector
	settings string
}

// Connect connects and makes the settings.
func (c *tuned) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, c.settings, nil); err != nil {
		_ = conn.Close() // what counts is why it is of no use
		return nil, err
	}
	return conn, nil
}

// How often two connections are compared, and one with itself. Two looks are enough where nobody else uses the pooler,
// whether it lends the last session or goes round; where others take sessions in between, ours change.
const (
	looks  = 2
	stares = 12
)

// sessions says whether each connection to a database keeps a session of its own, as settings and prepared statements need:
// a pooler in transaction mode lends one for a transaction. It asks before anything is set, which others would inherit.
// Errors: *intents.InvalidError when they do not; one that wraps intents.ErrUnavailable when nobody can tell.
func sessions(ctx context.Context, cfg pq.Config) error {
	connector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return fmt.Errorf("database url: %w", err)
	}
	connector.Dialer(&dialer{patience: cfg.ConnectTimeout})
	ctx, cancel := context.WithTimeout(ctx, 2*cfg.ConnectTimeout) // a pooler may have no second one
	defer cancel()
	db := sql.OpenDB(connector)
	defer db.Close()
	var conns [2]*sql.Conn
	for i := range conns {
		if conns[i], err = db.Conn(ctx); err != nil {
			return unavailable(err)
		}
		defer conns[i].Close()
	}
	ours, err := backend(ctx, conns[0], "")
	for n := 0; n < looks && err == nil; n++ {
		err = apart(ctx, conns[0], conns[1], ours)
	}
	for n := 0; n < stares && err == nil; n++ {
		err = same(ctx, conns[0], ours)
	}
	return err
}

// apart looks once: while a transaction of the other one holds a session, ours must be another, and the one it was.
func apart(ctx context.Context, conn, other *sql.Conn, ours int) error {
	theirs, err := backend(ctx, other, "begin; ")
	if err != nil {
		return err
	}
	if theirs == ours {
		return errPooled
	}
	if err := same(ctx, conn, ours); err != nil {
		return err
	}
	if _, err := other.ExecContext(ctx, "rollback"); err != nil {
		return unavailable(err)
	}
	return nil
}

// same wants a connection's session to be the one it was.
func same(ctx context.Context, conn *sql.Conn, ours int) error {
	pid, err := backend(ctx, conn, "")
	if err == nil && pid != ours {
		err = errPooled
	}
	return err
}

// backend is the process that serves a connection, after what comes before.
func backend(ctx context.Context, conn *sql.Conn, before string) (pid int, _ error) {
	if err := conn.QueryRowContext(ctx, before+"select pg_backend_pid()").Scan(&pid); err != nil {
		return 0, unavailable(err)
	}
	return pid, nil
}

// errPooled says that connections have no session of their own.
var errPooled = &intents.InvalidError{Field: "database-url", Value: "a pooler that lends sessions for one transaction",
	Want: "Postgres itself, or a pooler that keeps a session for each connection (pgbouncer: pool_mode = session)"}
