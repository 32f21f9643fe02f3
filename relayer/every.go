package relayer

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"
)

// every calls f at once and then each period until ctx ends. A call that takes longer delays the next; one that panics
// is logged and forgotten.
func every(ctx context.Context, period time.Duration, log *slog.Logger, f func()) {
	t := time.NewTicker(period)
	defer t.Stop()
	for ctx.Err() == nil {
		guard(ctx, log, f)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// paced is every with a pause after each call, which may be another one each time.
func paced(ctx context.Context, pause func() time.Duration, log *slog.Logger, f func()) {
	for ctx.Err() == nil {
		guard(ctx, log, f)
		pauseFor(ctx, pause())
	}
}

func guard(ctx context.Context, log *slog.Logger, f func()) {
	defer func() {
		if v := recover(); v != nil {
			log.ErrorContext(ctx, "panic in a loop", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	f()
}

// resign gives up a lease that owner may have, so that another process need not wait for its end. Where that fails the
// lease ends by itself.
func resign(ctx context.Context, due Due, name, owner string, timeout time.Duration) {
	once, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	_, _ = due.Lead(once, name, owner, 0)
}
