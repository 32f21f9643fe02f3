package pgstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/nsqrelayer/relayer/intents"
)

// Keys are given out in order, so that what is new lies at the end of both tables; what settles is captured by an entry.
const (
	countFlow = `select (select count(*) from (select from intents where key > $1 and key <= $2 limit $3) i),
 (select count(*) from (select from entries where key > $1 and key <= $2 and intent is not null limit $3) e),
 (select case when is_called then last_value else 0 end from relayer_keys)`
	mostFlow = 100_000

	intentsSize = `select pg_relation_size('intents')`
	smallSize   = 16 << 20 // bytes: some ten thousand intents

	// Attempts have no index by name: only those of what is open are looked through.
	namedOpen = `select i.id from (select id, slot from intents where due_at is not null and slot is not null limit $2) i
 join attempts a on a.slot = i.slot where a.name = $1 limit 1`

	oldestOpen = `select * from (select * from intents where due_at is not null limit $1) o order by key limit $2`
)

// Flow counts what was created and what settled under the keys above from, up to to; no more than a bound. What commits
// late can be missed: ask about a window some time after its end.
func (s *Store) Flow(ctx context.Context, from, to int64) (intents.Flow, error) {
	var f intents.Flow
	err := s.pool.QueryRowContext(ctx, countFlow, from, to, int64(mostFlow)).Scan(&f.Created, &f.Settled, &f.Head)
	return f, ofRead(err)
}

// Small says whether all intents can be counted in no time.
func (s *Store) Small(ctx context.Context) (bool, error) {
	var size int64
	err := s.pool.QueryRowContext(ctx, intentsSize).Scan(&size)
	return size <= smallSize, ofRead(err)
}

// Oldest reads those that were created first among the intents that are due some day. It looks at no more than among of
// them.
func (s *Store) Oldest(ctx context.Context, among, most int) ([]intents.Intent, error) {
	rows, err := load(ctx, s.pool, nil, reading(oldestOpen)+` order by i.key`, int64(among), int64(most))
	if err != nil {
		return nil, ofPool(err)
	}
	return plain(rows), nil
}

// mostNamed is among how many open intents an attempt is looked for.
const mostNamed = 20_000

// Named reads the id of an open intent that has an attempt of a name, such as a transaction's hash; empty when there is
// none. Where very much is open it may be missed.
func (s *Store) Named(ctx context.Context, name string) (string, error) {
	var id string
	err := s.pool.QueryRowContext(ctx, namedOpen, name, int64(mostNamed)).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, ofRead(err)
}
