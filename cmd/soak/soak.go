package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nsqrelayer/relayer/intents"
)

// soak is one run.
type soak struct {
	options options
	screen  *screen
	dir     string

	stack    *stack
	load     *load
	mischief *mischief
	workers  []*worker

	mu     sync.Mutex
	faulty []string // what a part or a process must not do
	states map[intents.State]int
}

// complain keeps what is not right, and shows it.
func (s *soak) complain(what string) {
	s.mu.Lock()
	s.faulty = append(s.faulty, what)
	s.mu.Unlock()
	s.screen.say("  not right: %s", what)
}

// run starts the parts, breaks them for the duration, and judges. Ctrl-C ends the duration early.
// Errors: it could not be brought to its end. Whether all was right is in the verdict.
func (s *soak) run(ctx, working context.Context) (v verdict, err error) {
	s.stack, err = startStack(ctx, s.dir)
	defer func() { err = errors.Join(err, s.stack.stop()) }()
	if err != nil {
		return v, err
	}
	s.set()
	s.screen.say("soak: %s, %g intents a second, %d processes, a fault every %s in the mean; seed %d; logs in %s", s.options.duration,
		s.options.rate, s.options.processes, s.options.every, s.options.seed, s.dir)
	if err := s.work(ctx, working); err != nil {
		return v, err
	}
	if v, err = s.judge(ctx); err == nil {
		s.tell(ctx, v)
	}
	return v, err
}

// set makes what works on the stack.
func (s *soak) set() {
	st := s.stack
	s.load = &load{run: time.Now().UTC().Format("150405"), keeper: st.store, poster: st.pub, complain: s.complain}
	parts := map[string]part{
		partNSQD: st.queue, partPostgres: st.database, partRPC: st.rpc, partProvider: st.pay, partChain: pool{st.chain},
	}
	for n := range s.options.processes {
		name := workerName(n + 1)
		w := newWorker(name, program{[]string{s.options.relayer, "run", "--config", st.config}, st.log(name)}, s.complain)
		s.workers = append(s.workers, w)
		parts[name] = w
	}
	s.mischief = newMischief(newPlan(s.options.seed, s.options.every, s.options.processes), parts, s.screen.broke)
}

// work returns when the duration is over, all parts are back, all intents are at rest, and all processes have ended.
func (s *soak) work(ctx, working context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	up, leave := context.WithCancel(ctx)
	defer leave()
	for _, w := range s.workers {
		g.Go(func() error { return w.run(up) })
	}
	g.Go(func() error { s.show(up); return nil })
	g.Go(func() error {
		defer leave()
		if err := s.harass(ctx, working); err != nil {
			return err
		}
		return s.settle(ctx)
	})
	err := g.Wait()
	s.screen.still()
	return err
}

// harass loads and breaks until the duration is over. It returns when what was broken is back.
func (s *soak) harass(ctx, working context.Context) error {
	during, cancel := context.WithTimeout(ctx, s.options.duration)
	defer cancel()
	defer context.AfterFunc(working, cancel)()
	var load sync.WaitGroup
	load.Go(func() { s.load.steady(ctx, during, s.options.rate) })
	err := s.mischief.run(during)
	load.Wait()
	if err == nil {
		s.screen.say("  the load has ended and every part is back: waiting until all intents are at rest; what the sweeper would look at minutes later is due now")
	}
	return err
}

// hurryEvery is how long what is left may take by itself before it is hurried, and hurried again.
const hurryEvery = 10 * time.Second

// settle waits until all that was begun is stored, and final or in review; or until patience ends.
func (s *soak) settle(ctx context.Context) error {
	late, hurried := time.Now().Add(s.options.patience), time.Now()
	for ctx.Err() == nil {
		if time.Since(hurried) > hurryEvery {
			_ = s.stack.database.hurry(ctx) // else it takes as long as it takes
			hurried = time.Now()
		}
		n := s.load.stored.Load()
		if s.look(ctx) == nil && n == int64(len(s.load.all())) && s.atRest() == int(n) {
			return nil
		}
		if time.Now().After(late) {
			s.complain(fmt.Sprintf("not all intents are at rest %s after the last fault", s.options.patience))
			return nil
		}
		pause(ctx, tryPause)
	}
	return ctx.Err()
}

// look counts the intents by state.
func (s *soak) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	states, err := s.stack.store.Count(ctx, "")
	if err != nil {
		return err // the last count stands
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = states
	return nil
}

// atRest is how many intents are final or in review, when last looked at.
func (s *soak) atRest() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for state, count := range s.states {
		if state.Final() || state == intents.NeedsReview {
			n += count
		}
	}
	return n
}

// show shows how far it is until ctx ends.
func (s *soak) show(ctx context.Context) {
	for ctx.Err() == nil {
		_ = s.look(ctx) // while the database is down the last count stands
		s.screen.progress(s.line(ctx))
		pause(ctx, lookEvery)
	}
}

// line is how far it is.
func (s *soak) line(ctx context.Context) string {
	s.mu.Lock()
	states := s.states
	s.mu.Unlock()
	stored := 0
	for _, n := range states {
		stored += n
	}
	return fmt.Sprintf("begun %d, stored %d, settled %d, failed %d, in review %d; effects %d; faults %d", len(s.load.all()), stored,
		states[intents.Settled], states[intents.Failed]+states[intents.Canceled], states[intents.NeedsReview],
		len(s.stack.provider.Effects())+s.stack.mined(ctx), s.mischief.total())
}
