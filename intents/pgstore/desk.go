package pgstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Park says when to look at an intent again. Errors: intents.ErrMoved, intents.ErrUnsure.
func (s *Store) Park(ctx context.Context, in intents.Intent, wait time.Duration) error {
	_, err := s.decide(ctx, in.Key, 0, func(now intents.Intent, at time.Time) (intents.Change, error) {
		return intents.Park(now, in, wait, at)
	})
	return gone(err)
}

// Refuse fails an intent that is authorized and can never be sent. Errors: intents.ErrMoved, intents.ErrUnsure.
func (s *Store) Refuse(ctx context.Context, in intents.Intent, reason intents.Reason, detail []byte) (intents.Intent, error) {
	got, err := s.decide(ctx, in.Key, len(detail), func(now intents.Intent, at time.Time) (intents.Change, error) {
		if !in.State.Holds() && now.Version == in.Version+1 && now.State == intents.Failed && now.Reason == reason {
			return intents.Change{Before: now, After: now}, nil // asked again
		}
		return intents.Refuse(now, in, reason, detail, s.cfg.Actor, at)
	})
	return got, gone(err)
}

// gone tells of an intent that is no more what every other change of it is told as.
func gone(err error) error {
	if errors.Is(err, intents.ErrNotFound) {
		return intents.ErrMoved
	}
	return err
}

const bury = `insert into dead_letters as d (topic, hash, body, size, reason, detail, message_id, route, first_at, last_at)
 values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp(), clock_timestamp())
 on conflict (topic, hash, reason) do update set count = d.count + 1, last_at = excluded.last_at`

// Bury keeps a dead letter; the same one again (topic, hash, reason) only counts. The body is kept as bytes, so that what is wrong
// with it cannot be wrong here too. Asked again after a lost answer it may count twice.
func (s *Store) Bury(ctx context.Context, d intents.DeadLetter) error {
	body := d.Body[:min(len(d.Body), intents.MaxDeadBody)]
	if body == nil {
		body = []byte{}
	}
	return s.exec(ctx, bury, d.Topic, d.Hash[:], body, int64(d.Size), clean(d.Reason), clean(d.Detail), clean(d.MessageID), clean(d.Route))
}

// clean makes any bytes a text that Postgres takes.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
