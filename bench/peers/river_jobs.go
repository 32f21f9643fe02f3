package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Connections of a client: its own work needs few; jobs with commits of their own are faster with many.
const (
	noopConns   = 10
	updateConns = 100
)

// workRiverNoop is River by itself.
func workRiverNoop(ctx context.Context, t task) (figure, error) {
	r, err := openRiver(ctx, t, noopConns, func(context.Context, *pgxpool.Pool, int64) error { return nil })
	if err != nil {
		return figure{}, err
	}
	defer r.pool.Close()
	keys := make([]int64, t.intents)
	for n := range keys {
		keys[n] = int64(n + 1)
	}
	return r.run(ctx, t, keys)
}

// workRiverUpdates is River with jobs that move an intent twice.
func workRiverUpdates(ctx context.Context, t task) (figure, error) {
	s, all, err := seeded(ctx, t)
	if err != nil {
		return figure{}, err
	}
	s.Close()
	r, err := openRiver(ctx, t, updateConns, move)
	if err != nil {
		return figure{}, err
	}
	defer r.pool.Close()
	if err := warm(ctx, r.pool); err != nil {
		return figure{}, err
	}
	keys := make([]int64, len(all))
	for n, in := range all {
		keys[n] = in.Key
	}
	return r.run(ctx, t, keys)
}

func (r *riverRun) run(ctx context.Context, t task, keys []int64) (figure, error) {
	if err := r.insert(ctx, keys); err != nil {
		return figure{}, err
	}
	if err := analyze(ctx, t.dsn); err != nil {
		return figure{}, err
	}
	return r.work(ctx)
}

// Each is a commit of its own: a row that moves, and the event that says so.
const (
	riverClaim = `with i as (
  update intents set state = 3, version = version + 1, changed_at = now(), claim_id = $2, claim_until = now() + interval '1 minute'
  where key = $1 and state = 2 returning key, version)
 insert into intent_events (intent, version, n, at, kind, from_state, to_state, actor, claim_id)
 select key, version, 0, now(), 1, 2, 3, 'river', $2 from i`
	riverComplete = `with i as (
  update intents set state = 5, version = version + 1, changed_at = now(), ref = $3, due_at = null, claim_id = null, claim_until = null
  where key = $1 and state = 3 and claim_id = $2 returning key, version)
 insert into intent_events (intent, version, n, at, kind, from_state, to_state, actor, claim_id, ref)
 select key, version, 0, now(), 1, 3, 5, 'river', $2, $3 from i`
)

// move claims and settles an intent.
func move(ctx context.Context, pool *pgxpool.Pool, key int64) error {
	claim := fmt.Sprintf("claim-%d", key)
	tag, err := pool.Exec(ctx, riverClaim, key, claim)
	if err == nil && tag.RowsAffected() == 1 {
		tag, err = pool.Exec(ctx, riverComplete, key, claim, fmt.Sprintf("none-%d", key))
	}
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("intent %d was moved by another", key)
	}
	return err
}

// warm opens all connections, so that this is not counted.
func warm(ctx context.Context, pool *pgxpool.Pool) error {
	conns := int(pool.Config().MaxConns)
	open := make([]*pgxpool.Conn, conns)
	err := each(ctx, conns, conns, func(ctx context.Context, n int) (err error) {
		open[n], err = pool.Acquire(ctx)
		return err
	})
	for _, c := range open {
		if c != nil {
			c.Release()
		}
	}
	return err
}
