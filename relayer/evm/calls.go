package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// batchMost is how many calls one batch holds: under every gateway's limit we know of.
const batchMost = 100

// batch makes read calls in as few round trips as it can. The first error of any of them is returned, as a *callError.
// Where one node cannot answer the next is asked; see round.ask and batchEach for errors.
func (s *Sender) batch(ctx context.Context, calls []rpc.BatchElem) error {
	return s.somewhere(ctx, func(ctx context.Context) error {
		if err := s.batchAt(ctx, nodeOf(ctx), calls); err != nil {
			return err
		}
		for _, c := range calls {
			if c.Error != nil {
				return s.elemError(ctx, c)
			}
		}
		return nil
	})
}

// batchEach leaves errors of single calls with them. Its error means that nothing can be relied on. Errors: *callError;
// *ChainError when only nodes of other chains answer; *intents.LimitedError when all nodes ask for fewer calls.
func (s *Sender) batchEach(ctx context.Context, calls []rpc.BatchElem) error {
	return s.somewhere(ctx, func(ctx context.Context) error { return s.batchAt(ctx, nodeOf(ctx), calls) })
}

// somewhere calls f with a node, and with the next one where that cannot answer. Within another somewhere it stays with
// that one's node.
func (s *Sender) somewhere(ctx context.Context, f func(context.Context) error) error {
	if nodeOf(ctx) != nil {
		return f(ctx)
	}
	return s.round().ask(ctx, f)
}

func (s *Sender) round() *round {
	return &round{pool: s.pool, most: s.cfg.Timeout, counted: s.cfg.Units != nil}
}

// batchAt asks one node, and for its chain along with everything else: a node that moved to another is not believed.
func (s *Sender) batchAt(ctx context.Context, n *node, calls []rpc.BatchElem) error {
	var chain *hexutil.Big
	all := append([]rpc.BatchElem{{Method: "eth_chainId", Result: &chain}}, calls...)
	for chunk := range slices.Chunk(all, batchMost) {
		if err := s.callAt(ctx, n, chunk); err != nil {
			return err
		}
	}
	copy(calls, all[1:])
	if all[0].Error == nil && chain == nil {
		all[0].Error = errors.New("no answer")
	}
	if all[0].Error != nil {
		return s.elemError(ctx, all[0])
	}
	return s.ours(ctx, n, chain)
}

// callAt pays for one HTTP call and makes it, and notes how the node did.
func (s *Sender) callAt(ctx context.Context, n *node, calls []rpc.BatchElem) error {
	waited, err := s.charge(ctx, n, calls)
	if err != nil {
		return err
	}
	start := time.Now()
	within, cancel := context.WithTimeout(ctx, s.most(ctx))
	defer cancel()
	if err := n.rpc.BatchCallContext(forMethod(within, mainOf(calls)), calls); err != nil {
		s.noteError(ctx, n, err, time.Since(start) < waited)
		return s.callError(ctx, named(calls), err, true)
	}
	for _, c := range calls {
		if isLimit(c.Error) {
			s.pool.cool(n, backoffOf(c.Error))
			return nil
		}
	}
	s.pool.good(n)
	return nil
}

// backoffOf is for how long an error of a call asks for fewer; 0: it does not say.
func backoffOf(err error) time.Duration {
	e, ok := errors.AsType[rpc.DataError](err)
	if !ok {
		return 0
	}
	data, err := json.Marshal(e.ErrorData())
	if err != nil {
		return 0
	}
	return backoff(data)
}

// named tells a batch by its first call behind eth_chainId.
func named(calls []rpc.BatchElem) string { return "batch of " + mainOf(calls) }

// mainOf is the method of a batch's first call behind eth_chainId.
func mainOf(calls []rpc.BatchElem) string { return calls[min(1, len(calls)-1)].Method }

// noteError tells the pool of a call that failed as a whole. What the caller cut off is not the node's fault, nor what
// ran out of time that went by, for the most part, before the call began: late.
func (s *Sender) noteError(ctx context.Context, n *node, err error, late bool) {
	if errors.Is(ctx.Err(), context.Canceled) || ctx.Err() != nil && late {
		s.pool.release(n)
		return
	}
	if busy, ok := errors.AsType[*busyError](err); ok {
		wait := s.pool.cool(n, busy.after)
		s.log.WarnContext(ctx, "endpoint asks for fewer calls", "host", n.host, "wait", wait.Round(time.Millisecond))
		return
	}
	s.pool.bad(n)
}

// isLimit says whether an error of a call is that there were too many.
func isLimit(err error) bool {
	e, ok := errors.AsType[rpc.Error](err)
	return ok && classify(e.ErrorCode(), e.Error()) == limited
}

// callError is an error of a node or on the way to it, fit to be shown: without the URL that net/http puts around it.
type callError struct {
	method, host, text string
	cause              error // the context's error if it is one, else nil: what is wrapped could be shown by others
	elsewhere          bool  // another node may answer
	limited            bool  // there were too many calls
}

func (e *callError) Error() string { return fmt.Sprintf("%s at %s: %s", e.method, e.host, e.text) }
func (e *callError) Unwrap() error { return e.cause }

func (s *Sender) callError(ctx context.Context, method string, err error, elsewhere bool) error {
	_, busy := errors.AsType[*busyError](err)
	e := &callError{method: method, host: hostOf(ctx), text: s.text(err), elsewhere: elsewhere, limited: busy || isLimit(err)}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			e.cause = cause
		}
	}
	return e
}

// elemError is the error of one call of a batch. Another node may know better, unless the call was run: what it came to
// is the answer.
func (s *Sender) elemError(ctx context.Context, c rpc.BatchElem) error {
	ran := c.Method == "eth_estimateGas" || c.Method == "eth_call"
	return s.callError(ctx, c.Method, c.Error, !ran || isLimit(c.Error))
}
