package pgstore

import (
	"context"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// standing looks at so many rows of a route that are due next, and at so many of all that have a reason and are due, by
// indexes; at no others, however many there are (case 110). What is behind them is not counted.
const standing = `
with clock as (select clock_timestamp() as now),
reviews as (select route, count(*) as n, min(changed_at) as since from
  (select route, state, changed_at from intents where reason is not null and due_at is not null order by key limit $2) r where state = 8 group by route),
waiting as (select r.route, w.n, w.since from unnest($1::text[]) r(route), lateral
  (select count(*) as n, min(coalesce(not_before, created_at)) as since from
    (select state, not_before, created_at, try_at from intents i where i.route = r.route and due_at is not null order by due_at limit $2) i, clock
    where state in (2, 3) and (not_before is null or not_before <= now) and (try_at is null or try_at <= now)) w)
select r.route as route, coalesce(w.n, 0) as waiting, coalesce(extract(epoch from now - w.since), 0)::float8 as oldest,
  coalesce(v.n, 0) as reviews, coalesce(extract(epoch from now - v.since), 0)::float8 as review
 from clock, unnest($1::text[]) r(route) left join waiting w on w.route = r.route left join reviews v on v.route = r.route`

// Standing tells how much waits on each of some routes.
func (s *Store) Standing(ctx context.Context, routes []string) ([]intents.Standing, error) {
	rows, err := all[struct {
		Route            string
		Waiting, Reviews int
		Oldest, Review   float64 // seconds
	}](ctx, s, standing, texts(routes), int64(intents.MostCounted))
	if err != nil {
		return nil, err
	}
	var all []intents.Standing
	for _, r := range rows {
		all = append(all, intents.Standing{Route: r.Route, Waiting: r.Waiting, Oldest: seconds(r.Oldest), Reviews: r.Reviews, Review: seconds(r.Review)})
	}
	return all, nil
}

func seconds(s float64) time.Duration { return time.Duration(max(s, 0) * float64(time.Second)) }
