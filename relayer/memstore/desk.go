package memstore

import (
	"context"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Park says when to look at an intent again. Errors: intents.ErrMoved.
func (s *Store) Park(_ context.Context, in intents.Intent, wait time.Duration) error {
	now := s.begin()
	defer s.mu.Unlock()
	r := s.row(in)
	if r == nil {
		return intents.ErrMoved
	}
	ch, err := intents.Park(r.in, in, wait, now)
	s.write(r, ch)
	return err
}

// Refuse fails an intent that can never be sent. Errors: intents.ErrMoved.
func (s *Store) Refuse(_ context.Context, in intents.Intent, reason intents.Reason, detail []byte) (intents.Intent, error) {
	now := s.begin()
	defer s.mu.Unlock()
	r := s.row(in)
	if r == nil {
		return intents.Intent{}, intents.ErrMoved
	}
	if !in.State.Holds() && r.in.Version == in.Version+1 && r.in.State == intents.Failed && r.in.Reason == reason {
		return s.show(r, now), nil // asked again
	}
	ch, err := intents.Refuse(r.in, in, reason, detail, s.cfg.Actor, now)
	s.write(r, ch)
	return s.show(r, now), err
}

// letter names a dead letter.
type letter struct {
	topic  string
	hash   [32]byte
	reason string
}

// Bury keeps a dead letter; the same one again (topic, hash, reason) only counts.
func (s *Store) Bury(_ context.Context, d intents.DeadLetter) error {
	now := s.begin()
	defer s.mu.Unlock()
	key := letter{d.Topic, d.Hash, d.Reason}
	b := s.letters[key]
	if b == nil {
		d.Body = slices.Clone(d.Body[:min(len(d.Body), intents.MaxDeadBody)])
		b = &intents.BuriedLetter{DeadLetter: d, FirstAt: now}
		s.letters[key] = b
	}
	b.Count++
	b.LastAt = now
	return nil
}

// DeadLetters reads up to most dead letters, newest first, and how often each came.
func (s *Store) DeadLetters(_ context.Context, most int) ([]intents.BuriedLetter, error) {
	s.begin()
	defer s.mu.Unlock()
	var out []intents.BuriedLetter
	for _, b := range s.letters {
		out = append(out, *b)
	}
	slices.SortFunc(out, func(a, b intents.BuriedLetter) int { return b.LastAt.Compare(a.LastAt) })
	return out[:min(len(out), most)], nil
}

// FindDeadLetters reads up to most dead letters whose hash, in hexadecimal digits, begins as given, newest first.
func (s *Store) FindDeadLetters(ctx context.Context, start string, most int) ([]intents.BuriedLetter, error) {
	all, err := s.DeadLetters(ctx, math.MaxInt)
	all = slices.DeleteFunc(all, func(l intents.BuriedLetter) bool {
		return !strings.HasPrefix(hex.EncodeToString(l.Hash[:]), strings.ToLower(start))
	})
	return all[:min(len(all), most)], err
}
