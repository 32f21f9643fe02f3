//go:build !lean

package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"golang.org/x/sync/errgroup"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
	"github.com/nsqrelayer/relayer/internal/config"
)

// How many are stored and published at a time.
const (
	benchStorers    = 1024
	benchPublishers = 64
)

// id names the n-th intent.
func (b *bench) id(n int) string { return fmt.Sprintf("bench-%s-%d", b.tag, n) }

// intent is the n-th: of one of a hundred accounts, to a destination of its own.
func (b *bench) intent(n int) intents.Intent {
	to := append([]byte{0xbe}, fmt.Appendf(nil, "%019d", n)...)
	return intents.Intent{
		ID: b.id(n), Route: benchRoute, Account: fmt.Sprintf("acct_%d", n%100), Destination: common.BytesToAddress(to).Hex(),
		Asset: "ETH", Amount: intents.NewAmount(int64(1000 + n%1000)),
	}
}

// fill makes what the table is to hold before.
func (b *bench) fill(ctx context.Context) error {
	if err := b.make(b.cmd.Preload, "preloaded", func(add func(int)) error { return b.parts.db.Fill(ctx, b.cmd.Preload, add) }); err != nil {
		return err
	}
	return b.make(b.cmd.Scheduled, "scheduled", func(add func(int)) error {
		return b.parts.db.Schedule(ctx, b.cmd.Scheduled, scheduledPrefix(b.tag), add)
	})
}

// make makes so many rows, if any, and shows how far it is.
func (b *bench) make(rows int, did string, do func(add func(int)) error) error {
	if rows == 0 {
		return nil
	}
	p := newProgress(b.app.stderr, did, rows)
	defer p.finish()
	return do(p.add)
}

// scheduledPrefix begins the ids of scheduled intents.
func scheduledPrefix(tag string) string { return "due-" + tag + "-" }

// store stores all intents, authorized, as relayer submit does.
func (b *bench) store(ctx context.Context) error {
	s, err := pgstore.Open(ctx, pgstore.Config{DSN: b.parts.db.DSN, Actor: "bench", Logger: b.log})
	if err != nil {
		return err
	}
	defer s.Close()
	err = b.each(ctx, "stored", benchStorers, func(ctx context.Context, n int) error { return b.create(ctx, s, n) })
	if err != nil {
		return err
	}
	return b.parts.db.Analyze(ctx)
}

// benchTries is how often an intent is stored while the machine is too busy to answer in time.
const benchTries = 10

// create stores one intent.
func (b *bench) create(ctx context.Context, s *pgstore.Store, n int) (err error) {
	for range benchTries {
		if _, err = s.Create(ctx, b.intent(n), true, "bench"); err == nil || ctx.Err() != nil {
			return err
		}
		if !errors.Is(err, intents.ErrUnavailable) && !errors.Is(err, intents.ErrUnsure) {
			return err
		}
	}
	return err
}

// publish publishes a reference to each, at the moment it is due after start.
func (b *bench) publish(ctx context.Context, start time.Time) error {
	pub, err := b.app.parts.publisher(config.NSQ{NSQDTCPAddress: []string{b.parts.nsqdTCP}}, b.log)
	if err != nil {
		return err
	}
	defer pub.Close()
	did := "published"
	if b.cmd.Rate > 0 {
		did = "" // what is settled is shown then
	}
	return b.each(ctx, did, benchPublishers, func(ctx context.Context, n int) error {
		body, err := intents.EncodeReference(b.id(n))
		if err != nil {
			return err
		}
		if !sleepUntil(ctx, start.Add(b.cmd.due(n))) {
			return ctx.Err()
		}
		return pub.Publish(ctx, b.parts.topic, body)
	})
}

// sleepUntil is false when ctx ends first.
func sleepUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// each does something for every intent, in order, so many at a time. Where it did something it is shown how many.
func (b *bench) each(ctx context.Context, did string, workers int, do func(ctx context.Context, n int) error) error {
	add := func(int) {}
	if did != "" {
		p := newProgress(b.app.stderr, did, b.count)
		defer p.finish()
		add = p.add
	}
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(workers, b.count) {
		g.Go(func() error {
			for n := next.Add(1) - 1; n < int64(b.count); n = next.Add(1) - 1 {
				if err := do(ctx, int(n)); err != nil {
					return err
				}
				add(1)
			}
			return nil
		})
	}
	return g.Wait()
}
