package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/desk"
)

var (
	errFinal     = errors.New("it is final: nothing more is sent")
	errNoBytes   = errors.New("nothing was ever sent for it")
	errClaimed   = errors.New("a worker is sending it just now")
	errSuspected = errors.New("it may have been paid already: only cancel is safe")
)

// pen makes and sends attempts, as *relayer.Observer does.
type pen interface {
	// Make stores a further attempt and sends nothing.
	Make(ctx context.Context, w intents.Watch, kind intents.Kind) (intents.Attempt, error)
	// Send puts stored bytes on the wire once. Errors: intents.ErrMoved: the call was made all the same.
	Send(ctx context.Context, in intents.Intent, a intents.Attempt) (intents.Result, error)
}

// slotHand is a person's hand at an intent's slot.
type slotHand struct {
	notes desk.Noter
	pen   pen
	actor string
	w     intents.Watch
}

// free says why nothing may be sent in the slot by a person's hand; nil: it may.
func (s slotHand) free() error {
	in := s.w.Intent
	switch {
	case in.State.Final():
		return errFinal
	case !in.State.Holds() || len(s.w.Attempts) == 0:
		return errNoBytes
	case in.Claimed(in.ReadAt):
		return errClaimed
	case in.ClaimsOnly():
		return intents.ErrClaimsOnly
	}
	return nil
}

// further adds an attempt of a kind to the slot. It is stored before it is sent.
func (s slotHand) further(ctx context.Context, kind intents.Kind) (intents.Result, intents.Attempt, error) {
	if err := s.free(); err != nil {
		return intents.Result{}, intents.Attempt{}, err
	}
	if s.w.Slot.Kind != intents.Counter {
		return intents.Result{}, intents.Attempt{}, fmt.Errorf("slot %s takes one attempt only", s.w.Slot)
	}
	at, err := s.pen.Make(ctx, s.w, kind)
	if err != nil {
		return intents.Result{}, at, err
	}
	r, err := s.send(ctx, at, kind.String())
	return r, at, err
}

// send notes in the timeline what is about to be sent, by whom, and sends it.
func (s slotHand) send(ctx context.Context, at intents.Attempt, did string) (intents.Result, error) {
	in := s.w.Intent
	odd := in.State == intents.NeedsReview && (in.Reason == intents.ReasonForeign || in.Reason == intents.ReasonOddity)
	if odd && at.Kind.Pays() {
		return intents.Result{}, errSuspected
	}
	detail, err := json.Marshal(map[string]any{"did": "attempt " + did, "no": at.No, "kind": at.Kind.String(), "name": at.Name})
	if err != nil {
		return intents.Result{}, err
	}
	if err := s.notes.Note(ctx, in.ID, s.actor, detail); err != nil {
		return intents.Result{}, err
	}
	r, err := s.pen.Send(ctx, in, at)
	if errors.Is(err, intents.ErrMoved) {
		err = nil
	}
	return r, err
}
