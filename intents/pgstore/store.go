// Package pgstore keeps intents in Postgres. Claims, bytes and results of many callers go out in few commits (package
// batch), and every decision is made by package intents on rows under lock, on the database's clock.
//
// All writers lock in one order: lanes, intents by key, accounts by name, signers by scope; hot rows last. So no two
// commits wait for each other, from whatever process they come.
package pgstore

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/batch"
)

// Store keeps intents in Postgres. Its methods may be called at the same time and, except where they say otherwise, be
// asked again with the same arguments. All may return an error that wraps intents.ErrUnavailable: nothing is known to
// have been written. It reconnects by itself.
type Store struct {
	cfg        Config
	pool       *sqlx.DB // what is not batched
	slow       *sqlx.DB // audits
	committing *sql.DB  // the committers' connections
	running    sync.WaitGroup
	memory     *memory

	takes    *batch.Queue[takeOp, intents.Intent]
	claims   *batch.Queue[claimOp, intents.Claimed]
	attaches *batch.Queue[intents.Attempt, intents.Attempt]
	results  *batch.Queue[resultOp, intents.Intent]
}

// Open connects to a migrated database and starts four committers: reads, claims, attaches and results, each with a
// connection of its own. Close the store when it is no longer used.
//
// Errors: one that wraps intents.ErrUnavailable when the database cannot be reached or written to; *intents.InvalidError
// when a pooler lends sessions for a transaction only. None shows the password of the DSN.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	dsn, err := parse(cfg.DSN)
	if err != nil {
		return nil, err
	}
	if err := sessions(ctx, dsn); err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, memory: &memory{owner: cfg.Actor, log: cfg.Logger}}
	if err := s.openPools(dsn); err != nil {
		return nil, err
	}
	s.committing.SetMaxIdleConns(-1)
	s.pool.SetMaxOpenConns(cfg.MaxConns)
	s.pool.SetMaxIdleConns(cfg.MaxConns)
	s.pool.SetConnMaxIdleTime(time.Minute)
	if err := s.Ping(ctx); err != nil {
		s.closePools()
		return nil, err
	}
	s.start()
	return s, nil
}

// openPools makes the connections' pools; none is opened yet.
func (s *Store) openPools(dsn pq.Config) (err error) {
	if s.committing, err = s.openDB(committing(dsn, s.cfg.CommitTimeout), s.cfg.CommitTimeout+margin); err != nil {
		return err
	}
	pool, err := s.openDB(writing(dsn), 2*s.cfg.CommitTimeout+margin)
	if err != nil {
		return err
	}
	slow, err := s.openDB(writing(dsn), slowPatience)
	if err != nil {
		return err
	}
	slow.SetMaxIdleConns(-1)
	s.pool, s.slow = sqlx.NewDb(pool, "postgres"), sqlx.NewDb(slow, "postgres")
	return nil
}

// openDB makes a pool of connections on which no answer is waited for longer than patience, to servers that are asked what
// they remember.
func (s *Store) openDB(how session, patience time.Duration) (*sql.DB, error) {
	c, err := how.connector(&dialer{patience: patience})
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(&remembering{c, s.memory}), nil
}

// margin is how much longer than a statement may run its answer may take.
const margin = 3 * time.Second

// slowPatience is how long the answer to a statement of an audit may take.
const slowPatience = time.Hour

// start makes the queues and runs them.
func (s *Store) start() {
	s.takes = start(s, "reads", func(l *link) batch.Committer[takeOp, intents.Intent] { return &takes{l} },
		func(op takeOp) string { return op.in.ID }, takeOp.size)
	s.claims = start(s, "claims", func(l *link) batch.Committer[claimOp, intents.Claimed] { return &claims{l} },
		func(op claimOp) string { return keyOf(op.Intent.Key) }, claimOp.size)
	s.attaches = start(s, "attaches", func(l *link) batch.Committer[intents.Attempt, intents.Attempt] { return &attaches{l} },
		func(a intents.Attempt) string { return keyOf(a.Slot.ID) }, func(a intents.Attempt) int { return len(a.Bytes) })
	s.results = start(s, "results", func(l *link) batch.Committer[resultOp, intents.Intent] { return &results{l} },
		func(op resultOp) string { return keyOf(op.key) }, func(op resultOp) int { return op.size })
}

// start runs a queue with a committer that has a connection of its own.
func start[Op, Ans any](s *Store, name string, committer func(*link) batch.Committer[Op, Ans], key func(Op) string, size func(Op) int) *batch.Queue[Op, Ans] {
	log := s.cfg.Logger.With("queue", name)
	l := &link{db: s.committing, log: log, memory: s.memory}
	q := batch.New(committer(l), key, size, batch.Config{
		MaxRows: s.cfg.BatchRows, CommitTimeout: s.cfg.CommitTimeout, ResolveTimeout: s.cfg.CommitTimeout, Logger: log,
		Observe: func(rows int, took time.Duration) { s.cfg.Observe(name, rows, took) },
	})
	s.running.Go(func() {
		defer l.drop()
		q.Run()
	})
	return q
}

// keyOf is how a queue compares keys.
func keyOf(key int64) string {
	b := [8]byte{byte(key >> 56), byte(key >> 48), byte(key >> 40), byte(key >> 32), byte(key >> 24), byte(key >> 16), byte(key >> 8), byte(key)}
	return string(b[:])
}

// Close ends the committers and the connections. What waits in a queue is answered with an error that wraps
// intents.ErrUnavailable; a batch under way is finished.
func (s *Store) Close() {
	s.takes.Close()
	s.claims.Close()
	s.attaches.Close()
	s.results.Close()
	s.running.Wait()
	s.closePools()
}

// closePools drops the errors: they tell of connections that were broken already.
func (s *Store) closePools() {
	_ = s.committing.Close()
	_ = s.pool.Close()
	_ = s.slow.Close()
}

const selectWritable = `select pg_is_in_recovery() or current_setting('transaction_read_only') = 'on',
 to_regclass('intents') is not null and to_regclass('attempts') is not null and to_regclass('recoveries') is not null
 and to_regclass('tombstones_key') is not null and to_regclass('intents_created') is not null
 and to_regclass('intent_events_xid') is not null`

// Ping says whether the store can be written to now. A connection that cannot write any more is closed: the next one asks
// for a server that can. Errors: one that wraps intents.ErrUnavailable.
func (s *Store) Ping(ctx context.Context) error {
	conn, err := s.pool.DB.Conn(ctx)
	if err != nil {
		return unavailable(err)
	}
	defer conn.Close()
	var readOnly, migrated bool
	if err := conn.QueryRowContext(ctx, selectWritable).Scan(&readOnly, &migrated); err != nil {
		discard(conn)
		return unavailable(err)
	}
	switch {
	case readOnly:
		discard(conn)
		return fmt.Errorf("%w: the server is read-only", intents.ErrUnavailable)
	case !migrated:
		return fmt.Errorf("%w: the schema is missing, run relayer migrate", intents.ErrUnavailable)
	}
	return nil
}
