package pgstore

import (
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// populated is a database with one intent of each kind: settled by key, claimed with a number, authorized.
func populated(t *testing.T, dsn string) *Store {
	t.Helper()
	s := openStore(t, dsn)
	settle(t, s, made(t, s, "pi_done"))
	if _, err := s.OpenSigner(t.Context(), intents.Signer{Scope: "sig", Next: 5, Window: 8}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"pi_5", "pi_6"} {
		c := keyed(made(t, s, id))
		c.Attempt, c.Plan.Slot, c.Plan.Scope = nil, intents.Counter, "sig"
		cl, err := s.Claim(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		a := intents.Attempt{Slot: cl.Slot(), No: 1, Kind: intents.First, Bytes: []byte(id), Name: id}
		if _, err := s.Attach(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	made(t, s, "pi_new")
	return s
}

// TestAuditFinds: each kind of damage is found by its check, and by no other than those it also breaks.
func TestAuditFinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, damage, check, line string }{
		{"pending", `update accounts set pending = pending + 1`, intents.CheckPending, "account acct_0 ETH: pending is 2001, intents hold 2000"},
		{"pending of nobody", `delete from accounts`, intents.CheckPending, "pending is 0, intents hold 2000"},
		{"posted", `update accounts set posted = 7`, intents.CheckPosted, "posted is 7, entries come to -1000"},
		{"not captured", `delete from entries`, intents.CheckCaptured, "intent pi_done is settled and has no entry"},
		{"captured too early", `insert into entries (account, asset, amount, intent) select account, asset, -amount, key from intents where id = 'pi_new'`,
			intents.CheckCaptured, "which is not settled"},
		{"captured as another amount", `update entries set amount = -1`, intents.CheckCaptured, "intent pi_done: 1000 ETH of account acct_0 were captured as 1 ETH"},
		{"a gap", `delete from intent_events where version = 2`, intents.CheckEvents, "intent pi_new is in state 2 v2: its 1 changes up to v1 do not lead there"},
		{"a gap, and one too many", `update intent_events set n = 1 where version = 2`, intents.CheckEvents, "intent pi_new is in state 2 v2: its 1 changes up to v2"},
		{"no events", `delete from intent_events`, intents.CheckEvents, "intent pi_new has no events"},
		{"events of nobody", `delete from intents where id = 'pi_new'`, intents.CheckEvents, "which is not there"},
		{"another state", `update intents set state = 8, due_at = now() where id = 'pi_new'`, intents.CheckEvents, "intent pi_new is in state 8 v2"},
		{"another version", `update intents set version = 3 where id = 'pi_new'`, intents.CheckEvents, "intent pi_new is in state 2 v3: its 2 changes up to v2"},
		{"a broken link", `update intent_events set from_state = 4 where version = 3`, intents.CheckEvents, "intent pi_5 is in state 3 v3"},
		{"two broken links", `update intent_events set from_state = 8 - from_state where version in (2, 3)`, intents.CheckEvents, "intent pi_6 is in state 3 v3"},
		{"swapped versions", `update intent_events set version = -version where version in (2, 3); update intent_events set version = 5 + version where version < 0`, intents.CheckEvents, "intent pi_5 is in state 3 v3"},
		{"stored", `update intents set stored = 2 where id = 'pi_5'`, intents.CheckAttempts, "intent pi_5: stored is 2, attempts are 1"},
		{"bytes are gone", `delete from attempts where name = 'pi_6'`, intents.CheckAttempts, "intent pi_6: stored is 1, attempts are 0"},
		{"no slot", `delete from slots where number = 5`, intents.CheckSlots, "intent pi_5 is in slot #"},
		{"a slot twice", `update intents i set slot = o.slot, slot_number = o.slot_number from intents o where i.id = 'pi_6' and o.id = 'pi_5'`, intents.CheckSlots, "is used by intent pi_6 as sig#5"},
		{"closed too early", `update slots set closed_at = now() where number = 5`, intents.CheckSlots, "slot sig#5 is closed, and its intent pi_5 in state 3"},
		{"to be filled", `update slots set filler = true where number = 5`, intents.CheckSlots, "slot sig#5 is to be filled, and its intent pi_5 in state 3"},
		{"open without an intent", `update intents set slot = null, slot_kind = 0, slot_scope = null, slot_number = null where id = 'pi_5'`, intents.CheckSlots, "slot sig#5 is open without an intent"},
		{"another number", `update intents set slot_number = 9 where id = 'pi_5'`, intents.CheckSlots, "slot sig#5 of intent #"},
		{"too early", `update signers set next = 6`, intents.CheckNumbers, "slot sig#6 was given out too early: the next number is 6"},
		{"no signer", `delete from signers`, intents.CheckNumbers, "slot sig#5 has no signer"},
		{"left out", `update signers set next = 9`, intents.CheckNumbers, "signer sig: 7 to 8 were never given out"},
		{"given out twice", `alter table slots drop constraint slots_number; update slots set number = 5`, intents.CheckNumbers, "slot sig#5 was given out twice"},
		{"never due", `update intents set due_at = null where id = 'pi_new'`, intents.CheckTimers, "intent pi_new is in state 2 and never due"},
		{"due for ever", `update intents set watch_at = now() where id = 'pi_done'`, intents.CheckTimers, "intent pi_done is in state 5 and due at"},
		{"late", `update intents set due_at = now() - interval '2 hours' where id = 'pi_new'`, intents.CheckLate, ": route payouts is swept by nobody"},
		{"late, swept", `update intents set due_at = now() - interval '2 hours' where id = 'pi_new'; insert into leases values ('sweep/payouts', 'w1', now() + interval '1 hour')`, intents.CheckLate, "route payouts is swept by w1"},
		{"not observed", `update intents set watch_at = now() - interval '2 hours' where id = 'pi_5'`, intents.CheckLate, "intent pi_5 is in state 3 and to be observed since"},
		{"not filled", `update slots set filler = true, watch_at = now() - interval '2 hours' where number = 5`, intents.CheckLate, "slot sig#5 is to be filled since"},
		{"no route", `update intents set route = 'gone' where id = 'pi_new'`, intents.CheckRoutes, "route gone is not configured and has 1 open intents"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.New(t, migrate)
			s := populated(t, dsn)
			a := intents.Audit{Late: time.Hour, Routes: []string{"payouts"}}
			if found := findings(t, s, a); len(found) > 0 {
				t.Fatalf("before the damage: %q", found)
			}
			do(t, database(t, dsn), tt.damage)
			if found := findings(t, s, a)[tt.check]; !strings.Contains(strings.Join(found, "\n"), tt.line) {
				t.Errorf("%s: found %q, want %q", tt.check, found, tt.line)
			}
		})
	}
}

// findings are the lines of an audit by their check.
func findings(t *testing.T, s *Store, a intents.Audit) map[string][]string {
	t.Helper()
	all, err := s.Inspect(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, c := range all {
		if c.Found != len(c.Lines) {
			t.Errorf("%s: found %d, kept %d", c.Check, c.Found, len(c.Lines))
		}
		if c.Found > 0 {
			found[c.Check] = c.Lines
		}
	}
	return found
}

// What stays of a pruned intent is no damage.
func TestAuditOfPruned(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s := populated(t, dsn)
	do(t, database(t, dsn), `insert into tombstones (id, key, route, hash, state, version, created_at) select id, key, route, '', state, version, created_at from intents where id = 'pi_done';
 delete from attempts where slot = (select key from intents where id = 'pi_done'); delete from intents where id = 'pi_done'`)
	if found := findings(t, s, intents.Audit{}); len(found) > 0 {
		t.Errorf("of a pruned intent its entry and its events may stay: %q", found)
	}
}

// On a database of which the server knows nothing yet an audit is planned as for a large one.
func TestAuditPlans(t *testing.T) {
	t.Parallel()
	tx, err := database(t, pgtest.New(t, migrate)).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	do(t, tx, auditSettings)
	for _, c := range checks(intents.Audit{Late: time.Hour, Routes: []string{}}) {
		rows, err := tx.Query("explain " + strings.NewReplacer("all($1)", "all('{x}')", "$1", "1000000").Replace(c.query))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(line, "Nested Loop") || strings.Contains(line, "SubPlan") && !strings.Contains(line, "hashed") {
				t.Errorf("%s looks rows up one by one: %s", c.name, line)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
