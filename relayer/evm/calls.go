package evm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/rpc"
)

// batchMost is how many calls one batch holds: under every gateway's limit we know of.
const batchMost = 100

// batch makes read calls in as few round trips as it can. The first error of any of them is returned, as a *callError.
func (s *Sender) batch(ctx context.Context, calls []rpc.BatchElem) error {
	return s.batchMust(ctx, calls, len(calls))
}

// batchMust is batch, but only the first calls must succeed, as many as must says. Errors of the others stay with them.
func (s *Sender) batchMust(ctx context.Context, calls []rpc.BatchElem, must int) error {
	if err := s.batchEach(ctx, calls); err != nil {
		return err
	}
	for _, c := range calls[:must] {
		if c.Error != nil {
			return s.callError(c.Method, c.Error)
		}
	}
	return nil
}

// batchEach leaves errors of single calls with them. Its error means that nothing can be relied on.
func (s *Sender) batchEach(ctx context.Context, calls []rpc.BatchElem) error {
	for chunk := range slices.Chunk(calls, batchMost) {
		ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		err := s.rpc.BatchCallContext(ctx, chunk)
		cancel()
		if err != nil {
			return s.callError("batch of "+chunk[0].Method, err)
		}
	}
	return nil
}

// callError is an error of the node or on the way to it, fit to be shown: without the URL that net/http puts around it.
type callError struct {
	method, host, text string
	cause              error // the context's error if it is one, else nil: what is wrapped could be shown by others
}

func (e *callError) Error() string { return fmt.Sprintf("%s at %s: %s", e.method, e.host, e.text) }
func (e *callError) Unwrap() error { return e.cause }

func (s *Sender) callError(method string, err error) error {
	e := &callError{method: method, host: s.host, text: s.text(err)}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			e.cause = cause
		}
	}
	return e
}
