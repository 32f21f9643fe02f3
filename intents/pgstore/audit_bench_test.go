package pgstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// fill makes n intents as the plain path leaves them, of a hundred accounts: one in a hundred confirming with a number, the
// others settled with a key. Four events, one attempt of 120 bytes and, if settled, one entry each.
const fill = `
insert into intents (key, id, route, account, destination, asset, amount, state, version, ref, created_at, changed_at, slot, slot_kind, slot_scope,
  slot_number, stored, seen, again_until, first_claimed_at, calls, due_at, watch_at)
 select n, format('pi_%%s', n), 'payouts', format('acct_%%s', n %% 100), '0x52908400098527886E0F7030069857D2E4169EE7', 'ETH', 1000 + n,
  case when n %% 100 = 0 then 4 else 5 end, 4, format('0x%%s', md5(n::text)), now(), now(), n, case when n %% 100 = 0 then 2 else 1 end,
  case when n %% 100 = 0 then 'sig' else 'pay.example' end, case when n %% 100 = 0 then n / 100 end, 1, true, now(), now(), 1,
  case when n %% 100 = 0 then now() + interval '1 hour' end, case when n %% 100 = 0 then now() + interval '1 hour' end
 from generate_series(1, %[1]d) n;
insert into intent_events (intent, version, n, at, kind, from_state, to_state, actor, claim_id, ref, detail)
 select i, v, 0, now(), 1, v - 1, case when v = 4 and i %% 100 <> 0 then 5 else v end, 'worker-1', case when v > 2 then md5(i::text) end, case when v = 4 then md5(i::text) end,
  case when v = 4 then convert_to('{"call":"POST pay.example","status":200,"answer":"{}","wrote":true,"answered":true,"ms":12}', 'UTF8') end
 from generate_series(1, %[1]d) i, generate_series(1, 4) v;
insert into attempts (slot, no, kind, bytes, name) select n, 1, 1, decode(repeat(md5(n::text), 8), 'hex'), format('pi_%%s', n) from generate_series(1, %[1]d) n;
insert into slots (key, kind, scope, number, route, intent) select n, 2, 'sig', n / 100, 'payouts', n from generate_series(100, %[1]d, 100) n;
insert into signers (scope, next, slots, seen) values ('sig', %[1]d / 100 + 1, 16, 1);
insert into entries (account, asset, amount, intent) select account, asset, -amount, key from intents where state = 5;
insert into accounts (account, asset, posted, pending) select account, asset, sum(case when state = 5 then -amount else 0 end), sum(case when state = 4 then amount else 0 end)
 from intents group by account, asset;
vacuum analyze`

// BenchmarkAudit checks so many intents.
func BenchmarkAudit(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dsn := pgtest.Server(b).DSN("postgres")
			if err := migrate(b.Context(), dsn); err != nil {
				b.Fatal(err)
			}
			s, db := openStore(b, dsn), database(b, dsn)
			for q := range strings.SplitSeq(fmt.Sprintf(fill, n), ";\n") {
				do(b, db, q) // one by one: vacuum runs alone
			}
			took := map[string]time.Duration{}
			b.ResetTimer()
			for range b.N {
				all, err := s.Inspect(b.Context(), intents.Audit{Late: time.Hour, Routes: []string{"payouts"}})
				if err != nil {
					b.Fatal(err)
				}
				for _, c := range all {
					took[c.Check] += c.Took
					if c.Found > 0 {
						b.Errorf("%s: %q", c.Check, c.Lines[:min(c.Found, 3)])
					}
				}
			}
			b.ReportMetric(float64(ask[int](b, db, "select pg_database_size(current_database())"))/1e6, "MB")
			for check, d := range took {
				b.ReportMetric(d.Seconds()/float64(b.N), check+"-s/op")
			}
		})
	}
}
