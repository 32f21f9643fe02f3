//go:build lean

package main

import "github.com/alecthomas/kong"

// A lean program has no dev stack: neither nsqd nor a simulated chain. Images are built so.

// devCmd says where there is one.
type devCmd struct{ lacking }

// Run says what to build.
func (devCmd) Run() error { return lacks("dev") }

// benchCmd says where there is one.
type benchCmd struct{ lacking }

// Run says what to build.
func (benchCmd) Run() error { return lacks("bench") }

type benchWorker struct{ lacking }

// Run says what to build.
func (benchWorker) Run() error { return lacks("bench-worker") }

// lacking takes whatever is given, so that the answer is not about flags.
type lacking struct {
	Rest []string `arg:"" optional:"" passthrough:"" hidden:"" help:"Not read."`
}

func lacks(command string) error {
	return usagef("relayer %s is not in this program, which was built with -tags lean: build it without, go install github.com/nsqrelayer/relayer/cmd/relayer@latest", command)
}

func helpVars() kong.Vars { return nil }
