package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os/exec"
	"slices"

	"github.com/nsqrelayer/relayer/internal/benchdb"
	"github.com/nsqrelayer/relayer/internal/devstack/nsq"
	"github.com/nsqrelayer/relayer/internal/postgres"
)

// connections is how many the server allows. It allows more than by default, for those who commit each row.
const connections = 300

// bench is one run.
type bench struct {
	intents, rounds int
	relayer         string // path of the program
	sides           []side // the first one is ours
	out, progress   io.Writer

	server *postgres.Server
	nsqd   string
	round  []map[string]figure // of every round, by name of the side
}

// run starts the parts, has all sides take turns, and prints what came of it.
func (b *bench) run(ctx context.Context) error {
	if _, err := exec.LookPath(b.relayer); err != nil {
		return err
	}
	bin, err := postgres.Find("")
	if err != nil {
		return err
	}
	if b.server, err = postgres.Start(ctx, postgres.Config{Binaries: bin, MaxConnections: connections}); err != nil {
		return err
	}
	defer b.server.Stop()
	n, err := nsq.Start(ctx, nsq.Config{})
	if err != nil {
		return err
	}
	defer n.Stop()
	b.nsqd = n.NSQDTCP
	for n := range b.rounds {
		if err := b.turn(ctx, n); err != nil {
			return err
		}
	}
	return b.print()
}

// turn is one round.
func (b *bench) turn(ctx context.Context, n int) error {
	figures := map[string]figure{}
	for _, s := range order(b.sides, n) {
		fmt.Fprintf(b.progress, "round %d of %d: %s", n+1, b.rounds, s.name)
		f, err := b.measure(ctx, s)
		if err != nil {
			fmt.Fprintln(b.progress)
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(b.progress, " %.0f/s\n", f.PerSecond)
		figures[s.name] = f
	}
	b.round = append(b.round, figures)
	return nil
}

// order is that of a round: reversed in every other one.
func order(sides []side, round int) []side {
	sides = slices.Clone(sides)
	if round%2 == 1 {
		slices.Reverse(sides)
	}
	return sides
}

// measure has one side work. What others wrote is on disk before.
func (b *bench) measure(ctx context.Context, s side) (figure, error) {
	if err := b.checkpoint(ctx); err != nil {
		return figure{}, err
	}
	if s.work == nil {
		return b.runRelayer(ctx)
	}
	db, err := benchdb.Create(ctx, b.server.DSN("postgres"))
	if err != nil {
		return figure{}, err
	}
	f, err := runWorker(ctx, s.name, task{dsn: db.DSN, nsqd: b.nsqd, intents: max(1, b.intents/s.share)})
	if dropped := db.Drop(context.WithoutCancel(ctx)); err == nil {
		err = dropped
	}
	return f, err
}

func (b *bench) checkpoint(ctx context.Context) error {
	db, err := sql.Open("postgres", b.server.DSN("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "checkpoint")
	return err
}
