package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
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
	pub, err := a.parts.publisher(a.cfg.NSQ, a.logger(slog.LevelError))
	if err != nil {
		return err
	}
	defer pub.Close()
	m, known, err := desk.Replay(ctx, s, pub, a.canon, l)
	switch {
	case err != nil:
		return a.unburied(l, err)
	case known.ID != "":
		_, err = fmt.Fprintf(a.stdout, "%s  not published: the id is known since %s\n", line(known), stamp(known.CreatedAt))
		return err
	}
	return a.becomes(ctx, s, l, m, c.Timeout)
}

// unburied names the letter where it is the letter's fault.
func (a *app) unburied(l intents.BuriedLetter, err error) error {
	_, cut := errors.AsType[*desk.CutError](err)
	_, bad := errors.AsType[*desk.BadLetterError](err)
	if cut || bad {
		return fmt.Errorf("%s: %w", hashOf(l)[:12], err)
	}
	return err
}

// canon gives an intent as its route's sender stores and compares it.
func (a *app) canon(name string, in intents.Intent) intents.Intent {
	if route, err := a.cfg.Route(name); err == nil {
		if canonical, err := a.parts.canonical(route, in); err == nil {
			return canonical
		}
	}
	return in
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
