package pgstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// check is one thing that must add up: a query that finds what does not, as lines of text.
type check struct {
	name, query string
	args        []any
}

// sums are the checks that always hold. Each reads its tables once, in their order, and joins them by hash or merge:
// none looks a row up for every other.
func sums() []check {
	return []check{
		{name: intents.CheckPending, query: auditPending}, {name: intents.CheckPosted, query: auditPosted},
		{name: intents.CheckCaptured, query: auditCaptured}, {name: intents.CheckEvents, query: auditEvents},
		{name: intents.CheckAttempts, query: auditAttempts}, {name: intents.CheckSlots, query: auditSlots},
		{name: intents.CheckNumbers, query: auditNumbers}, {name: intents.CheckTimers, query: auditTimers},
	}
}

// Audit compares sums with what they are derived from and says what does not add up; nothing when all does. It is Inspect
// without what depends on the time or on settings.
func (s *Store) Audit(ctx context.Context) ([]string, error) {
	found, err := s.Inspect(ctx, intents.Audit{})
	var lines []string
	for _, f := range found {
		lines = append(lines, f.Lines...)
	}
	return lines, err
}

// Inspect makes every check that is asked for, in one snapshot, and says what each came to, in their order. It reads all
// intents, events and attempts, and writes nothing; vacuum keeps what it may still see.
func (s *Store) Inspect(ctx context.Context, a intents.Audit) ([]intents.Audited, error) {
	tx, err := s.slow.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, unavailable(err)
	}
	defer func() { _ = tx.Rollback() }() // it wrote nothing
	if _, err := tx.ExecContext(ctx, auditSettings); err != nil {
		return nil, ofPool(err)
	}
	var all []intents.Audited
	for _, c := range checks(a) {
		found, err := c.run(ctx, tx, a.Most)
		if err != nil {
			return nil, fmt.Errorf("audit, %s: %w", c.name, ofPool(err))
		}
		all = append(all, found)
	}
	return all, nil
}

// checks are those that are asked for.
func checks(a intents.Audit) []check {
	all := sums()
	if a.Late > 0 {
		all = append(all, check{intents.CheckLate, auditLate, []any{a.Late.Microseconds()}})
	}
	if a.Routes != nil {
		all = append(all, check{intents.CheckRoutes, auditRoutes, []any{texts(a.Routes)}})
	}
	return all
}

func (c check) run(ctx context.Context, q queryer, most int) (intents.Audited, error) {
	start := time.Now()
	found := intents.Audited{Check: c.name}
	rows, err := q.QueryContext(ctx, c.query, c.args...)
	if err != nil {
		return found, err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return found, err
		}
		found.Add(line, most)
	}
	found.Took = time.Since(start)
	return found, rows.Err()
}

const selectHOT = `select coalesce(n_tup_hot_upd, 0), coalesce(n_tup_upd, 0) from pg_stat_user_tables where relid = 'intents'::regclass`

// HOT tells how many updates of intents the server has counted, and how many of these touched no index. Far fewer than half
// means that somebody added an index on what changes, or that the table has no room in its pages.
func (s *Store) HOT(ctx context.Context) (hot, updates int64, err error) {
	err = s.pool.QueryRowContext(ctx, selectHOT).Scan(&hot, &updates)
	return hot, updates, ofRead(err)
}
