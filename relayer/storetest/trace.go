package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// trace reads an intent's timeline and says what is wrong with it: versions rise by one from 1, every edge is allowed,
// each change begins where the one before ended, and the row stands at its end. An intent never stored, or
// pruned, has none.
func trace(ctx context.Context, s Store, id string) ([]string, error) {
	events, err := s.Events(ctx, id)
	if errors.Is(err, intents.ErrNotFound) {
		return nil, nil
	}
	in, err2 := s.Get(ctx, id)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if !in.PrunedAt.IsZero() {
		return found(len(events) > 0, "%s: of a pruned intent there are %d events", id, len(events)), nil
	}
	var out []string
	last := intents.Event{}
	for _, e := range events {
		if e.Kind != intents.Changed {
			out = append(out, note(e, last)...)
			continue
		}
		out = append(out, edge(e, last)...)
		last = e
	}
	if amiss := in.State == intents.Failed || in.State == intents.Canceled || in.State == intents.NeedsReview; amiss && in.Reason == "" {
		out = append(out, fmt.Sprintf("%s is %s without a reason", id, in.State))
	}
	if in.State == intents.Canceled && in.Reason != intents.ReasonOperator {
		out = append(out, fmt.Sprintf("%s is canceled for %s", id, in.Reason))
	}
	if last.Version != in.Version || last.To != in.State || last.Reason != in.Reason || !last.At.Equal(in.ChangedAt) {
		out = append(out, fmt.Sprintf("%s: the row is %s v%d, its timeline ends in %+v", id, in.State, in.Version, last))
	}
	return out, nil
}

func found(wrong bool, format string, args ...any) []string {
	if !wrong {
		return nil
	}
	return []string{fmt.Sprintf(format, args...)}
}

// edge checks one change against the one before. A change of claim stays in settling.
func edge(e, last intents.Event) (out []string) {
	if !intents.CanMove(e.From, e.To) {
		out = append(out, fmt.Sprintf("v%d goes from %s to %s, which is no edge", e.Version, e.From, e.To))
	}
	if e.From != last.To || e.Version != last.Version+1 || e.N != 0 {
		out = append(out, fmt.Sprintf("%+v does not follow %+v", e, last))
	}
	if e.Actor == "" {
		out = append(out, fmt.Sprintf("v%d has no actor", e.Version))
	}
	return out
}

// note checks a line that changed nothing.
func note(e, last intents.Event) []string {
	if e.N < 1 || e.Version > last.Version || e.From != e.To {
		return []string{fmt.Sprintf("note %+v after %+v", e, last)}
	}
	return nil
}

// plain shows an intent without what two readings of the same row may show differently.
func plain(in intents.Intent) string {
	in.ReadAt, in.Paused = time.Time{}, false
	for _, t := range []*time.Time{&in.NotBefore, &in.ExpiresAt, &in.CreatedAt, &in.ChangedAt, &in.AgainUntil, &in.FirstClaimedAt,
		&in.ClaimUntil, &in.TryAt, &in.DueAt, &in.WatchAt} {
		*t = t.UTC().Truncate(time.Microsecond)
	}
	return fmt.Sprintf("%+v", in)
}
