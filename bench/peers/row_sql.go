package main

import (
	"context"
	"errors"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver
)

// Each is a commit of its own, and writes what the relayer's batches write for an intent.
const (
	readRow  = `select key, version, state from intents where id = $1`
	claimRow = `with i as (
  update intents set state = 3, version = version + 1, changed_at = now(), slot = key, slot_kind = 1, slot_scope = 'none', stored = 1,
   again_until = now(), first_claimed_at = now(), claim_id = $3, claim_until = now() + interval '1 minute', calls = 1
  where key = $1 and version = $2 and state = 2 returning *),
 e as (insert into intent_events (intent, version, n, at, kind, from_state, to_state, actor, claim_id)
  select key, version, 0, now(), 1, 2, 3, 'row', $3 from i),
 a as (insert into attempts (slot, no, kind, bytes, name) select key, 1, 1, $4, id from i),
 m as (insert into accounts as a (account, asset, pending) select account, asset, amount from i
  on conflict (account, asset) do update set pending = a.pending + excluded.pending)
 select version from i`
	completeRow = `with i as (
  update intents set state = 5, version = version + 1, changed_at = now(), ref = $4, due_at = null, claim_id = null, claim_until = null
  where key = $1 and version = $2 and state = 3 and claim_id = $3 returning *),
 e as (insert into intent_events (intent, version, n, at, kind, from_state, to_state, actor, claim_id, ref)
  select key, version, 0, now(), 1, 3, 5, 'row', $3, ref from i),
 m as (insert into accounts as a (account, asset, posted, pending) select account, asset, -amount, -amount from i
  on conflict (account, asset) do update set posted = a.posted + excluded.posted, pending = a.pending + excluded.pending),
 n as (insert into entries (account, asset, amount, intent) select account, asset, -amount, key from i)
 select version from i`
)

// openRows prepares the statements.
func openRows(dsn string) (*rows, error) {
	db, err := sqlx.Open("postgres", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(rowConns)
	db.SetMaxIdleConns(rowConns)
	r := &rows{db: db}
	var bad [3]error
	r.read, bad[0] = db.Preparex(readRow)
	r.claim, bad[1] = db.Preparex(claimRow)
	r.complete, bad[2] = db.Preparex(completeRow)
	if err := errors.Join(bad[:]...); err != nil {
		db.Close()
		return nil, err
	}
	return r, nil
}

// settle reads, claims and settles. Nought rows, moved by another, are an error here.
func (r *rows) settle(ctx context.Context, id string) error {
	var in struct {
		Key     int64
		Version int
		State   int
	}
	if err := r.read.GetContext(ctx, &in, id); err != nil {
		return err
	}
	claim := "claim-" + id
	if err := r.claim.GetContext(ctx, &in.Version, in.Key, in.Version, claim, payload(id)); err != nil {
		return err
	}
	return r.complete.GetContext(ctx, &in.Version, in.Key, in.Version, claim, "none-"+id)
}

// warm opens all connections, so that this is not counted.
func (r *rows) warm(ctx context.Context) error {
	open := make([]*sqlx.Conn, rowConns)
	err := each(ctx, rowConns, rowConns, func(ctx context.Context, n int) (err error) {
		open[n], err = r.db.Connx(ctx)
		return err
	})
	for _, c := range open {
		if c != nil {
			_ = c.Close() // back to the pool
		}
	}
	return err
}
