package metrics

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nsqrelayer/relayer/intents"
)

// Ledger is where intents are kept.
type Ledger interface {
	// Standing tells how much waits on some routes, at a cost that does not grow. Errors: intents.ErrUnavailable.
	Standing(ctx context.Context, routes []string) ([]intents.Standing, error)
	// Lost says whether the database has forgotten what it had committed. Errors: *intents.LostError: it has.
	Lost(ctx context.Context) error
}

// ledger shows how much waits in the store. All processes of a route show the same.
type ledger struct {
	from   Ledger
	routes []string
	cache  *cache[snapshot]

	up, lost, waiting, oldest, reviews, review *prometheus.Desc
}

// snapshot is what was read of the store at one moment.
type snapshot struct {
	all  []intents.Standing
	lost bool
}

func newLedger(cfg Config) *ledger {
	of := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"route"}, nil)
	}
	c := &ledger{
		from: cfg.Ledger,
		up:   prometheus.NewDesc("relayer_database_up", "1 when Postgres answered what metrics ask it, at most 15 s ago.", nil, nil),
		lost: prometheus.NewDesc("relayer_recovery_needed",
			"1 while the database has forgotten what it had committed: nothing is claimed until a person says relayer recover.", nil, nil),
		waiting: of("relayer_pending", "Intents that wait to be sent, of the 5000 that are due next."),
		oldest:  of("relayer_oldest_pending_age_seconds", "How long the oldest of these has waited."),
		reviews: of("relayer_review", "Intents that wait for a person; no more than 5000 are counted."),
		review:  of("relayer_review_oldest_age_seconds", "How long the one longest in review has been there."),
	}
	for _, r := range cfg.Routes {
		c.routes = append(c.routes, r.Name)
	}
	c.cache = newCache(cfg.Stale, cfg.Timeout, c.read)
	return c
}

// Describe lists what Collect shows.
func (c *ledger) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.up, c.lost, c.waiting, c.oldest, c.reviews, c.review} {
		out <- d
	}
}

func (c *ledger) read(ctx context.Context) (s snapshot, err error) {
	if err := c.from.Lost(ctx); err != nil {
		if _, s.lost = errors.AsType[*intents.LostError](err); !s.lost {
			return s, err
		}
	}
	s.all, err = c.from.Standing(ctx, c.routes)
	return s, err
}

// Collect shows how it stood a moment ago; nothing but that it is away while the store cannot be read.
func (c *ledger) Collect(out chan<- prometheus.Metric) {
	if c.from == nil {
		return
	}
	s, err := c.cache.read()
	gauge(out, c.up, flag(err == nil))
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.waiting, fmt.Errorf("standing: %w", err))
		return
	}
	gauge(out, c.lost, flag(s.lost))
	for _, st := range s.all {
		gauge(out, c.waiting, float64(st.Waiting), st.Route)
		gauge(out, c.oldest, st.Oldest.Seconds(), st.Route)
		gauge(out, c.reviews, float64(st.Reviews), st.Route)
		gauge(out, c.review, st.Review.Seconds(), st.Route)
	}
}
