package pgstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// everything chooses whatever is final.
func everything() intents.Prune { return intents.Prune{Before: time.Now().Add(time.Hour)} }

func pruned(tb testing.TB, s *Store, p intents.Prune) intents.Pruned {
	tb.Helper()
	done, err := s.Prune(context.Background(), p, nil)
	if err != nil {
		tb.Fatalf("prune: %v", err)
	}
	return done
}

// numbered settles an intent with a number of the signer "sig".
func numbered(tb testing.TB, s *Store, id string, end bool) intents.Claimed {
	tb.Helper()
	c := keyed(made(tb, s, id))
	c.Attempt, c.Plan.Slot, c.Plan.Scope = nil, intents.Counter, "sig"
	cl, err := s.Claim(tb.Context(), c)
	if err == nil {
		_, err = s.Attach(tb.Context(), intents.Attempt{Slot: cl.Slot(), No: 1, Kind: intents.First, Bytes: []byte(id), Name: id})
	}
	if err == nil && end {
		_, err = s.Record(tb.Context(), []intents.Watch{{Intent: cl.Intent, Slot: cl.Slot()}}, []intents.Observation{{Slot: cl.Slot(), No: 1, Fact: intents.Final}}, intents.Patience{})
	}
	if err != nil {
		tb.Fatal(err)
	}
	return cl
}

// Nothing is left of what was pruned but tombstones, entries, and the numbers of a signer above the lowest that is needed.
// It all adds up before and after, and the entry of each still finds its intent.
func TestPruneLeavesNothing(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	if _, err := s.OpenSigner(t.Context(), intents.Signer{Scope: "sig", Next: 5, Window: 8}); err != nil {
		t.Fatal(err)
	}
	settle(t, s, made(t, s, "pi_key"))
	for i, open := range []string{"", "", "open", "", ""} {
		numbered(t, s, fmt.Sprint("pi_", i, open), open == "")
	}
	do(t, db, "insert into dead_letters (topic, hash, body, size, reason, detail, message_id, route, last_at) values ('t', '', '', 0, 'invalid', '', '', '', now() - interval '1 year')")
	done := pruned(t, s, everything())
	if done.Total() != 5 || done.Slots != 2 {
		t.Errorf("pruned %+v, want 5 intents, and the numbers 5 and 6", done)
	}
	const rows = `select format('%s intents, %s events, %s attempts, slots %s, %s tombstones, %s entries, %s letters', (select count(*) from intents), (select count(*) from intent_events),
 (select count(*) from attempts), (select string_agg(number::text, ' ' order by number) from slots), (select count(*) from tombstones), (select count(*) from entries), (select count(*) from dead_letters))`
	if got, want := ask[string](t, db, rows), "1 intents, 3 events, 1 attempts, slots 7 8 9, 5 tombstones, 5 entries, 1 letters"; got != want {
		t.Errorf("left: %s, want %s", got, want)
	}
	if n := ask[int](t, db, "select count(*) from entries e join tombstones t on t.key = e.intent"); n != 5 {
		t.Errorf("%d entries find their tombstone, want 5", n)
	}
	audited(t, s)
}

// The lowest numbers of a signer go only from the lowest on, and only those that were closed for long.
func TestPruneNumbersInARow(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	if _, err := s.OpenSigner(t.Context(), intents.Signer{Scope: "sig", Next: 1, Window: 16}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		numbered(t, s, fmt.Sprint("pi_", i), true)
	}
	// A stranger used number 5 just now: no intent is left of it either, and it stays.
	do(t, db, "insert into slots (key, kind, scope, number, route, intent, closed_at) values (nextval('relayer_keys'), 2, 'sig', 5, '', 0, now()); update signers set next = 6")
	do(t, db, "update slots set closed_at = closed_at - interval '2 days' where number < 5; update intents set changed_at = changed_at - interval '2 days', created_at = created_at - interval '2 days' where id <> 'pi_2'")
	if done := pruned(t, s, intents.Prune{Before: time.Now().Add(-24 * time.Hour)}); done.Total() != 3 || done.Slots != 2 {
		t.Errorf("pruned %+v, want 3 intents, and 2 numbers below that of pi_2", done)
	}
	const left = "select string_agg(number::text, ' ' order by number) from slots"
	if got := ask[string](t, db, left); got != "3 4 5" {
		t.Errorf("numbers left: %s", got)
	}
	audited(t, s)
	do(t, db, "update intents set changed_at = changed_at - interval '2 days', created_at = created_at - interval '2 days'")
	if done := pruned(t, s, intents.Prune{Before: time.Now().Add(-24 * time.Hour)}); done.Total() != 1 || done.Slots != 2 {
		t.Errorf("then pruned %+v, want pi_2, and the numbers 3 and 4", done)
	}
	if got := ask[string](t, db, left); got != "5" {
		t.Errorf("numbers left then: %s", got)
	}
	audited(t, s)
}

// What somebody has locked is left for the next time, and not waited for.
func TestPruneWaitsForNobody(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, with(dsn, "lock_timeout=200")), database(t, dsn)
	for _, id := range []string{"pi_1", "pi_2", "pi_3"} {
		settle(t, s, made(t, s, id))
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	do(t, tx, "select from intents where id = 'pi_2' for update")
	if done := pruned(t, s, everything()); done.Total() != 2 {
		t.Errorf("pruned %+v, want the two that are free", done)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if done := pruned(t, s, everything()); done.Total() != 1 {
		t.Errorf("then pruned %+v, want the third", done)
	}
}

// A row and its tombstone change places in one commit: who asks meanwhile always gets one of them. Prunes of two processes
// and fresh intents run beside.
func TestPruneBesideTraffic(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, other, db := openStore(t, dsn), openStore(t, dsn), database(t, dsn)
	ins := seed(t, s, 1200)
	each(ins, func(in intents.Intent) { settle(t, s, in) })
	ctx, stop := context.WithCancel(context.Background())
	var beside sync.WaitGroup
	for range 4 {
		beside.Go(func() { keepAsking(ctx, t, s, ins) })
	}
	beside.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			settle(t, s, made(t, s, fmt.Sprint("fresh_", i)))
		}
	})
	before := ask[time.Time](t, db, "select clock_timestamp()")
	var both sync.WaitGroup
	totals := make([]int, 2)
	for i, st := range []*Store{s, other} {
		both.Go(func() {
			done, err := st.Prune(context.Background(), intents.Prune{Before: before}, nil)
			if err != nil {
				t.Errorf("prune: %v", err)
			}
			totals[i] = done.Total()
		})
	}
	both.Wait()
	stop()
	beside.Wait()
	gone := totals[0] + totals[1]
	if n := ask[int](t, db, "select count(*) from tombstones"); n != gone || gone < len(ins) {
		t.Errorf("%v pruned, %d tombstones; want all of %d, once", totals, n, len(ins))
	}
	audited(t, s)
}

// keepAsking brings the messages of intents again and again.
func keepAsking(ctx context.Context, t *testing.T, s *Store, ins []intents.Intent) {
	for i := 0; ctx.Err() == nil; i++ {
		in := ins[i*7919%len(ins)]
		m := intents.Message{ID: in.ID, Route: in.Route, Full: true, Intent: in, Actor: "tester"}
		if got, err := s.Take(context.Background(), m); err != nil || got.State != intents.Settled || got.Key != in.Key {
			t.Errorf("%s again: %+v, %v", in.ID, got, err)
			return
		}
	}
}

// A prune that is stopped has pruned what it told, and goes on when it is run again.
func TestPruneGoesOn(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	each(seed(t, s, prunePage+20), func(in intents.Intent) { settle(t, s, in) })
	ctx, stop := context.WithCancel(t.Context())
	told := 0
	if _, err := s.Prune(ctx, everything(), func(more int) { told += more; stop() }); err == nil {
		t.Error("a prune whose context has ended says nothing")
	}
	if n := ask[int](t, db, "select count(*) from tombstones"); n != told || told == 0 {
		t.Errorf("%d tombstones, told %d", n, told)
	}
	if done := pruned(t, s, everything()); done.Total() != prunePage+20-told {
		t.Errorf("then pruned %d after %d", done.Total(), told)
	}
	audited(t, s)
}

// filled is a database of n intents: see fill.
func filled(tb testing.TB, dsn string, n int) *sql.DB {
	tb.Helper()
	db := database(tb, dsn)
	for q := range strings.SplitSeq(fmt.Sprintf(fill, n), ";\n") {
		do(tb, db, q) // one by one: vacuum runs alone
	}
	return db
}

// Each page of a prune is found by key, and what is its by index, in a large table.
func TestPrunePlans(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), filled(t, dsn, 5_000)
	for name, q := range map[string]string{
		"page": pageOfIntents, "aged": lockAged, "slots": openSlots, "alarms": alarms, "events": "with t as (select 1) " + deleteEvents,
		"attempts": deleteAttempts, "intents": deleteIntents, "numbers": lowNumbers, "pruned": prunedIntent,
	} {
		q = strings.NewReplacer("any($1)", "any('{5,6,7}'::bigint[])", "any($2)", "any('{5,6,7}'::bigint[])", "any(?)", "any('{5,6,7}'::bigint[])",
			"$1::bigint", "5", "scope = $1", "scope = 'sig'", "$1", "5", "key <= $2", "key <= 505", "$2", "now()", "changed_at < $3", "changed_at < now()", "$3", "500", "$4", "''").Replace(q)
		if p := plan(t, db, q); strings.Contains(p, "Seq Scan on intents") || strings.Contains(p, "Seq Scan on intent_events") || strings.Contains(p, "Seq Scan on attempts") {
			t.Errorf("%s reads a whole table:\n%s", name, p)
		}
	}
	if done := pruned(t, s, everything()); done.Total() != 4_950 || done.Slots != 0 {
		t.Errorf("pruned %+v, want all that is settled", done)
	}
	audited(t, s)
}

// plan explains a query with its values in it.
func plan(tb testing.TB, db *sql.DB, query string) string {
	tb.Helper()
	rows, err := db.QueryContext(context.Background(), "explain "+query)
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
