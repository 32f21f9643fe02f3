package evm

import (
	"context"
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// none is the error when no node is left to ask; last is what the last one said.
func (p *pool) none(last error) error {
	_, calm := p.rest(time.Now())
	if last == nil {
		last = errors.New("no endpoint can be called now")
	}
	if calm > 0 {
		return &intents.LimitedError{After: calm, Known: !saidLimit(last), Err: last}
	}
	return last
}

// saidLimit says whether an error of a call is that there were too many.
func saidLimit(err error) bool {
	e, ok := errors.AsType[*callError](err)
	return ok && e.limited
}

// round is one question to the pool: it goes to no node twice.
type round struct {
	pool  *pool
	most  time.Duration // for all of it, from each node's start
	asked []*node

	counted bool // calls wait for units: each has half of the time for itself
}

// ask calls f with one node after the other, until one answers. While others are left, a node gets half of the time.
// Errors: f's last; a *intents.LimitedError when all nodes ask for fewer calls.
func (r *round) ask(ctx context.Context, f func(context.Context) error) error {
	var last error
	for {
		n := r.pool.take(time.Now(), r.asked)
		if n == nil {
			return r.pool.none(last)
		}
		r.asked = append(r.asked, n)
		err := r.askOne(ctx, n, f)
		if err == nil || ctx.Err() != nil || !elsewhere(err) {
			return err
		}
		last = err
	}
}

func (r *round) askOne(ctx context.Context, n *node, f func(context.Context) error) error {
	defer r.pool.release(n)
	switch {
	case !r.pool.others(time.Now(), r.asked):
	case r.counted:
		ctx = withHalf(ctx)
	default:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, share(ctx, r.most))
		defer cancel()
	}
	return f(withNode(ctx, n))
}

// share is half of what is left, or of most.
func share(ctx context.Context, most time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end))
	}
	return most / 2
}

// elsewhere says whether another node may answer what this one did not.
func elsewhere(err error) bool {
	if e, ok := errors.AsType[*callError](err); ok {
		return e.elsewhere
	}
	_, foreign := errors.AsType[*ChainError](err)
	return foreign
}

type nodeKey struct{}

// withNode has all reads under ctx go to one node, so that what they say fits together.
func withNode(ctx context.Context, n *node) context.Context {
	return context.WithValue(ctx, nodeKey{}, n)
}

// nodeOf is the node of withNode, or nil.
func nodeOf(ctx context.Context) *node {
	n, _ := ctx.Value(nodeKey{}).(*node)
	return n
}

// hostOf is who answers under ctx, for errors and evidence.
func hostOf(ctx context.Context) string {
	if n := nodeOf(ctx); n != nil {
		return n.host
	}
	return ""
}
