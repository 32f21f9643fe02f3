package pgstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Case 50: one old snapshot keeps every dead row of 20,000 changes of state from being cleared away. Claims go on, and what
// is due is found on few pages: the index holds no dead entries but those of rows that were due.
func TestOldSnapshot(t *testing.T) {
	t.Parallel()
	srv := pgtest.Server(t, "autovacuum_naptime", "1s")
	dsn := migrated(t, srv.DSN("postgres"))
	s, db := openStore(t, dsn), database(t, dsn)
	old, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Rollback() }()
	do(t, old, "select count(*) from intents")
	each(seed(t, s, 10_000), func(in intents.Intent) { settle(t, s, in) }) // claimed and settled: 20,000 changes
	do(t, db, "vacuum intents")
	do(t, db, "analyze intents")
	if n := ask[int](t, db, "select n_dead_tup from pg_stat_user_tables where relname = 'intents'"); n < 15_000 {
		t.Fatalf("%d rows are dead: the snapshot holds nothing back", n)
	}
	in := made(t, s, "pi_last")
	if n := buffers(t, db, lockIntents, "bigint[]", fmt.Sprintf("array[%d]::bigint[]", in.Key)); n > 50 {
		t.Errorf("the lock of a claim touches %d pages", n)
	}
	settle(t, s, in)
	if _, err := s.Sweep(t.Context(), "payouts", 100); err != nil {
		t.Errorf("sweep: %v", err)
	}
	for name, query := range map[string]string{"due": dueIntents, "watched": watchedIntents} {
		if n := buffers(t, db, query, "text, bigint", "'payouts', 100"); n > 50 {
			t.Errorf("%s: looking for what is due touches %d pages", name, n)
		}
	}
	audited(t, s)
}

// buffers counts the pages that a statement touches.
func buffers(t *testing.T, db *sql.DB, query, types, args string) int {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	do(t, conn, "deallocate all")
	do(t, conn, "prepare p("+types+") as "+query)
	var raw []byte
	if err := conn.QueryRowContext(t.Context(), "explain (analyze, buffers, format json) execute p("+args+")").Scan(&raw); err != nil {
		t.Fatal(err)
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(raw, &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}
