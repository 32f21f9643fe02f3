package pgstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// Case 110: how much waits is told without reading what does not: of 100,000 intents a few pages, by index, and no count
// goes on without end.
func TestStandingIsBounded(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	for q := range strings.SplitSeq(fmt.Sprintf(various, 100_000), ";\n") {
		do(t, db, q)
	}
	do(t, db, `update intents set reason = 'unknown_outcome', state = 8 where state = 4 and route = 'payouts'`)
	do(t, db, `insert into intents (key, id, route, account, destination, asset, amount, state, version, reason, created_at, changed_at, due_at)
 select n, 'more_' || n, 'payouts', 'a', 'b', 'ETH', 1, 8, 2, 'unknown_outcome', now(), now() - interval '2 hours', now() from generate_series(200001, 206000) n`)
	do(t, db, "vacuum analyze intents")
	all, err := s.Standing(t.Context(), []string{"payouts", "nobody"})
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, st := range all {
		switch {
		case st.Route == "nobody" && (st.Waiting != 0 || st.Reviews != 0 || st.Oldest != 0 || st.Review != 0):
			t.Errorf("a route without intents: %+v", st)
		case st.Route == "payouts" && (st.Waiting > intents.MostCounted || st.Reviews > intents.MostCounted || st.Reviews == 0):
			t.Errorf("counts do not end: %+v", st)
		}
	}
	var lines []string
	if err := s.pool.SelectContext(t.Context(), &lines, "explain "+standing, texts([]string{"payouts"}), int64(intents.MostCounted)); err != nil {
		t.Fatal(err)
	}
	if plan := strings.Join(lines, "\n"); strings.Contains(plan, "Seq Scan on intents") {
		t.Errorf("it reads the whole table:\n%s", plan)
	}
}

// What is told is how it stands: what waits since when, what is scheduled, what is in review and for how long.
func TestStanding(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	for _, id := range []string{"pi_old", "pi_new", "pi_later", "pi_put_off", "pi_settled", "pi_review"} {
		made(t, s, id)
	}
	do(t, db, `update intents set created_at = now() - interval '10 minutes' where id = 'pi_old'`)
	do(t, db, `update intents set created_at = now() - interval '1 day', not_before = now() + interval '1 day' where id = 'pi_later'`)
	do(t, db, `update intents set created_at = now() - interval '1 day', try_at = now() + interval '1 day' where id = 'pi_put_off'`)
	do(t, db, `update intents set created_at = now() - interval '1 day', state = 5, due_at = null where id = 'pi_settled'`)
	do(t, db, `update intents set state = 8, reason = 'unknown_outcome', changed_at = now() - interval '20 minutes' where id = 'pi_review'`)
	all, err := s.Standing(t.Context(), []string{got(t, s, "pi_old").Route})
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	st := all[0]
	if st.Waiting != 2 || st.Oldest < 10*time.Minute || st.Oldest > time.Hour || st.Reviews != 1 || st.Review < 20*time.Minute || st.Review > 2*time.Hour {
		t.Errorf("got %+v", st)
	}
}
