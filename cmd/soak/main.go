// Command soak runs several processes of the real program under a steady load and breaks one of them, or a part they need,
// every few seconds: Postgres, nsqd, the chain's node, the payment provider. In the end it counts what happened at the
// chain and at the provider, and compares that with what was asked for and with what the database says.
//
// Its last line is "soak: N intents, effects N, twice 0, lost 0", and its exit code 0, only if each intent settled with one
// effect, the audit found nothing and no process did what it must not. Else the exit code is 1, and what is wrong is listed
// with where its evidence is.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	duration, every, patience time.Duration

	rate      float64
	processes int
	seed      uint64
	relayer   string
	keep      bool
}

func flags() (o options) {
	flag.DurationVar(&o.duration, "duration", 10*time.Minute, "how long to load and break")
	flag.DurationVar(&o.every, "every", 3*time.Second, "time between two faults, in the mean")
	flag.DurationVar(&o.patience, "patience", 12*time.Minute, "how long intents may take to come to rest after the last fault; the sweeper looks again within 10m")
	flag.Float64Var(&o.rate, "rate", 20, "intents a second")
	flag.IntVar(&o.processes, "processes", 3, "processes of the relayer")
	flag.Uint64Var(&o.seed, "seed", 0, "of the plan of faults; 0: any")
	flag.StringVar(&o.relayer, "relayer", "bin/relayer", "the program")
	flag.BoolVar(&o.keep, "keep", false, "keep settings and logs although all was right")
	flag.Parse()
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32())
	}
	return o
}

func (o options) check() error {
	switch {
	case o.duration <= 0 || o.every <= 0 || o.patience <= 0:
		return fmt.Errorf("-duration, -every and -patience must be above 0")
	case !(o.rate > 0 && o.rate <= 1000):
		return fmt.Errorf("-rate: %g is invalid, want above 0, at most 1000", o.rate)
	case o.processes < 1:
		return fmt.Errorf("-processes: %d is invalid, want 1 or more", o.processes)
	}
	_, err := os.Stat(o.relayer)
	return err
}

// The exit codes.
const (
	exitRight = 0
	exitWrong = 1
	exitUsage = 2
)

func main() {
	if len(os.Args) == 5 && os.Args[1] == nsqdMode {
		os.Exit(told(serveNSQD(os.Args[2], os.Args[3], os.Args[4]), exitWrong))
	}
	o := flags()
	if err := o.check(); err != nil {
		os.Exit(told(err, exitUsage))
	}
	os.Exit(begin(o))
}

// told prints an error and gives its code; none is right.
func told(err error, code int) int {
	if err == nil {
		return exitRight
	}
	fmt.Fprintln(os.Stderr, "soak:", err)
	return code
}

// begin runs a soak. The first signal ends its duration early, the second one ends it at once.
func begin(o options) (code int) {
	working, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(working, stop)
	dir, err := os.MkdirTemp("", "relayer-soak-")
	if err != nil {
		return told(err, exitWrong)
	}
	if o.relayer, err = filepath.Abs(o.relayer); err != nil {
		return told(err, exitUsage)
	}
	s := &soak{options: o, screen: newScreen(os.Stdout), dir: dir}
	v, err := s.run(context.Background(), working)
	return s.conclude(v, err)
}

// conclude prints where evidence is, where there is need of it, and the last line. Without a verdict there is none.
func (s *soak) conclude(v verdict, err error) (code int) {
	right := err == nil && v.right() && len(s.faulty) == 0
	if right && !s.options.keep {
		err = os.RemoveAll(s.dir)
	} else {
		s.screen.say("settings, logs and timelines are kept in %s; seed %d", s.dir, s.options.seed)
	}
	for _, what := range s.faulty {
		s.screen.say("not right: %s", what)
	}
	if err != nil {
		return told(err, exitWrong)
	}
	s.screen.say("%v", v)
	if !right {
		return exitWrong
	}
	return exitRight
}
