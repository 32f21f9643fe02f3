//go:build !lean

package main

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// listenTries is how often a part is started when others are faster to listen on the port it picked.
const listenTries = 10

// untilListening starts a part, and again while the port it picked was taken between the look and the listening: two
// stacks that start in the same moment look at the same ports. A port given by flag is not picked again, but refused.
func untilListening(ctx context.Context, start func(context.Context) error) (err error) {
	for range listenTries {
		if err = start(ctx); !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
	}
	return err
}

// inUse is the error of the first address nobody can listen on; nil if there is none.
func inUse(addrs ...string) error {
	for _, addr := range addrs {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		l.Close()
	}
	return nil
}
