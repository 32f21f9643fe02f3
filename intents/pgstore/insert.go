package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Keys are drawn in the order of arrival, rows are stored in the order of ids: two processes that store the same ids
// wait for each other at the unique index, and in one order neither waits for ever. What is there already is left out.
const insertIntents = `with u as materialized (
 select nextval('relayer_keys') as key, u.* from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
  $7::timestamptz[], $8::timestamptz[], $9::text[], $10::text[], $11::text[], $12::smallint[], $13::int[], $14::timestamptz[], $15::timestamptz[])
  u(id, route, account, destination, asset, amount, not_before, expires_at, lane, metadata, traceparent, state, version, try_at, due_at)
), i as (
 insert into intents (key, id, route, account, destination, asset, amount, not_before, expires_at, lane, metadata, traceparent,
  state, version, created_at, changed_at, try_at, due_at)
 select key, id, route, account, destination, asset, amount::numeric, not_before, expires_at, lane, metadata::json, traceparent,
  state, version, $16::timestamptz, $16::timestamptz, try_at, due_at from u order by id
 on conflict (id) do nothing returning key, id, route
)
select i.key, i.id, coalesce((select r.paused from routes r where r.route = i.route), false) or ` + stopped + ` from i`

var insertTypes = []uint32{oidText, oidText, oidText, oidText, oidText, oidText, oidTimestamptz, oidTimestamptz, oidText, oidText, oidText,
	oidInt2, oidInt4, oidTimestamptz, oidTimestamptz}

// insert stores intents nobody knows, with their first events, and returns those it stored.
func insert(ctx context.Context, q writer, ops []takeOp, now time.Time) ([]intents.Intent, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	opened, args, err := open(ops, now)
	if err != nil {
		return nil, err
	}
	stored, s, err := insertRows(ctx, q, opened, append(args, now))
	if err != nil {
		return nil, err
	}
	_, err = s.write(ctx, q)
	return stored, err
}

// insertRows stores the rows and returns those that are new, with what is to be told of them.
func insertRows(ctx context.Context, q queryer, opened map[string][]intents.Change, args []any) (stored []intents.Intent, s sheet, _ error) {
	rows, err := q.QueryContext(ctx, insertIntents, args...)
	if err != nil {
		return nil, s, err
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		var id string
		var paused bool
		if err := rows.Scan(&key, &id, &paused); err != nil {
			return nil, s, badRow(err)
		}
		changes := opened[id]
		for _, c := range changes {
			s.events = append(s.events, event{key, c.Event})
		}
		in := trim(changes[len(changes)-1].After)
		in.Key, in.Paused, in.ReadAt = key, paused, in.CreatedAt
		stored = append(stored, in)
	}
	return stored, s, rows.Err()
}

// open decides how intents begin, and makes their rows.
func open(ops []takeOp, now time.Time) (map[string][]intents.Change, []any, error) {
	opened := make(map[string][]intents.Change, len(ops))
	c := newColumns(insertTypes, len(ops))
	for _, op := range ops {
		changes := intents.Open(asked(op.in), op.authorize, op.actor, now)
		if op.quiet {
			changes = intents.Unannounced(changes)
		}
		in := trim(changes[len(changes)-1].After)
		metadata, err := metadataOf(in)
		if err != nil {
			return nil, nil, badRow(err)
		}
		opened[in.ID] = changes
		for i, s := range []string{in.ID, in.Route, in.Account, in.Destination, in.Asset, in.Amount.String()} {
			c[i].text(s)
		}
		c[6].time(in.NotBefore)
		c[7].time(in.ExpiresAt)
		c[8].textOrNull(in.Lane)
		c[9].textOrNull(metadata)
		c[10].textOrNull(in.Traceparent)
		c[11].int2(int16(in.State))
		c[12].int4(in.Version)
		c[13].time(in.TryAt)
		c[14].time(in.DueAt)
	}
	return opened, c.args(), nil
}

// asked is what an intent asks for, without anything about where it might stand.
func asked(in intents.Intent) intents.Intent {
	return intents.Intent{ID: in.ID, Route: in.Route, Account: in.Account, Destination: in.Destination, Asset: in.Asset,
		Amount: in.Amount, NotBefore: cut(in.NotBefore), ExpiresAt: cut(in.ExpiresAt), Lane: in.Lane, Metadata: in.Metadata,
		Traceparent: in.Traceparent}.Clone()
}

// cut cuts a time to what the database keeps.
func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func metadataOf(in intents.Intent) (string, error) {
	if len(in.Metadata) == 0 {
		return "", nil
	}
	b, err := json.Marshal(in.Metadata)
	if err != nil {
		return "", fmt.Errorf("metadata of intent %s: %w", in.ID, err)
	}
	return string(b), nil
}
