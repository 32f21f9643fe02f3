package main

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
)

const (
	callers = 1024 // at once, as many as the relayer that is compared works at once
	route   = "bench"
)

// seeded makes the relayer's tables and stores authorized intents in them, as relayer bench does.
func seeded(ctx context.Context, t task) (*pgstore.Store, []intents.Intent, error) {
	if _, err := pgstore.Migrate(ctx, t.dsn, nil); err != nil {
		return nil, nil, err
	}
	s, err := pgstore.Open(ctx, pgstore.Config{DSN: t.dsn, Actor: "bench"})
	if err != nil {
		return nil, nil, err
	}
	all := make([]intents.Intent, t.intents)
	err = each(ctx, callers, t.intents, func(ctx context.Context, n int) (err error) {
		all[n], err = s.Create(ctx, intent(n), true, "bench")
		return err
	})
	if err == nil {
		err = analyze(ctx, t.dsn)
	}
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, all, nil
}

// intent is the n-th: of one of a hundred accounts, to a destination of its own.
func intent(n int) intents.Intent {
	return intents.Intent{
		ID: fmt.Sprintf("bench-peers-%d", n), Route: route, Account: fmt.Sprintf("acct_%d", n%100), Destination: fmt.Sprintf("0xbe%038d", n),
		Asset: "ETH", Amount: intents.NewAmount(int64(1000 + n%1000)),
	}
}

// analyze has the server look at what there is, as it does by itself some time after so many rows were added.
func analyze(ctx context.Context, dsn string) error {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "vacuum analyze")
	return err
}

// each does something for every number, so many at a time. The first error ends it.
func each(ctx context.Context, workers, count int, do func(ctx context.Context, n int) error) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(workers, count) {
		g.Go(func() error {
			for n := next.Add(1) - 1; n < int64(count); n = next.Add(1) - 1 {
				if err := do(ctx, int(n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}
