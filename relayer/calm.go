package relayer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"github.com/nsqrelayer/relayer/intents"
)

// calmer is who is told that there are too many calls: the permit of the call that heard it, or the throttle where that
// had none.
type calmer interface {
	// Calm is [Throttle.Calm].
	Calm(d time.Duration) (perSecond rate.Limit, slowed bool)
	// Shut is [Throttle.Shut].
	Shut(d time.Duration)
}

// calmFor calms the throttle where an error says that the other side asks for fewer calls, and says when to look again
// after any error that means not now.
func calmFor(ctx context.Context, log *slog.Logger, by calmer, err error) time.Duration {
	limited, ok := errors.AsType[*intents.LimitedError](err)
	if !ok {
		return notNow
	}
	calm(ctx, log, by, limited.After, limited.Known)
	return max(limited.After, time.Second)
}

// calm shuts the throttle for d. A refusal that is news also slows it.
func calm(ctx context.Context, log *slog.Logger, by calmer, d time.Duration, known bool) {
	if known {
		by.Shut(d)
		return
	}
	if perSecond, slowed := by.Calm(d); slowed {
		log.WarnContext(ctx, "throttle slowed, too many calls", "per-second", float64(perSecond), "pause", min(d, MaxCalm))
	}
}
