package main

import (
	"context"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/intents/pgstore"
)

// workStore has the relayer's own store read, claim and settle, with as many callers as the relayer has deliveries: the
// same statements in batches that come about in the same way, and neither NSQ nor engine beside them.
func workStore(ctx context.Context, t task) (figure, error) {
	s, all, err := seeded(ctx, t)
	if err != nil {
		return figure{}, err
	}
	defer s.Close()
	w := startWatch()
	err = each(ctx, callers, t.intents, func(ctx context.Context, n int) error { return settle(ctx, s, all[n].ID) })
	return w.figure(t.intents), err
}

// settle takes one intent from its message to its end.
func settle(ctx context.Context, s *pgstore.Store, id string) error {
	in, err := s.Take(ctx, intents.Message{ID: id, Route: route})
	if err != nil {
		return err
	}
	got, err := s.Claim(ctx, intents.Claim{
		Intent: in, Owner: "bench", Term: time.Minute,
		Plan:    intents.Plan{Slot: intents.Key, Scope: "none", Again: intents.Always},
		Attempt: &intents.Attempt{No: 1, Kind: intents.First, Bytes: payload(id), Name: id},
	})
	if err != nil {
		return err
	}
	_, err = s.Complete(ctx, got, intents.Result{Verdict: intents.Done, Ref: "none-" + id})
	return err
}

// payloadSize is what the bytes of an intent weigh in relayer bench.
const payloadSize = 120

func payload(id string) []byte {
	b := make([]byte, payloadSize)
	for n := 0; n < len(b); n += copy(b[n:], id) {
		continue
	}
	return b
}
