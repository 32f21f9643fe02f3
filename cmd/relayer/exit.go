package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/config"
	"github.com/nsqrelayer/relayer/internal/postgres"
)

// The exit codes, as relayer --help lists them.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // or configuration
	exitWait   = 3 // the wait ran out
	exitBadEnd = 4 // an intent ended failed, canceled or in review
	exitDown   = 5 // Postgres or NSQ is down
)

// codedError is an error with an exit code of its own.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// usage makes an error exit 2.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &codedError{exitUsage, err}
}

// usagef is a usage error of its own words.
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// quiet is a code whose reasons have been printed.
func quiet(code int) error { return &codedError{code: code, err: errors.New("")} }

// exit prints an error, a line for each of those joined in it, and gives its code. No secret is in it, whoever made it.
func (a *app) exit(err error) int {
	if err == nil {
		return exitOK
	}
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	a.complain(text)
	return codeOf(err)
}

// complain prints a text to stderr, without secrets, each of its lines under our name.
func (a *app) complain(text string) {
	for line := range strings.Lines(a.redact(text)) {
		fmt.Fprintf(a.stderr, "relayer: %s\n", strings.TrimRight(line, "\n"))
	}
}

func (a *app) redact(text string) string { return config.Scrub(a.cfg.Redact(text)) }

func codeOf(err error) int {
	if e, ok := errors.AsType[*codedError](err); ok {
		return e.code
	}
	if _, ok := errors.AsType[*postgres.NotFoundError](err); ok || errors.Is(err, intents.ErrUnavailable) {
		return exitDown
	}
	return exitFailed
}

// blamed says whether an error of a type is in err.
func blamed[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
