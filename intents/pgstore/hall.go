package pgstore

import (
	"context"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// hall is what a batch of claims has under lock, and what those admitted so far have taken of it.
type hall struct {
	held
	accounts map[purse]*intents.Account
	signers  map[string]*intents.Signer // those asked for
	lanes    map[lane]*queueing
	keys     []int64 // fresh ones, for slots
	bytes    map[int64][]intents.Attempt
	sheet    sheet
}

// clear makes the hall empty, for a batch of some claims.
func (h *hall) clear(claims int) {
	h.accounts, h.signers, h.lanes, h.keys = nil, nil, nil, nil
	if h.bytes == nil {
		h.bytes = make(map[int64][]intents.Attempt, claims)
	}
	clear(h.bytes)
	h.sheet.clear(claims)
}

// enter locks what a batch of claims is about, in the one order: lanes, intents, accounts, signers.
func (h *hall) enter(ctx context.Context, q queryer, ops []claimOp) error {
	h.clear(len(ops))
	if err := lockLanes(ctx, q, ops); err != nil {
		return err
	}
	ks := make([]int64, len(ops))
	for i, op := range ops {
		ks[i] = op.Intent.Key
	}
	if err := h.lock(ctx, q, ks); err != nil {
		return err
	}
	for _, load := range []func(context.Context, queryer, []claimOp) error{h.loadLanes, h.loadAccounts, h.loadSigners} {
		if err := load(ctx, q, ops); err != nil {
			return err
		}
	}
	return nil
}

// facts is what Admit must know beside the row.
func (h *hall) facts(op claimOp, in intents.Intent) intents.Facts {
	f := intents.Facts{Now: h.now, Paused: in.Paused}
	if l := h.lanes[laneOf(in)]; in.Lane != "" && l != nil {
		f.LaneBusy = l.busy || l.first != 0 && l.first < in.Key
	}
	if a := h.accounts[purseOf(in)]; a != nil {
		f.Enforced, f.Free = a.Enforced, a.Free()
	}
	if op.opens(in) {
		f.Signer = op.Plan.Pick(in.Lane, func(scope string) *intents.Signer { return h.signers[scope] })
	}
	return f
}

// take counts what an admitted claim holds against those after it.
func (h *hall) take(in intents.Intent) {
	if a := h.accounts[purseOf(in)]; a != nil {
		a.Pending = a.Pending.Add(in.Held())
	}
	if l := h.lanes[laneOf(in)]; l != nil {
		l.busy = true
	}
}

// key is a fresh key for a slot.
func (h *hall) key() int64 {
	k := h.keys[0]
	h.keys = h.keys[1:]
	return k
}

// tell moves the batch's clock on.
func (h *held) tell(now time.Time) {
	if now.After(h.now) {
		h.now = now
	}
}
