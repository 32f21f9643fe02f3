package pgstore

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/pgtest"
)

// various makes n intents of the last hundred days, of very many accounts: one in a hundred confirming, one in twenty
// failed, one in five thousand in review, a few canceled and created, the last in twenty authorized, the others settled.
const various = `
insert into intents (key, id, route, account, destination, asset, amount, state, version, ref, reason, created_at, changed_at, slot, slot_kind, slot_scope, stored, seen,
  again_until, first_claimed_at, calls, due_at, watch_at)
 select n, format('pi_%%s', n), case when n %% 50000 = 7 then 'rare' else 'payouts' end, format('acct_%%s', (n::bigint * 7919) %% 100003), '0x52908400098527886E0F7030069857D2E4169EE7',
  case when n %% 20000 = 9 then 'DAI' else 'ETH' end, 1000 + n, state, 4, case when state in (4, 5) then format('0x%%s', md5(n::text)) end,
  case state when 6 then 'expired' when 7 then 'operator' when 8 then 'unknown_outcome' end,
  now() - (%[1]d - n) * interval '100 days' / %[1]d, now() - (%[1]d - n) * interval '100 days' / %[1]d,
  case when state > 2 then n end, case when state > 2 then 1 else 0 end, 'pay.example', case when state > 2 then 1 else 0 end, true, now(), now(), 1,
  case when state in (2, 3, 4, 8) then now() + interval '1 hour' end, case when state in (3, 4, 8) then now() + interval '1 hour' end
 from (select n, case when n > %[1]d - %[1]d / 20 then 2 when n %% 100 = 50 then 4 when n %% 20 = 1 then 6 when n %% 10000 = 2 then 7 when n %% 5000 = 3 then 8
   when n %% 20000 = 4 then 1 else 5 end as state from generate_series(1, %[1]d) n) s;
vacuum analyze`

// lists are filters, by name, and a pattern of the plan that they want.
var lists = []struct {
	name string
	f    intents.Filter
	want string
}{
	{"newest", intents.Filter{}, "intents_key"},
	{"a page behind", intents.Filter{Before: 50_000}, "intents_key"},
	{"route", intents.Filter{Route: "payouts"}, "intents_key"},
	{"settled", intents.Filter{States: []intents.State{intents.Settled}}, "intents_key"},
	{"failed", intents.Filter{States: []intents.State{intents.Failed}}, "intents_reason"},
	{"canceled on a route", intents.Filter{Route: "payouts", States: []intents.State{intents.Canceled}}, "intents_reason"},
	{"failed since", intents.Filter{States: []intents.State{intents.Failed}, Since: time.Now().Add(-10 * 24 * time.Hour)}, "intents_reason"},
	{"all that went amiss", intents.Filter{States: []intents.State{intents.Failed, intents.Canceled, intents.NeedsReview}}, "intents_reason|intents_review"},
	{"reference since", intents.Filter{Ref: "0xa", Since: time.Now().Add(-24 * time.Hour)}, "intents_created"},
	{"account since", intents.Filter{Account: "acct_777", Since: time.Now().Add(-24 * time.Hour)}, "intents_created"},
	{"in review", intents.Filter{States: []intents.State{intents.NeedsReview}}, "intents_review"},
	{"in review on a route", intents.Filter{Route: "payouts", States: []intents.State{intents.NeedsReview}}, "intents_review"},
	{"confirming", intents.Filter{States: []intents.State{intents.Confirming}}, "intents_(due|watch|key)"},
	{"settling, none", intents.Filter{States: []intents.State{intents.Settling}}, "intents_(due|watch|review)"},
	{"settling on a route, none", intents.Filter{Route: "payouts", States: []intents.State{intents.Settling}}, "intents_(due|watch|review)"},
	{"authorized", intents.Filter{States: []intents.State{intents.Authorized}}, "intents_(due|key)"},
	// No index leads to these: they read from the newest on until they have enough.
	{"rare route", intents.Filter{Route: "rare"}, ""},
	{"account", intents.Filter{Account: "acct_777"}, ""},
	{"rare asset", intents.Filter{Asset: "DAI"}, ""},
	{"reference", intents.Filter{Ref: "0xa"}, ""},
	{"created", intents.Filter{States: []intents.State{intents.Created}}, ""},
	{"until", intents.Filter{Until: time.Now().Add(-90 * 24 * time.Hour)}, ""},
}

// Lists of what is rare among very much are found by an index, and none has to sort or read a whole table.
func TestListPlans(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, migrate)
	s, db := openStore(t, dsn), database(t, dsn)
	for q := range strings.SplitSeq(fmt.Sprintf(various, 100_000), ";\n") {
		do(t, db, q)
	}
	for _, tt := range lists {
		var lines []string
		if err := s.pool.SelectContext(t.Context(), &lines, "explain "+listOf(tt.f), listArgs(tt.f)...); err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		if tt.want != "" && (strings.Contains(plan, "Seq Scan on intents") || !regexp.MustCompile("(?:using|on) (?:"+tt.want+") ").MatchString(plan)) {
			t.Errorf("%s: want %s:\n%s", tt.name, tt.want, plan)
		}
	}
	for _, route := range []string{"", "payouts"} {
		var lines []string
		if err := s.pool.SelectContext(t.Context(), &lines, "explain "+reviewed, route, int64(50)); err != nil {
			t.Fatal(err)
		}
		if plan := strings.Join(lines, "\n"); !strings.Contains(plan, "intents_review") {
			t.Errorf("reviews of route %q:\n%s", route, plan)
		}
	}
}

// BenchmarkList reads lists of so many intents.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{100_000, 5_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dsn := pgtest.Server(b, "max_wal_size", "4GB").DSN("postgres")
			if err := migrate(b.Context(), dsn); err != nil {
				b.Fatal(err)
			}
			s, db := openStore(b, dsn), database(b, dsn)
			for q := range strings.SplitSeq(fmt.Sprintf(various, n), ";\n") {
				do(b, db, q)
			}
			for _, l := range lists {
				b.Run(strings.ReplaceAll(l.name, " ", "_"), func(b *testing.B) {
					for b.Loop() {
						if _, err := s.List(b.Context(), l.f); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			b.Run("reviews", func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Reviews(b.Context(), "", 50); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
