package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/nsqrelayer/relayer/intents"
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

// mostLetters is how many are looked through for one.
const mostLetters = 100_000

type deadListCmd struct {
	Limit  int    `default:"50" help:"At most so many."`
	Output string `short:"o" enum:"table,json,jsonl" default:"table" env:"RELAYER_OUTPUT" help:"table, json or jsonl."`
}

// letterView is a dead letter as programs read it.
type letterView struct {
	Hash    string    `json:"hash"` // SHA-256 of the whole body
	Topic   string    `json:"topic"`
	Route   string    `json:"route"`
	Reason  string    `json:"reason"`
	Detail  string    `json:"detail"`
	Count   int       `json:"count"`
	Size    int       `json:"size"`
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
	Body    string    `json:"body,omitempty"` // as far as it is kept; what is no UTF-8 is replaced
}

func viewLetter(l intents.BuriedLetter, body bool) letterView {
	v := letterView{hashOf(l), l.Topic, l.Route, l.Reason, l.Detail, l.Count, l.Size, l.FirstAt, l.LastAt, ""}
	if body {
		v.Body = strings.ToValidUTF8(string(l.Body), "\uFFFD")
	}
	return v
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
	views := []letterView{}
	t := newTable(a.stdout, "HASH", "COUNT", "LAST", "TOPIC", "REASON", "DETAIL")
	for _, l := range all {
		if c.Output == "jsonl" {
			if err := printLine(a.stdout, viewLetter(l, false)); err != nil {
				return err
			}
		}
		views = append(views, viewLetter(l, false))
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
func letterOf(ctx context.Context, u undertaker, start string) (intents.BuriedLetter, error) {
	all, err := u.DeadLetters(ctx, mostLetters)
	if err != nil {
		return intents.BuriedLetter{}, err
	}
	var found []intents.BuriedLetter
	for _, l := range all {
		if strings.HasPrefix(hashOf(l), strings.ToLower(start)) {
			found = append(found, l)
		}
	}
	switch {
	case len(found) == 0:
		return intents.BuriedLetter{}, fmt.Errorf("no dead letter %s", start)
	case hashOf(found[0]) != hashOf(found[len(found)-1]):
		return intents.BuriedLetter{}, usagef("%s: %d dead letters begin like this", start, len(found))
	}
	return found[0], nil // of the same body the newest: it may have been buried for several reasons
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
		return printJSON(a.stdout, viewLetter(l, true))
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
