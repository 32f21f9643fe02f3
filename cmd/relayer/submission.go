package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

const (
	submitters = 64 // stores at a time: the store batches what comes together
	giveUp     = 3  // failed publishes in a row after which the sweeper gets the rest
)

// creator stores intents.
type creator interface {
	// Create stores a new intent, authorized or only created. One that is known with the same content is returned as it
	// stands, and was created before it was read. Errors: *intents.ConflictError.
	Create(ctx context.Context, in intents.Intent, authorize bool, actor string) (intents.Intent, error)
}

// unpublished is the publisher where there is none.
type unpublished struct{}

func (unpublished) Publish(context.Context, string, []byte) error { return nil }
func (unpublished) Close()                                        {}

// submission stores intents and publishes references to them.
type submission struct {
	store     creator
	pub       publisher
	topic     string
	authorize bool
	skipBad   bool
	keep      bool // what is stored, for who waits or prints
	actor     string
	traces    *traces // nil: none
	complain  func(string)
	progress  *progress

	mu      sync.Mutex
	stored  int
	kept    []intents.Intent
	known   int // of stored: those that were there before
	refused int // lines left out, by us or by the store

	lost    atomic.Int64 // not published
	failing atomic.Int64 // in a row
}

// all submits. It stops at the first bad line or refused intent, unless those are skipped; what was stored by then stays.
func (s *submission) all(ctx context.Context, orders iter.Seq2[order, error]) error {
	g, working := errgroup.WithContext(ctx)
	g.SetLimit(submitters)
	for o, err := range orders {
		if working.Err() != nil {
			break
		}
		g.Go(func() error {
			if err == nil {
				err = s.one(ctx, o) // what has begun ends, whatever becomes of other lines
			}
			return s.judge(err)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// judge lets errors of a single line pass where those are skipped.
func (s *submission) judge(err error) error {
	if _, line := errors.AsType[*lineError](err); !line || !s.skipBad || errors.Is(err, intents.ErrUnavailable) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused++
	s.complain(err.Error())
	return nil
}

func (s *submission) one(ctx context.Context, o order) error {
	ctx = s.traces.errand(ctx, "")
	in, err := s.store.Create(ctx, o.in, s.authorize, s.actor)
	if err != nil {
		return o.at(err)
	}
	s.publish(ctx, in)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored++
	if s.keep {
		s.kept = append(s.kept, in)
	}
	if in.CreatedAt.Before(in.ReadAt) {
		s.known++
	}
	s.progress.add(1)
	return nil
}

// publish tells workers of an intent that may be sent now. Nothing is lost where it fails: the sweeper publishes it.
func (s *submission) publish(ctx context.Context, in intents.Intent) {
	if !desk.Ripe(in) {
		return
	}
	if s.failing.Load() >= giveUp {
		s.lost.Add(1)
		return
	}
	err := desk.Announce(ctx, s.pub, s.topic, in.ID)
	if err == nil {
		s.failing.Store(0)
		return
	}
	s.lost.Add(1)
	if s.failing.Add(1) == 1 && ctx.Err() == nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		s.complain("publish: " + text + ": the sweeper publishes what is stored")
	}
}

// remarks are what else there is to say of a submission.
func (s *submission) remarks() string {
	var words []string
	for _, n := range []struct {
		n    int
		what string
	}{{s.known, "already known"}, {s.refused, "refused"}, {int(s.lost.Load()), "left to the sweeper"}} {
		if n.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}
