// Command peers compares the relayer with other ways to do the same work: River without and with row updates in its jobs,
// a bare go-nsq consumer that goes row by row, and the relayer's own store without NSQ and engine. README.md says what
// each does. The sides take turns, in an order that is reversed every other round.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-peers:", err)
		stop()
		os.Exit(1)
	}
}

// start is the comparison, or one side of it in a process of its own.
func start(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == workWord {
		return work(ctx, args[1:])
	}
	return compare(ctx, args)
}

func compare(ctx context.Context, args []string) error {
	b := bench{out: os.Stdout, progress: os.Stderr}
	flags := flag.NewFlagSet("bench-peers", flag.ExitOnError)
	flags.IntVar(&b.intents, "intents", 100_000, "intents, or jobs, of each side in a round; a tenth of it where each has commits of its own")
	flags.IntVar(&b.rounds, "rounds", 3, "rounds; odd, so that one is in the middle")
	flags.StringVar(&b.relayer, "relayer", "bin/relayer", "the program that is compared")
	only := flags.String("only", "", "compare with these alone: "+names(peers)+". Default: all")
	_ = flags.Parse(args) // it exits
	if flags.NArg() > 0 || b.intents < 1 || b.rounds < 1 {
		return fmt.Errorf("want --intents and --rounds of at least 1 and nothing beside flags")
	}
	var err error
	if b.sides, err = chosen(*only); err != nil {
		return err
	}
	return b.run(ctx)
}

// chosen gives the sides of a comparison: the relayer and those that are named.
func chosen(only string) ([]side, error) {
	if only == "" {
		return append([]side{ours}, peers...), nil
	}
	sides := []side{ours}
	for name := range strings.SplitSeq(only, ",") {
		s, ok := find(name)
		if !ok {
			return nil, fmt.Errorf("--only: there is no %q, want some of %s", name, names(peers))
		}
		sides = append(sides, s)
	}
	return sides, nil
}

func names(sides []side) string {
	all := make([]string, len(sides))
	for i, s := range sides {
		all[i] = s.name
	}
	return strings.Join(all, ",")
}
