package pgstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

const selectAttempts = `select slot, no, kind, bytes, name, expiry_kind, expiry_at from attempts where slot = any($1) order by slot, no`

// readAttempts reads what is stored in slots, by number. The attempts come without their slot.
func readAttempts(ctx context.Context, q queryer, slots []int64) (map[int64][]intents.Attempt, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	rows, err := q.QueryContext(ctx, selectAttempts, keys(slots))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[int64][]intents.Attempt{}
	for rows.Next() {
		var slot int64
		var a intents.Attempt
		if err := rows.Scan(&slot, &a.No, &a.Kind, &a.Bytes, &a.Name, &a.Expiry.Kind, &a.Expiry.At); err != nil {
			return nil, badRow(err)
		}
		found[slot] = append(found[slot], a)
	}
	return found, rows.Err()
}

// run runs a statement for its effect.
func run(ctx context.Context, q queryer, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() { // to its end: an error may come late
	}
	return rows.Err()
}
