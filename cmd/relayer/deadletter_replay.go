package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

type deadReplayCmd struct {
	Hash    string        `arg:"" help:"The hash, or its first digits."`
	Timeout time.Duration `default:"10s" help:"How long to wait for what becomes of it (${default})."`
}

// Help says how it works.
func (deadReplayCmd) Help() string {
	return `Example:

    relayer deadletter replay 3f5a0c

A dead letter does not occupy its intent's id: published again after what was wrong is mended, it becomes the intent. Exit 0 when it has, or is known already; 1 when it is dead again; 3 when nobody took it in time. What was cut (its size is above what is kept) must be published from where it came.`
}

// Run publishes the body again and tells what became of it.
func (c *deadReplayCmd) Run(a *app) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := letterOf(ctx, s, c.Hash)
	if err != nil {
		return err
	}
	if l.Size > len(l.Body) {
		return fmt.Errorf("%s: only %d of %d bytes are kept: publish it from where it came", hashOf(l)[:12], len(l.Body), l.Size)
	}
	m, err := intents.Decode(l.Body)
	if err != nil {
		return fmt.Errorf("%s: it would be dead again: %w", hashOf(l)[:12], err)
	}
	if m.Full {
		in, err := a.suppressed(ctx, s, l, m)
		if err != nil || in.ID != "" {
			return err
		}
	}
	if err := a.replay(ctx, l); err != nil {
		return err
	}
	return a.becomes(ctx, s, l, m, c.Timeout)
}

// suppressed tells when an id is known already: then the message would change nothing, and silently (case 108).
func (a *app) suppressed(ctx context.Context, s store, l intents.BuriedLetter, m intents.Message) (intents.Intent, error) {
	in, err := s.Get(ctx, m.ID)
	if errors.Is(err, intents.ErrNotFound) {
		return intents.Intent{}, nil
	}
	if err != nil {
		return in, err
	}
	m.Intent.Route = l.Route
	if route, err := a.cfg.Route(l.Route); err == nil {
		if canonical, err := a.parts.canonical(route, m.Intent); err == nil {
			m.Intent = canonical
		}
	}
	if in.CreatedAt.IsZero() || in.Account == "" || in.Route == l.Route && in.Hash() == m.Intent.Hash() { // of a pruned one nothing is left to compare
		_, err = fmt.Fprintf(a.stdout, "%s  not published: the id is known since %s\n", line(in), stamp(in.CreatedAt))
		return in, err
	}
	return in, fmt.Errorf("not published, it would be dead again: the id %s is known since %s with another content or on another route, state %s", m.ID, stamp(in.CreatedAt), in.State)
}

func (a *app) replay(ctx context.Context, l intents.BuriedLetter) error {
	pub, err := a.parts.publisher(a.cfg.NSQ, a.logger(slog.LevelError))
	if err != nil {
		return err
	}
	defer pub.Close()
	ctx, cancel := context.WithTimeout(ctx, publishFor)
	defer cancel()
	if err := pub.Publish(ctx, l.Topic, l.Body); err != nil {
		return fmt.Errorf("publish: %w: %w", intents.ErrUnavailable, err)
	}
	return nil
}

// replayLook is how often it is looked what became of a message.
const replayLook = 100 * time.Millisecond

// becomes waits until the message is an intent, or dead again.
func (a *app) becomes(ctx context.Context, s store, l intents.BuriedLetter, m intents.Message, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		in, err := s.Get(ctx, m.ID)
		if err == nil {
			_, err = fmt.Fprintln(a.stdout, line(in))
			return err
		}
		now, err := letterOf(ctx, s, hashOf(l))
		if err == nil && (now.Count != l.Count || now.Reason != l.Reason) {
			return fmt.Errorf("%s is dead again, for the %d. time: %s: %s", hashOf(l)[:12], now.Count, now.Reason, now.Detail)
		}
		if !sleep(ctx, replayLook) {
			return &codedError{exitWait, fmt.Errorf("%s is published to %s, and nobody has taken it after %s: relayer get %s", hashOf(l)[:12], l.Topic, patience, m.ID)}
		}
	}
}
