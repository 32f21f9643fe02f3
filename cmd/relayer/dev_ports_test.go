//go:build !lean

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/nsqrelayer/relayer/internal/devstack/nsq"
)

// Somebody else listens where a part was to: the part picks again, and only then.
func TestPartMovesOnWhenItsPortIsLost(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	ports := []string{taken, taken, "127.0.0.1:0", "127.0.0.1:0"}
	starts := 0
	err = untilListening(t.Context(), func(ctx context.Context) error {
		cfg := nsq.Config{AdminHTTPAddress: ports[starts], Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
		starts++
		n, err := nsq.Start(ctx, cfg)
		if err != nil {
			return errors.Join(err, inUse(cfg.AdminHTTPAddress))
		}
		return n.Stop()
	})
	if err != nil || starts != 3 {
		t.Errorf("%d starts, error %v; want 3 and none", starts, err)
	}
	starts = 0
	err = untilListening(t.Context(), func(context.Context) error { starts++; return io.EOF })
	if !errors.Is(err, io.EOF) || starts != 1 {
		t.Errorf("another error: %d starts, %v; want 1, EOF", starts, err)
	}
	starts = 0
	err = untilListening(t.Context(), func(context.Context) error { starts++; return inUse("127.0.0.1:0", taken) })
	if !errors.Is(err, syscall.EADDRINUSE) || starts != listenTries || !strings.Contains(err.Error(), taken) {
		t.Errorf("always lost: %d starts, %v; want %d and the address", starts, err, listenTries)
	}
}
