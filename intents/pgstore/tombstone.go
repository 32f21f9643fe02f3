package pgstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

// Numbers of a signer stay for now: see pruneNumbers.
const (
	insertTombstones = `insert into tombstones (id, key, route, hash, state, version, ref, created_at)
 select * from unnest(?::text[], ?::bigint[], ?::text[], ?::bytea[], ?::smallint[], ?::int[], ?::text[], ?::timestamptz[])`
	deleteEvents   = `delete from intent_events where intent = any(?)`
	deleteAttempts = `delete from attempts where slot = any(?)`
	deleteSlots    = `delete from slots where key = any(?) and kind <> 2`
	deleteIntents  = `delete from intents where key = any(?)`
)

var tombstoneTypes = []uint32{oidText, oidInt8, oidText, oidBytea, oidInt2, oidInt4, oidText, oidTimestamptz}

// entomb replaces intents under lock, and what is theirs, by tombstones.
func entomb(ctx context.Context, q queryer, rows []row) error {
	c := newColumns(tombstoneTypes, len(rows))
	for _, r := range rows {
		hash := r.Hash()
		c[0].text(r.ID)
		c[1].int8(r.Key)
		c[2].text(r.Route)
		c[3].bytes(hash[:])
		c[4].int2(int16(r.State))
		c[5].int4(r.Version)
		c[6].textOrNull(r.Ref)
		c[7].time(r.CreatedAt)
	}
	ks, slots := keysOf(rows)
	var b statement
	b.with("t", insertTombstones, c.args()...)
	b.with("e", deleteEvents, keys(ks))
	b.with("a", deleteAttempts, keys(slots))
	b.with("s", deleteSlots, keys(slots))
	b.with("i", deleteIntents, keys(ks))
	return run(ctx, q, b.text("select 1"), b.args...)
}

const (
	selectScopes = `select scope from signers order by scope`
	// Two that prune at once take turns, so that the lowest numbers are always the first to go.
	lockNumbers = `select pg_advisory_xact_lock(hashtextextended('prune/' || $1, 8))`
	// Not "not exists": that may be planned as a read of all intents.
	lowNumbers = `select s.key, coalesce(s.closed_at < $2, false) and (select i.key from intents i where i.key = s.intent) is null
 from slots s where s.scope = $1 and s.kind = 2 order by s.number limit $3`
	deleteNumbers = `with a as (delete from attempts where slot = any($1)) delete from slots where key = any($1)`
)

// pruneNumbers lets the lowest numbers of every signer go, as far as they were closed long ago and no intent is left of
// them: an audit wants each number from a signer's first slot on.
func (s *Store) pruneNumbers(ctx context.Context, p intents.Prune, done *intents.Pruned) error {
	scopes, err := all[string](ctx, s, selectScopes)
	for _, scope := range scopes {
		for n := prunePage; err == nil && n == prunePage; {
			n, err = s.pruneLowest(ctx, scope, p)
			done.Slots += n
		}
	}
	return err
}

// pruneLowest deletes a page of them, and says how many.
func (s *Store) pruneLowest(ctx context.Context, scope string, p intents.Prune) (int, error) {
	var old []int64
	err := s.tx(ctx, func(ctx context.Context, tx *poolTx) (err error) {
		if err := run(ctx, tx, lockNumbers, scope); err != nil {
			return err
		}
		if old, err = lowest(ctx, tx, scope, p); err != nil || len(old) == 0 {
			return err
		}
		return run(ctx, tx, deleteNumbers, keys(old))
	})
	if err != nil {
		return 0, err
	}
	return len(old), nil
}

// lowest lists a signer's lowest slots up to the first that stays.
func lowest(ctx context.Context, q queryer, scope string, p intents.Prune) ([]int64, error) {
	rows, err := q.QueryContext(ctx, lowNumbers, scope, p.Before, int64(prunePage))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var old []int64
	stays := false
	for rows.Next() { // to its end: an error may come late
		var key int64
		var goes bool
		if err := rows.Scan(&key, &goes); err != nil {
			return nil, badRow(err)
		}
		if stays = stays || !goes; !stays {
			old = append(old, key)
		}
	}
	return old, rows.Err()
}
