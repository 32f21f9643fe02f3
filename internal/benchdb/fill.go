package benchdb

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// settled is a settled intent with a key slot as the plain path leaves it: four events, one attempt of 120 bytes, one entry.
// The rows of a hundred accounts are made for the numbers from $1 to $2, which are also their keys.
var settled = []string{
	`insert into intents (key, id, route, account, destination, asset, amount, state, version, ref, created_at, changed_at, slot, slot_kind, slot_scope,
	  stored, seen, again_until, first_claimed_at, calls)
	 select n, format('fill_%s', n), 'bench', format('acct_%s', n % 100), '0x52908400098527886E0F7030069857D2E4169EE7', 'ETH', 1000 + n % 1000,
	  5, 4, format('none-fill_%s', n), now(), now(), n, 1, 'none', 1, false, now(), now(), 1
	 from generate_series($1::bigint, $2::bigint) n`,
	`insert into intent_events (intent, version, n, at, kind, from_state, to_state, actor, claim_id, ref)
	 select i, v, 0, now(), 1, v - 1, case when v = 4 then 5 else v end, 'bench', case when v > 2 then md5(i::text) end,
	  case when v = 4 then format('none-fill_%s', i) end
	 from generate_series($1::bigint, $2::bigint) i, generate_series(1, 4) v`,
	`insert into attempts (slot, no, kind, bytes, name)
	 select n, 1, 1, decode(rpad(md5(n::text), 240, md5(n::text)), 'hex'), format('fill_%s', n) from generate_series($1::bigint, $2::bigint) n`,
	`insert into entries (key, account, asset, amount, intent)
	 select n, format('acct_%s', n % 100), 'ETH', -(1000 + n % 1000), n from generate_series($1::bigint, $2::bigint) n`,
}

// end makes the sums right, and fresh keys greater than those that were filled in.
var end = []string{
	`insert into accounts (account, asset, posted) select account, asset, sum(amount) from entries group by account, asset`,
	`select setval('relayer_keys', (select max(key) from intents))`,
}

// scheduled is an authorized intent that came due in the minute before, with its two events, for the keys from $1 to $2.
// Nobody has published it.
var scheduled = []string{
	`insert into intents (key, id, route, account, destination, asset, amount, not_before, state, version, created_at, changed_at, try_at, due_at)
	 select n, $3 || n, 'bench', format('acct_%s', n % 100), '0x52908400098527886E0F7030069857D2E4169EE7', 'ETH', 1000 + n % 1000,
	  t, 2, 2, now(), now(), t, t
	 from generate_series($1::bigint, $2::bigint) n, lateral (select now() - random() * interval '1 minute') l(t)`,
	`insert into intent_events (intent, version, n, at, kind, from_state, to_state, actor)
	 select i, v, 0, now(), 1, v - 1, v, 'bench' from generate_series($1::bigint, $2::bigint) i, generate_series(1, 2) v`,
}

// chunk is how many rows of intents are made in one transaction.
const chunk = 50_000

// Fill makes settled intents, with all that belongs to them, in a migrated database that has none. did is told how many
// more there are.
func (d *DB) Fill(ctx context.Context, rows int, did func(more int)) error {
	db, err := open(d.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := chunks(ctx, db, settled, 0, rows, did); err != nil || rows == 0 {
		return err
	}
	for _, query := range end {
		if _, err := db.ExecContext(ctx, query); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	return nil
}

// Schedule makes intents that came due in the minute before, in a migrated database. Their ids are prefix and key.
func (d *DB) Schedule(ctx context.Context, rows int, prefix string, did func(more int)) error {
	db, err := open(d.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	var last int
	if err := db.QueryRowContext(ctx, "select setval('relayer_keys', nextval('relayer_keys') + $1) - $1", rows).Scan(&last); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	return chunks(ctx, db, scheduled, last, rows, did, prefix)
}

// chunks runs queries for so many keys after the last one, some at a time.
func chunks(ctx context.Context, db *sql.DB, queries []string, last, rows int, did func(more int), args ...any) error {
	for from := last + 1; from <= last+rows; from += chunk {
		to := min(from+chunk-1, last+rows)
		for _, query := range queries {
			n := strings.Count(query, "$3") // only ids need it
			if _, err := db.ExecContext(ctx, query, append([]any{from, to}, args[:min(n, len(args))]...)...); err != nil {
				return fmt.Errorf("fill: %w", err)
			}
		}
		did(to - from + 1)
	}
	return nil
}

// Analyze has the server look at what there is, and put it on disk, as it does by itself some time after so many rows were
// added. Who may not ask for a checkpoint does without.
func (d *DB) Analyze(ctx context.Context) error {
	db, err := open(d.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "vacuum analyze"); err != nil {
		return err
	}
	_, _ = db.ExecContext(ctx, "checkpoint")
	return ctx.Err()
}
