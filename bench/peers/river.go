package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// As in River's own bench (cmd/river/riverbench), and workers of which it says that about so many are best.
const (
	riverCooldown = 2 * time.Millisecond
	riverPoll     = 20 * time.Millisecond
	riverWorkers  = 1000
	riverInsert   = 5000 // jobs inserted at a time
)

// job carries out one intent.
type job struct {
	Key int64 `json:"key"`
}

func (job) Kind() string { return "intent" }

// jobWorker does what a job is to do.
type jobWorker struct {
	river.WorkerDefaults[job]
	do    func(ctx context.Context, key int64) error
	tally *tally
}

// Work works one job.
func (w *jobWorker) Work(ctx context.Context, j *river.Job[job]) error {
	err := w.do(ctx, j.Args.Key)
	w.tally.add(err)
	return err
}

// riverRun is one run of River.
type riverRun struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	worker *jobWorker
}

// openRiver makes River's tables and a client whose jobs do something.
func openRiver(ctx context.Context, t task, conns int32, do func(ctx context.Context, pool *pgxpool.Pool, key int64) error) (*riverRun, error) {
	cfg, err := pgxpool.ParseConfig(t.dsn)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = conns
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	r := &riverRun{pool: pool, worker: &jobWorker{tally: newTally(t.intents)}}
	r.worker.do = func(ctx context.Context, key int64) error { return do(ctx, pool, key) }
	if err := r.setUp(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return r, nil
}

func (r *riverRun) setUp(ctx context.Context) error {
	driver := riverpgxv5.New(r.pool)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: log})
	if err != nil {
		return err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, r.worker)
	r.client, err = river.NewClient(driver, &river.Config{
		FetchCooldown: riverCooldown, FetchPollInterval: riverPoll, Logger: log, Workers: workers,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
	})
	return err
}

// insert inserts a job for each key.
func (r *riverRun) insert(ctx context.Context, keys []int64) error {
	for len(keys) > 0 {
		n := min(len(keys), riverInsert)
		jobs := make([]river.InsertManyParams, n)
		for i, key := range keys[:n] {
			jobs[i].Args = job{key}
		}
		if _, err := r.client.InsertManyFast(ctx, jobs); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// work has all jobs worked, and counts until every one is completed in the table.
func (r *riverRun) work(ctx context.Context) (figure, error) {
	w := startWatch()
	if err := r.client.Start(ctx); err != nil {
		return figure{}, err
	}
	defer r.client.StopAndCancel(context.WithoutCancel(ctx)) // everything is done, or nobody wants it any more
	if err := r.worker.tally.wait(ctx); err != nil {
		return figure{}, err
	}
	err := r.completed(ctx)
	return w.figure(int(r.worker.tally.want)), err
}

const riverLeft = `select exists (select from river_job where state <> 'completed')`

// completed waits for River's completer, which writes in batches.
func (r *riverRun) completed(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for left := true; ; {
		if err := r.pool.QueryRow(ctx, riverLeft).Scan(&left); err != nil || !left {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
