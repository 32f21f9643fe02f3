package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

// undertaker reads what could not become an intent.
type undertaker interface {
	// DeadLetters reads dead letters, newest first, and how often each came.
	DeadLetters(ctx context.Context, most int) ([]intents.BuriedLetter, error)
}

type deadletterCmd struct {
	List   deadListCmd   `cmd:"" aliases:"ls" help:"List dead letters, newest first."`
	Show   deadShowCmd   `cmd:"" help:"Show a dead letter with its body."`
	Replay deadReplayCmd `cmd:"" help:"Publish a dead letter's body again, and see what becomes of it."`
}

type deadListCmd struct {
	Limit  int    `default:"50" help:"At most so many."`
	Output string `short:"o" enum:"table,json,jsonl" default:"table" env:"RELAYER_OUTPUT" help:"table, json or jsonl."`
}

func hashOf(l intents.BuriedLetter) string { return hex.EncodeToString(l.Hash[:]) }

// Run lists.
func (c *deadListCmd) Run(a *app) error {
	if c.Limit < 1 {
		return usage(&intents.InvalidError{Field: "--limit", Value: strconv.Itoa(c.Limit), Want: "at least 1"})
	}
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.DeadLetters(ctx, c.Limit)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		a.complain("no dead letters")
	}
	views := []intents.LetterView{}
	t := newTable(a.stdout, "HASH", "COUNT", "LAST", "TOPIC", "REASON", "DETAIL")
	for _, l := range all {
		if c.Output == "jsonl" {
			if err := printLine(a.stdout, intents.LetterJSON(l, false)); err != nil {
				return err
			}
		}
		views = append(views, intents.LetterJSON(l, false))
		t.row(hashOf(l)[:12], strconv.Itoa(l.Count), stamp(l.LastAt), l.Topic, l.Reason, printable(l.Detail))
	}
	switch {
	case c.Output == "json":
		return printJSON(a.stdout, views)
	case c.Output == "table" && len(all) > 0:
		return t.flush()
	}
	return nil
}

// printable shows a text of strangers on one line of a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}

// letterOf finds a dead letter by the start of its hash.
func letterOf(ctx context.Context, l desk.Letters, start string) (intents.BuriedLetter, error) {
	found, err := desk.FindLetter(ctx, l, start)
	if vague, ok := errors.AsType[*desk.LetterError](err); ok && vague.Found > 1 {
		return found, usage(err)
	}
	return found, err
}

type deadShowCmd struct {
	Hash   string `arg:"" help:"The hash, or its first digits."`
	Output string `short:"o" enum:"text,json" default:"text" help:"text or json."`
}

// Run shows one.
func (c *deadShowCmd) Run(a *app) error {
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
	if c.Output == "json" {
		return printJSON(a.stdout, intents.LetterJSON(l, true))
	}
	t := newTable(a.stdout)
	for _, row := range [][2]string{{"hash", hashOf(l)}, {"topic", l.Topic}, {"route", l.Route}, {"reason", l.Reason}, {"detail", printable(l.Detail)},
		{"count", strconv.Itoa(l.Count)}, {"first at", stamp(l.FirstAt)}, {"last at", stamp(l.LastAt)}, {"size", strconv.Itoa(l.Size) + " bytes"}} {
		t.row(row[0], row[1])
	}
	if err := t.flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "\n%s\n", printable(string(l.Body)))
	return err
}
