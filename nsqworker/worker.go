package nsqworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nsqio/go-nsq"
)

// ErrStarted answers a second Run.
var ErrStarted = errors.New("nsqworker: run already")

// Worker consumes one channel. Make it with New.
type Worker struct {
	cfg     Config
	timing  timing
	handler Handler
	log     *slog.Logger
	http    *http.Client
	count   *counters
	nodes   nodes
	pool    *pool
	flow    flow

	started  atomic.Bool
	draining atomic.Bool
	drained  atomic.Bool
	nudges   chan struct{}
	look     lookState

	base    context.Context // Run's without its end: for logs, and leases
	workCtx context.Context
	cut     context.CancelCauseFunc
}

// New makes a Worker. Its errors are those of Config.Validate.
func New(cfg Config, h Handler) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("nsqworker: %w", err)
	}
	cfg = cfg.withDefaults()
	w := &Worker{
		cfg: cfg, timing: newTiming(cfg.MsgTimeout), handler: h,
		log: cfg.Logger, http: newHTTPClient(), count: &counters{},
		pool: newPool(cfg.Concurrency), nudges: make(chan struct{}, 1),
		base: context.Background(),
	}
	w.nodes.m = map[string]*node{}
	return w, nil
}

// Run consumes until ctx ends, then drains: it takes nothing more, sends back what no handler has begun, lets handlers
// finish for Config.DrainTimeout, cuts them, and gives them Config.WriteTimeout more to write down what they know. It
// returns nil when every handler returned uncut, a *DrainError otherwise, and ErrStarted when called again.
// It survives nsqds and nsqlookupds that are down; see Health.
func (w *Worker) Run(ctx context.Context) error {
	if !w.started.CompareAndSwap(false, true) {
		return ErrStarted
	}
	w.base = context.WithoutCancel(ctx)
	w.workCtx, w.cut = context.WithCancelCause(w.base)
	defer w.cut(context.Canceled)
	if err := w.open(1); err != nil {
		return fmt.Errorf("nsqworker: %w", err)
	}
	keeping, stopKeeping := context.WithCancel(w.base)
	defer stopKeeping()
	go w.keep(keeping)

	var loops sync.WaitGroup
	loops.Go(func() { w.discover(ctx) })
	loops.Go(func() { w.steerLoop(ctx) })
	loops.Go(func() { w.watchLoop(ctx) })
	<-ctx.Done()
	return w.drain(&loops)
}

// nodes are the nsqds we know, by TCP address.
type nodes struct {
	mu sync.RWMutex
	m  map[string]*node
}

func (s *nodes) get(addr string, make func(string) *node) *node {
	s.mu.RLock()
	n := s.m[addr]
	s.mu.RUnlock()
	if n != nil {
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m[addr] == nil {
		s.m[addr] = make(addr)
	}
	return s.m[addr]
}

func (s *nodes) all() []*node {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*node, 0, len(s.m))
	for _, n := range s.m {
		all = append(all, n)
	}
	return all
}

func (s *nodes) drop(n *node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, n.addr)
}

func (w *Worker) fixed(addr string) bool { return slices.Contains(w.cfg.NSQDs, addr) }

func (w *Worker) newNode(addr string) *node {
	most := w.cfg.MaxMsgTimeout
	if most == 0 {
		most = max(nsqdMaxMsgTimeout, w.cfg.MsgTimeout)
	}
	return &node{
		addr: addr, timing: w.timing, count: w.count, maxMsgTimeout: most, seen: time.Now(),
		current: map[nsq.MessageID]*lease{}, links: map[int]*link{},
	}
}
