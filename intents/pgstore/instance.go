package pgstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	// What has been silent for a day is gone; who beats clears up.
	upsertInstance = `with gone as (delete from instances where seen_at < clock_timestamp() - interval '1 day' and name <> $1)
insert into instances (name, started_at, seen_at, info) values ($1, clock_timestamp(), clock_timestamp(), $2::json)
 on conflict (name) do update set seen_at = excluded.seen_at, info = excluded.info`
	takeInstance    = `delete from instances where name = $1 returning ` + instanceColumns
	selectInstances = `select ` + instanceColumns + ` from instances order by name`
	instanceColumns = `name, started_at, seen_at, info`
)

// Beat tells of a process that it lives.
func (s *Store) Beat(ctx context.Context, name string, p intents.Pulse) error {
	info, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return s.exec(ctx, upsertInstance, name, string(info))
}

// Leave takes a process out of the list, and returns what it last told; false where it was not there. A process that ends
// well leaves: whom one finds at the start of the same name has not, or still lives.
func (s *Store) Leave(ctx context.Context, name string) (was intents.Instance, found bool, err error) {
	err = s.tx(ctx, func(ctx context.Context, tx *poolTx) error {
		was, err = scanInstance(tx.QueryRowContext(ctx, takeInstance, name))
		found = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return was, found && err == nil, err
}

// Instances reads the processes that have told of themselves within a day and have not left, by name.
func (s *Store) Instances(ctx context.Context) ([]intents.Instance, error) {
	rows, err := s.pool.QueryContext(ctx, selectInstances)
	if err != nil {
		return nil, ofPool(err)
	}
	defer rows.Close()
	var all []intents.Instance
	for rows.Next() {
		i, err := scanInstance(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	return all, ofRead(rows.Err())
}

func scanInstance(row interface{ Scan(...any) error }) (intents.Instance, error) {
	var i intents.Instance
	var info []byte
	if err := row.Scan(&i.Name, stamp{&i.StartedAt}, stamp{&i.SeenAt}, &info); err != nil {
		return i, err
	}
	_ = json.Unmarshal(info, &i.Pulse) // of another version: what is not understood is left out
	return i, nil
}
