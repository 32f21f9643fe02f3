package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	payouts  = "payouts"
	webhooks = "webhooks"
	accounts = 10 // that pay
	actor    = "soak"

	tryFor      = 10 * time.Second       // one call of the store or of nsqd
	tryPause    = 500 * time.Millisecond // before it is repeated, and between looks for a row
	publishEach = 5 * time.Second        // a full message whose row is not seen is published again after so long
)

// keeper is what the load needs of the store.
type keeper interface {
	// Create stores a new intent. One that is known with the same content is returned. Errors: *intents.ConflictError.
	Create(ctx context.Context, in intents.Intent, authorize bool, actor string) (intents.Intent, error)
	// Get reads an intent. Errors: intents.ErrNotFound.
	Get(ctx context.Context, id string) (intents.Intent, error)
}

// poster publishes messages.
type poster interface {
	Publish(ctx context.Context, topic string, body []byte) error
}

// load makes intents at a steady rate, whatever is broken, and stays with each until it is stored.
type load struct {
	run      string // a part of all ids
	keeper   keeper
	poster   poster
	complain func(string)

	mu     sync.Mutex
	begun  []intents.Intent
	stored atomic.Int64
	ones   sync.WaitGroup
}

// steady begins intents until working ends. What has begun goes on until ctx ends.
func (l *load) steady(ctx, working context.Context, perSecond float64) {
	tick := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-working.Done():
			return
		case <-tick.C:
		}
		in := l.make(n)
		l.mu.Lock()
		l.begun = append(l.begun, in)
		l.mu.Unlock()
		l.ones.Go(func() { l.one(ctx, in, isFull(n)) })
	}
}

// isFull says which intents come as full messages, two of ten: one for each route.
func isFull(n int) bool { return n%10 == 4 || n%10 == 7 }

// isScheduled says which are stored to be sent some seconds later.
func isScheduled(n int) bool { return n%10 == 5 }

// make gives each intent a destination of its own, so that effects can be counted outside.
func (l *load) make(n int) intents.Intent {
	in := intents.Intent{ID: fmt.Sprintf("pi_%s_%06d", l.run, n), Account: fmt.Sprintf("acct_%d", n/2%accounts)}
	if n%2 == 0 {
		in.Route, in.Asset, in.Amount = payouts, "ETH", intents.NewAmount(int64(1_000_000_000+n))
		in.Destination = common.BytesToAddress(crypto.Keccak256([]byte(in.ID))).Hex()
	} else {
		in.Route, in.Asset, in.Amount = webhooks, "USD", intents.NewAmount(int64(100+n%1000))
		in.Destination = "customer-" + in.ID
	}
	if isScheduled(n) {
		in.NotBefore = time.Now().Add(5 * time.Second).Truncate(time.Millisecond)
	}
	return in
}

func topicOf(route string) string { return "intents." + route }

// one brings an intent into the store, one way or the other.
func (l *load) one(ctx context.Context, in intents.Intent, full bool) {
	way := l.submit
	if full {
		way = l.publish
	}
	for ctx.Err() == nil && !l.try(ctx, in, way) {
		pause(ctx, tryPause)
	}
}

// try is one try, and says whether no other is needed.
func (l *load) try(ctx context.Context, in intents.Intent, way func(context.Context, intents.Intent) error) bool {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	err := way(ctx, in)
	if _, ok := errors.AsType[*intents.ConflictError](err); ok {
		l.complain(fmt.Sprintf("%s is refused by the store: %v", in.ID, err))
		return true
	}
	if err == nil {
		l.stored.Add(1)
	}
	return err == nil
}

// submit stores an intent, then publishes a reference once, as relayer submit does: the sweeper finds what is not published.
func (l *load) submit(ctx context.Context, in intents.Intent) error {
	if _, err := l.keeper.Create(ctx, in, true, actor); err != nil {
		return err
	}
	body, err := intents.EncodeReference(in.ID)
	if err == nil && in.NotBefore.IsZero() {
		_ = l.poster.Publish(ctx, topicOf(in.Route), body)
	}
	return err
}

// publish sends a full message and looks for its row. Until that is seen the message may have died with nsqd, and has to be
// published again.
func (l *load) publish(ctx context.Context, in intents.Intent) error {
	body, err := intents.Encode(in)
	if err != nil {
		return err
	}
	if err := l.poster.Publish(ctx, topicOf(in.Route), body); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, publishEach)
	defer cancel()
	for {
		if _, err = l.keeper.Get(ctx, in.ID); err == nil || ctx.Err() != nil {
			return err
		}
		pause(ctx, tryPause)
	}
}

// all are the intents that were begun.
func (l *load) all() []intents.Intent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.begun)
}
