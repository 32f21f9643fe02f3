package pgstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// On the plain path of key slots a claim changes no indexed column, so at least half of the updates are HOT: they touch no
// index. A result of 202 sets watch_at once; a final one clears due_at.
func TestPlainPathIsHOT(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	ins := seed(t, s, 1000)
	each(ins, func(in intents.Intent) {
		if _, err := s.Claim(context.Background(), keyed(in)); err != nil {
			t.Errorf("claim: %v", err)
		}
	})
	s.Close() // a backend tells its statistics at the latest when it ends
	const stats = "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'intents'"
	var updates, hot int
	until(t, "the updates are counted", func() bool {
		if err := db.QueryRow(stats).Scan(&updates, &hot); err != nil {
			t.Fatal(err)
		}
		return updates >= len(ins)
	})
	t.Logf("%d of %d updates by claims are HOT", hot, updates)
	if 2*hot < updates {
		t.Errorf("%d of %d updates are HOT, want half", hot, updates)
	}
}

// No index names state: one that did would make every change of state rewrite all indexes.
func TestNoIndexNamesState(t *testing.T) {
	t.Parallel()
	db := database(t, pgtest.New(t, migrate))
	if n := ask[int](t, db, "select count(*) from pg_indexes where tablename = 'intents'"); n != 8 {
		t.Errorf("intents has %d indexes, want 8", n)
	}
	if n := ask[int](t, db, `select count(*) from pg_indexes where tablename = 'intents' and indexdef ~ '\mstate\M'`); n != 0 {
		t.Errorf("%d indexes name state", n)
	}
}

// explained gives the plan of a statement as a committer's connection would make it, for arrays of any length.
func explained(t *testing.T, db *sql.Conn, query string, types string) string {
	t.Helper()
	do(t, db, "deallocate all")
	do(t, db, "prepare p("+types+") as "+query)
	nulls := strings.TrimSuffix(strings.Repeat("null,", strings.Count(types, ",")+1), ",")
	rows, err := db.QueryContext(t.Context(), "explain execute p("+nulls+")")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, line)
	}
	return strings.Join(plan, "\n")
}

// A committer's plans are made once, perhaps on an empty table that was never analyzed. They must be right for a large one
// as well: by index, row by row.
func TestPlansOfAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	cfg, err := parse(pgtest.New(t, migrate))
	if err != nil {
		t.Fatal(err)
	}
	connector, err := committing(cfg, time.Second).connector(nil)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	alike, mixed := &statement{}, &statement{}
	(&sheet{rows: []moved{{}}}).writeRows(alike)
	(&sheet{rows: []moved{{looks: 1}, {looks: 2}}}).writeRows(mixed)
	unknown := func(b *statement) string { return strings.TrimSuffix(strings.Repeat("unknown,", len(b.args)), ",") }
	for _, q := range []struct{ name, query, types, index string }{
		{"lock", lockIntents, "bigint[]", "intents_key"},
		{"read", readIntents, "text[]", "intents_id"},
		{"update", alike.text("select 1"), unknown(alike), "intents_key"},
		{"update of rows that differ", mixed.text("select 1"), unknown(mixed), "intents_key"},
		{"accounts", lockAccounts, "text[], text[]", "accounts_key"},
		{"lanes", selectLanes, "text[], text[]", "intents_lane"},
		{"attempts", selectAttempts, "bigint[]", "attempts_key"},
		{"endings", selectEndings, "bigint[], int[]", "intent_events_key"},
		{"open slots", countOpen, "text[]", "slots_open"},
		{"slots", selectSlots, "bigint[]", "slots_key"},
		{"count", countStored, "bigint[]", "intents_key"},
	} {
		plan := explained(t, conn, q.query, q.types)
		if !strings.Contains(plan, q.index) || strings.Contains(plan, "Seq Scan on intents") || strings.Contains(plan, "Hash Join") {
			t.Errorf("%s: want index %s, row by row:\n%s", q.name, q.index, plan)
		}
	}
}

// The sweeper and the observer find what is due by index in a table where little is.
func TestDueIsFoundByIndex(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	each(seed(t, s, 2000), func(in intents.Intent) { settle(t, s, in) })
	do(t, db, "analyze intents")
	for name, q := range map[string]struct{ query, index string }{
		"due":     {dueIntents, "intents_due"},
		"watched": {watchedIntents, "intents_watch"},
	} {
		query := strings.NewReplacer("$1", "'payouts'", "$2", "100").Replace(q.query)
		rows, err := db.Query("explain " + query)
		if err != nil {
			t.Fatal(err)
		}
		var plan strings.Builder
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plan.WriteString(line + "\n")
		}
		if !strings.Contains(plan.String(), q.index) {
			t.Errorf("%s does not use %s:\n%s", name, q.index, plan.String())
		}
	}
}

// A row in a state of a newer version is left alone: nobody sweeps, observes, claims or cancels it, and it can be read.
func TestUnknownStateIsLeftAlone(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	in := made(t, s, "pi_1")
	do(t, db, "update intents set state = 42, stored = 1, due_at = now() - interval '1 hour', watch_at = now() - interval '1 hour'")
	in = got(t, s, in.ID)
	if in.State != intents.State(42) || in.State.Known() {
		t.Fatalf("state is %s", in.State)
	}
	if ins, err := s.Sweep(t.Context(), in.Route, 10); err != nil || len(ins) != 0 {
		t.Errorf("swept: %v, %v", ins, err)
	}
	if ws, err := s.Watches(t.Context(), in.Route, 10); err != nil || len(ws) != 0 {
		t.Errorf("watched: %v, %v", ws, err)
	}
	if _, err := s.Claim(t.Context(), keyed(in)); err == nil {
		t.Error("claimed")
	}
	if _, err := s.Cancel(t.Context(), in.ID, "tester"); err == nil {
		t.Error("canceled")
	}
	if now := got(t, s, in.ID); now.Version != in.Version || !now.DueAt.Equal(in.DueAt) {
		t.Errorf("changed: %+v", now)
	}
}

// What stays of a pruned intent still answers for its id.
func TestTombstones(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	in := someIntent("pi_1", 0)
	hash := in.Hash()
	do(t, db, "insert into tombstones (id, key, route, hash, state, version, created_at) values ('pi_1', 7, 'payouts', decode($1, 'hex'), 5, 4, now())", hash.String())
	for name, m := range map[string]intents.Message{
		"full":      {ID: in.ID, Route: in.Route, Full: true, Intent: in},
		"reference": {ID: in.ID, Route: in.Route},
	} {
		if got, err := s.Take(t.Context(), m); err != nil || got.State != intents.Settled || got.ID != in.ID {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	in.Amount = intents.NewAmount(1)
	if _, err := s.Take(t.Context(), intents.Message{ID: in.ID, Route: in.Route, Full: true, Intent: in}); err == nil || !strings.Contains(err.Error(), "content") {
		t.Errorf("other content: %v", err)
	}
	if _, err := s.Take(t.Context(), intents.Message{ID: in.ID, Route: "other"}); err == nil || !strings.Contains(err.Error(), "route") {
		t.Errorf("other route: %v", err)
	}
	if n := ask[int](t, db, "select count(*) from intents"); n != 0 {
		t.Errorf("%d intents were stored", n)
	}
}

// Case 11: a dead letter whose body, detail and ids hold NULs and bytes that are no UTF-8 is kept, and the body as it came.
func TestDeadLetterWithNUL(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	letter := intents.DeadLetter{Topic: "intents.payouts", Hash: [32]byte{1}, Body: []byte("{\"id\":\"a\x00b\xff\"}"), Size: 13,
		Reason: intents.DeadInvalid, Detail: "id: \"a\x00b\xff\"", MessageID: "0\x00f", Route: "payouts"}
	if err := s.Bury(t.Context(), letter); err != nil {
		t.Fatal(err)
	}
	all, err := s.DeadLetters(t.Context(), 10)
	if err != nil || len(all) != 1 {
		t.Fatalf("letters: %v, %v", all, err)
	}
	if string(all[0].Body) != string(letter.Body) || all[0].Hash != letter.Hash || all[0].Detail != "id: \"a\uFFFDb\uFFFD\"" {
		t.Errorf("kept as %+v", all[0])
	}
}

// Case 16: an id or a text of any length is stored or refused with an error of its own; nothing loops.
func TestOversized(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	in := someIntent("pi_1", 0)
	in.Metadata = map[string]string{"memo": strings.Repeat("m", 1<<20)}
	if got, err := s.Create(t.Context(), in, true, "tester"); err != nil || len(got.Metadata["memo"]) != 1<<20 {
		t.Errorf("a memo of 1 MiB: %v", err)
	}
	id := strings.Builder{}
	for i := range 2000 {
		fmt.Fprintf(&id, "%x", i*2654435761)
	}
	if _, err := s.Create(t.Context(), someIntent(id.String(), 0), true, "tester"); err == nil {
		t.Error("an id too long for its index was stored")
	}
	if now := got(t, s, "pi_1"); len(now.Metadata["memo"]) != 1<<20 {
		t.Error("the memo was not read back")
	}
}

// A lease ends by the database's clock; then another may have it.
func TestLeaseEnds(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	if had, err := s.Lead(t.Context(), "sweep/a", "p1", 50*time.Millisecond); err != nil || !had {
		t.Fatalf("free lease: %v, %v", had, err)
	}
	until(t, "the lease has ended", func() bool {
		had, err := s.Lead(t.Context(), "sweep/a", "p2", time.Hour)
		return err == nil && had
	})
	if had, err := s.Lead(t.Context(), "sweep/a", "p1", time.Hour); err != nil || had {
		t.Errorf("the lease of another: %v, %v", had, err)
	}
}
