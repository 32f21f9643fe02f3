package batch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/internal/batch"
)

type (
	ans    = batch.Answer[string]
	method = func(ctx context.Context, ops []string) ([]ans, error)
)

// script is a committer that does as it is told and remembers what it was asked. Without orders it writes everything
// at once: the answer to "a1" is "a1 written".
type script struct {
	commit  method
	resolve method

	mu        sync.Mutex
	committed [][]string // the calls of Commit
	resolved  [][]string // the calls of Resolve
}

func (s *script) Commit(ctx context.Context, ops []string) ([]ans, error) {
	s.mu.Lock()
	s.committed = append(s.committed, slices.Clone(ops))
	s.mu.Unlock()
	if s.commit != nil {
		return s.commit(ctx, ops)
	}
	return written(ops), nil
}

func (s *script) Resolve(ctx context.Context, ops []string) ([]ans, error) {
	s.mu.Lock()
	s.resolved = append(s.resolved, slices.Clone(ops))
	s.mu.Unlock()
	if s.resolve != nil {
		return s.resolve(ctx, ops)
	}
	return nil, errors.New("resolve is not in the script")
}

func (s *script) commits() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.committed)
}

func written(ops []string) []ans {
	out := make([]ans, len(ops))
	for i, op := range ops {
		out[i].Value = op + " written"
	}
	return out
}

// whole is a key under which every operation is its own.
func whole(op string) string { return op }

// letter is a key under which "a1" and "a2" are the same row.
func letter(op string) string { return op[:1] }

func length(op string) int { return len(op) }

// start runs a queue inside a bubble until the test ends.
func start(t *testing.T, s batch.Committer[string, string], key func(string) string, cfg batch.Config) *batch.Queue[string, string] {
	t.Helper()
	q := batch.New(s, key, length, cfg)
	go q.Run()
	t.Cleanup(q.Close)
	return q
}

// caller is one Do under way.
type caller struct {
	cancel context.CancelFunc
	done   chan struct{}
	value  string
	err    error
}

// do starts Do for each op in turn, so that they stand in line in this order.
func do(t *testing.T, q *batch.Queue[string, string], ops ...string) []*caller {
	t.Helper()
	var out []*caller
	for _, op := range ops {
		ctx, cancel := context.WithCancel(t.Context())
		c := &caller{cancel: cancel, done: make(chan struct{})}
		go func() {
			defer close(c.done)
			c.value, c.err = q.Do(ctx, op)
		}()
		synctest.Wait()
		out = append(out, c)
	}
	return out
}

func (c *caller) answered() bool {
	synctest.Wait()
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// wait gives the answers of callers in a form that is easy to compare: the value, or the error's text.
func wait(cs ...*caller) []string {
	var out []string
	for _, c := range cs {
		<-c.done
		c.cancel()
		if c.err != nil {
			out = append(out, c.err.Error())
		} else {
			out = append(out, c.value)
		}
	}
	return out
}

// slow makes each commit last a second, so that callers pile up behind the first.
func slow(next method) method {
	return func(ctx context.Context, ops []string) ([]ans, error) {
		time.Sleep(time.Second)
		if next != nil {
			return next(ctx, ops)
		}
		return written(ops), nil
	}
}

// after hands the first n calls to first and the rest to then.
func after(n int, first, then method) method {
	return func(ctx context.Context, ops []string) ([]ans, error) {
		if n--; n >= 0 {
			return first(ctx, ops)
		}
		return then(ctx, ops)
	}
}

func fails(err error) method {
	return func(context.Context, []string) ([]ans, error) { return nil, err }
}

func succeeds(_ context.Context, ops []string) ([]ans, error) { return written(ops), nil }

func panics(context.Context, []string) ([]ans, error) { panic("out of cheese") }

// refusesBad fails any batch that has an operation with an exclamation mark, as a constraint would.
func refusesBad(_ context.Context, ops []string) ([]ans, error) {
	for _, op := range ops {
		if op[len(op)-1] == '!' {
			return nil, batch.BadRow(errors.New("bad " + op))
		}
	}
	return written(ops), nil
}
