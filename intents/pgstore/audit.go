package pgstore

import (
	"context"
	"database/sql"
	"fmt"
)

// check is one thing that must add up: a query that finds what does not, as lines of text.
type check struct{ name, query string }

// checks compare what is stored with what it is derived from.
var checks = []check{
	{"pending is what intents hold", `select format('account %s %s: pending is %s, intents hold %s', coalesce(a.account, h.account), coalesce(a.asset, h.asset),
 coalesce(a.pending, 0), coalesce(h.held, 0))
 from accounts a full join (select account, asset, sum(amount + coalesce(cost, 0)) as held from intents where state in (3, 4, 8) group by account, asset) h
 on a.account = h.account and a.asset = h.asset where coalesce(a.pending, 0) <> coalesce(h.held, 0)`},
	{"posted is the sum of entries", `select format('account %s %s: posted is %s, entries come to %s', coalesce(a.account, e.account), coalesce(a.asset, e.asset),
 coalesce(a.posted, 0), coalesce(e.sum, 0))
 from accounts a full join (select account, asset, sum(amount) from entries group by account, asset) e
 on a.account = e.account and a.asset = e.asset where coalesce(a.posted, 0) <> coalesce(e.sum, 0)`},
	{"what settled was captured once", `select format('intent %s is in state %s and has %s entries', i.id, i.state, count(e.key))
 from intents i left join entries e on e.intent = i.key group by i.key having count(e.key) <> (case when i.state = 5 then 1 else 0 end)`},
	{"open intents are due some day", `select format('intent %s is in state %s and never due', id, state) from intents
 where due_at is null and (state in (2, 3, 4, 8) or state = 1 and expires_at is not null)`},
	{"final intents are never due", `select format('intent %s is in state %s and due at %s', id, state, due_at) from intents
 where (due_at is not null or watch_at is not null) and state in (5, 6, 7)`},
	{"each version has its event", `select format('intent %s: version is %s, changes are %s', i.id, i.version, count(e.n))
 from intents i left join intent_events e on e.intent = i.key and e.n = 0 and e.version between 1 and i.version group by i.key having count(e.n) <> i.version`},
	{"stored counts the bytes of the slot", `select format('intent %s: stored is %s, attempts are %s', i.id, i.stored, count(a.no))
 from intents i left join attempts a on a.slot = i.slot
 where not exists (select from slots s where s.key = i.slot and s.filler) group by i.key having count(a.no) <> i.stored`},
	{"open slots have an intent that holds them", `select format('slot %s#%s is open without an intent', s.scope, coalesce(s.number::text, s.name))
 from slots s left join intents i on i.key = s.intent where s.closed_at is null and not s.filler
 and (i.key is null or i.slot is distinct from s.key or i.state in (5, 6, 7))`},
	{"no number was given out too early", `select format('slot %s#%s was given out too early', s.scope, s.number)
 from slots s left join signers g on g.scope = s.scope where s.kind = 2 and (g.next is null or s.number >= g.next)`},
}

// Audit compares sums with what they are derived from and says what does not add up; nothing when all does. It reads every
// intent, in one snapshot.
func (s *Store) Audit(ctx context.Context) ([]string, error) {
	tx, err := s.pool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, unavailable(err)
	}
	defer func() { _ = tx.Rollback() }() // it wrote nothing
	var all []string
	for _, c := range checks {
		found, err := lines(ctx, tx, c.query)
		if err != nil {
			return nil, fmt.Errorf("audit, %s: %w", c.name, ofPool(err))
		}
		all = append(all, found...)
	}
	return all, nil
}

func lines(ctx context.Context, q queryer, query string) ([]string, error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		all = append(all, line)
	}
	return all, rows.Err()
}
