package main

import (
	"errors"
	"fmt"

	"github.com/nsqrelayer/relayer/internal/desk"
)

type cancelCmd struct {
	ID string `arg:"" help:"The intent's id."`
}

// Help shows an example.
func (cancelCmd) Help() string {
	return "Example:\n\n    relayer cancel pi_x1\n\nBefore the intent is claimed this is certain; afterwards it is refused, with exit code 1, because money may have left."
}

// Run cancels.
func (c *cancelCmd) Run(a *app) error {
	ctx, stop := a.context()
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	in, err := desk.Cancel(ctx, s, c.ID, a.actor())
	if _, late := errors.AsType[*desk.LateError](err); late {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	_, err = fmt.Fprintln(a.stdout, line(in))
	return err
}
