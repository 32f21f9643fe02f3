package pgstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// columns are those of intents i, in the order in which read reads them.
const columns = `i.key, i.id, i.route, i.account, i.destination, i.asset, i.amount, i.not_before, i.expires_at, i.lane,
 i.metadata, i.traceparent, i.state, i.version, i.ref, i.reason, i.created_at, i.changed_at, i.slot, i.slot_kind,
 i.slot_scope, i.slot_number, i.slot_name, i.cost, i.stored, i.seen, i.again_until, i.first_claimed_at, i.claim_id,
 i.claim_until, i.calls, i.silent, i.looks, i.try_at, i.due_at, i.watch_at`

// fieldsRead is how many of them there are, with the clock and the switch.
const fieldsRead = 38

// stopped says whether nothing may be claimed at all: the database forgot what it had committed, or a server has just taken
// over, and not every process had the time to look whether it did. A clock that was put back stops nobody for longer.
const stopped = `(exists (select from recoveries where ended_at is null)
 or exists (select from servers where seen_at between clock_timestamp() - interval '10 seconds' and clock_timestamp() + interval '10 seconds'))`

// reading is a select of whole intents. The clock is told for each row when it is had, so under lock it is later than
// the lock; the route's switch is read beside it. Each row comes as one value: see fields.
func reading(from string) string {
	return `select record_send(row(clock_timestamp(), coalesce(r.paused, false) or ` + stopped + `, ` + columns +
		`)) from (` + from + `) i left join routes r on r.route = i.route`
}

// row is an intent as it is kept.
type row struct {
	intents.Intent
	looks int // how often the sweeper has looked since the version was raised
}

// read reads one row of a reading.
func (r *row) read(sent []byte) error {
	f, in := newFields(sent, fieldsRead), &r.Intent
	in.ReadAt, in.Paused = f.time(), f.bool()
	in.Key, in.ID, in.Route, in.Account, in.Destination, in.Asset = f.int8(), f.text(), f.text(), f.text(), f.text(), f.text()
	in.Amount, in.NotBefore, in.ExpiresAt, in.Lane = f.amount(), f.time(), f.time(), f.text()
	metadata := f.text()
	in.Traceparent, in.State, in.Version = f.text(), intents.State(f.int2()), f.int4()
	in.Ref, in.Reason, in.CreatedAt, in.ChangedAt = f.text(), intents.Reason(f.text()), f.time(), f.time()
	in.Slot = intents.Slot{ID: f.int8(), Kind: intents.SlotKind(f.int2()), Scope: f.text(), Number: f.int8(), Name: f.text()}
	in.Cost, in.Stored, in.Seen = f.amount(), f.int4(), f.bool()
	in.AgainUntil, in.FirstClaimedAt, in.ClaimID, in.ClaimUntil = f.time(), f.time(), f.text(), f.time()
	in.Calls, in.Silent, r.looks = f.int4(), f.int4(), f.int4()
	in.TryAt, in.DueAt, in.WatchAt = f.time(), f.time(), f.time()
	if err := f.done(); err != nil {
		return badRow(fmt.Errorf("read intent: %w", err))
	}
	if in.Slot.Kind == intents.Key {
		in.Slot.Name = in.ID
	}
	if metadata == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(metadata), &in.Metadata); err != nil {
		return badRow(fmt.Errorf("read metadata of intent %s: %w", in.ID, err))
	}
	return nil
}

// load reads the intents of a reading, in its order, and appends them.
func load(ctx context.Context, q queryer, all []row, query string, args ...any) ([]row, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var sent sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&sent); err != nil {
			return nil, err
		}
		all = append(all, row{})
		if err := all[len(all)-1].read(sent); err != nil {
			return nil, err
		}
	}
	return all, rows.Err()
}

// held is a set of intents under lock. A committer keeps its memory from batch to batch.
type held struct {
	now  time.Time // the database's clock when the last of them was locked
	rows map[int64]*row
	read []row
}

// The lock is taken in a subquery: its rows come out locked, in the order of their keys, and only then is the clock told.
var lockIntents = reading(`select * from intents where key = any($1) order by key for update`)

// lock locks intents in the order of their keys and reads them.
func (h *held) lock(ctx context.Context, q queryer, ks []int64) (err error) {
	h.now = time.Time{}
	clear(h.rows)
	if h.read, err = load(ctx, q, slices.Grow(h.read[:0], len(ks)), lockIntents, keys(ks)); err != nil {
		return err
	}
	if h.rows == nil {
		h.rows = make(map[int64]*row, len(ks))
	}
	for i := range h.read {
		h.rows[h.read[i].Key] = &h.read[i]
		h.tell(h.read[i].ReadAt)
	}
	return nil
}

// show gives an intent as it stands after a change, read at the given time.
func show(in intents.Intent, now time.Time) intents.Intent {
	in.ReadAt = now
	return in
}

// text reads a text or null.
type text string

func (t *text) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = ""
	case string:
		*t = text(v)
	case []byte:
		*t = text(v)
	default:
		return fmt.Errorf("cannot read %T as text", src)
	}
	return nil
}

// nullInt reads an int or null.
type nullInt int64

func (n *nullInt) Scan(src any) error {
	v, _ := src.(int64)
	*n = nullInt(v)
	return nil
}

// stamp reads a timestamptz or null into a time, in UTC.
type stamp struct{ t *time.Time }

func (s stamp) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*s.t = time.Time{}
	case time.Time:
		*s.t = v.UTC()
	default:
		return fmt.Errorf("cannot read %T as a time", src)
	}
	return nil
}
