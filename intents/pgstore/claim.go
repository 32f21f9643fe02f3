package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/batch"
)

// Claim claims an authorized intent or takes over one whose claim has ended, as intents.Admit decides.
// Errors: *intents.NotClaimedError, intents.ErrNoSigner, intents.ErrUnsure.
func (s *Store) Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error) {
	if c.ID == "" {
		c.ID = rand.Text()
	}
	if c.Attempt != nil {
		a := *c.Attempt
		a.No = 1 // the first bytes of a slot
		c.Attempt = &a
	}
	got, err := s.claims.Do(ctx, claimOp{c})
	return got, answered(err)
}

// claimOp asks for a claim. Asked again with the same id it is given again.
type claimOp struct{ intents.Claim }

func (op claimOp) size() int {
	if op.Attempt == nil {
		return 0
	}
	return len(op.Attempt.Bytes)
}

// repeated says whether this very claim was had already.
func (op claimOp) repeated(in intents.Intent) bool {
	return in.State == intents.Settling && in.ClaimID == op.ID && in.Version == op.Intent.Version+1
}

// opens says whether the claim would take a new counter slot.
func (op claimOp) opens(in intents.Intent) bool {
	return op.Plan.Slot == intents.Counter && in.Slot.Kind == intents.NoSlot
}

// claims commits claims. What it works with is kept from batch to batch; the queue keeps none of the answers.
type claims struct {
	*link
	hall    hall
	answers []batch.Answer[intents.Claimed]
}

// Commit locks, decides in the order of arrival and writes, in one transaction.
func (c *claims) Commit(ctx context.Context, ops []claimOp) ([]batch.Answer[intents.Claimed], error) {
	h := &c.hall
	err := c.tx(ctx, func(ctx context.Context) error {
		if err := h.enter(ctx, c, ops); err != nil {
			return err
		}
		c.answers = blank(c.answers, len(ops))
		h.admit(ops, c.answers)
		stored, err := h.sheet.write(ctx, c)
		if err != nil {
			return err
		}
		return h.fetch(ctx, c, c.answers, stored < len(h.sheet.attempts))
	})
	return c.answers, err
}

// Resolve claims again: a claim that was had is told, and one that was not is asked for on a connection that waits for
// whatever is still on its way. A row that has moved on does not say by whose claim: it may have been this one, which
// something seen has ended since.
func (c *claims) Resolve(ctx context.Context, ops []claimOp) ([]batch.Answer[intents.Claimed], error) {
	answers, err := c.Commit(ctx, ops)
	for i, a := range answers {
		if not, ok := errors.AsType[*intents.NotClaimedError](a.Err); ok && not.Why == intents.WhyMoved {
			answers[i].Err = batch.Unsure(errMovedOn)
		}
	}
	return answers, err
}

// errMovedOn is why a claim stays unsure.
var errMovedOn = errors.New("the intent has moved on")

// admit decides each claim on what those before it in the batch have left.
func (h *hall) admit(ops []claimOp, answers []batch.Answer[intents.Claimed]) {
	for i, op := range ops {
		r := h.rows[op.Intent.Key]
		if r == nil || r.Lane != op.Intent.Lane { // the lane that was locked is the one told
			answers[i].Err = &intents.NotClaimedError{Why: intents.WhyMoved}
			continue
		}
		in, err := h.one(op, r)
		if err != nil {
			answers[i].Err = err
			continue
		}
		answers[i].Value.Intent = show(in, h.now)
	}
}

// one decides a claim and takes what it takes.
func (h *hall) one(op claimOp, r *row) (intents.Intent, error) {
	if op.repeated(r.Intent) {
		return r.Intent, nil
	}
	f := h.facts(op, r.Intent)
	ch, err := intents.Admit(r.Intent, op.Claim, f)
	if err != nil {
		h.sheet.add(r, ch, r.looks)
		return intents.Intent{}, err
	}
	h.seat(op, r.Intent, &ch.After, f.Signer)
	in := h.sheet.add(r, ch, r.looks)
	h.take(in)
	return in, nil
}

// seat gives a claim the slot it takes: the signer's next number, or the named slot with the bytes that came with it. The
// first slot of its own an intent takes goes by the intent's key. Was one before proved dead (then the version is past 2),
// it takes a new key: bytes of one slot are never mixed with those of another.
func (h *hall) seat(op claimOp, before intents.Intent, in *intents.Intent, sg *intents.Signer) {
	switch {
	case before.Slot.Kind != intents.NoSlot:
		return
	case op.Plan.Slot == intents.Counter:
		in.Slot = intents.Slot{ID: h.key(), Kind: intents.Counter, Scope: sg.Scope, Number: sg.Next}
		sg.Next++
		sg.Ahead++
		h.sheet.signer(sg.Scope, sg.Next)
	case before.Version > firstVersion:
		in.Slot.ID = h.key()
	}
	if in.Slot.ID != in.Key {
		h.sheet.taken = append(h.sheet.taken, taken{in.Slot, in.Route, in.Key})
	}
	if op.Plan.Slot != intents.Counter {
		a := *op.Attempt
		a.Slot = in.Slot
		h.sheet.attempts = append(h.sheet.attempts, a)
		h.bytes[in.Slot.ID] = []intents.Attempt{a}
	}
}

// firstVersion is the version at which an intent is authorized for the first time.
const firstVersion = 2

// fetch adds the attempts to the answers. Those stored just now are known, unless others were there before.
func (h *hall) fetch(ctx context.Context, q queryer, answers []batch.Answer[intents.Claimed], all bool) error {
	if all {
		clear(h.bytes)
	}
	var unknown []int64
	for _, a := range answers {
		if in := a.Value.Intent; a.Err == nil && in.Stored > 0 && h.bytes[in.Slot.ID] == nil {
			unknown = append(unknown, in.Slot.ID)
		}
	}
	found, err := readAttempts(ctx, q, unknown)
	if err != nil {
		return err
	}
	for i := range answers {
		a := &answers[i]
		if a.Err != nil {
			continue
		}
		slot := a.Value.Intent.Slot
		a.Value.Attempts = h.bytes[slot.ID]
		if got, ok := found[slot.ID]; ok {
			a.Value.Attempts = inSlot(got, slot)
		}
	}
	return nil
}

// inSlot gives attempts with their slot.
func inSlot(as []intents.Attempt, slot intents.Slot) []intents.Attempt {
	as = slices.Clone(as)
	for i := range as {
		as[i].Slot = slot
	}
	return as
}
