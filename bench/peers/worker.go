package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// workWord begins the arguments of a process that is one side.
const workWord = "work"

// runWorker has a side work in a process of its own: its memory is fresh, and what it spends is not mixed with what nsqd
// spends.
func runWorker(ctx context.Context, name string, t task) (f figure, err error) {
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	out, err := output(exec.CommandContext(ctx, self, workWord, "-side", name, "-dsn", t.dsn, "-nsqd", t.nsqd, "-intents", strconv.Itoa(t.intents)))
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(out, &f)
}

// work is that process.
func work(ctx context.Context, args []string) error {
	var t task
	flags := flag.NewFlagSet(workWord, flag.ExitOnError)
	name := flags.String("side", "", "whose work")
	flags.StringVar(&t.dsn, "dsn", "", "an empty database")
	flags.StringVar(&t.nsqd, "nsqd", "", "TCP address")
	flags.IntVar(&t.intents, "intents", 0, "how many")
	_ = flags.Parse(args) // it exits
	s, ok := find(*name)
	if !ok {
		return fmt.Errorf("there is no side %q", *name)
	}
	f, err := s.work(ctx, t)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// watch counts time and what this process spends.
type watch struct {
	start time.Time
	spent time.Duration
}

func startWatch() watch { return watch{time.Now(), spent()} }

// figure is what was done since the watch was started.
func (w watch) figure(count int) figure {
	took, cpu := time.Since(w.start), spent()-w.spent
	return figure{PerSecond: float64(count) / took.Seconds(), CPU: cpu.Seconds() * 1e6 / float64(count)}
}

// spent is the CPU time of this process.
func spent() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
