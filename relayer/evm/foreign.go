package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	goneWait     = time.Minute      // until a nonce is looked for again whose transaction was not found
	oddWait      = 15 * time.Second // until a node is asked again that did not answer, or has a block but not its receipt
	mostSearches = 8                // numbers looked for in one go, each of which takes up to some 30 calls
	mostCalls    = 200              // of one go
)

// Strangers finds the transactions that used the nonces of the scope from one on and before another, in blocks beyond
// recall. It stops at the first it does not find, with an error when that is the first of all.
func (s *Sender) Strangers(ctx context.Context, scope string, from, to int64) ([]intents.Foreign, error) {
	acct := s.account(scope)
	if acct.signer == nil {
		return nil, fmt.Errorf("%s is none of the scopes %v", scope, s.Scopes())
	}
	var found []intents.Foreign
	err := s.somewhere(ctx, func(ctx context.Context) (err error) {
		found, err = s.strangers(ctx, acct, from, to)
		return err
	})
	return found, err
}

// strangers asks one node.
func (s *Sender) strangers(ctx context.Context, acct *account, from, to int64) ([]intents.Foreign, error) {
	final, err := s.final(ctx)
	if err != nil {
		return nil, err
	}
	h, err := s.history(ctx, acct, final)
	if err != nil {
		return nil, err
	}
	var found []intents.Foreign
	for n := max(from, 0); n < min(to, int64(h.used)); n++ {
		u, err := h.find(ctx, uint64(n))
		if err == nil {
			var f intents.Foreign
			if f, err = u.foreign(); err == nil {
				found = append(found, f)
				continue
			}
		}
		if len(found) > 0 {
			err = nil
		}
		return found, err
	}
	return found, nil
}

// displaced looks for slots whose nonce is used up beyond recall although none of their attempts has a receipt, and finds
// in the block what used it. The block's own transaction is the proof: our signature on another transaction with that
// nonce. What is not found proves nothing. Errors stay here: the next look tries again.
func (s *Sender) displaced(ctx context.Context, ws []intents.Watch, looks [][]*look, seen []intents.Observation, final uint64) {
	for scope, open := range s.unseen(ws, looks, seen) {
		h, err := s.history(ctx, s.account(scope), final)
		if err != nil {
			s.log.DebugContext(ctx, "displaced slots not looked for", "scope", scope, "err", err)
			continue
		}
		slices.SortFunc(open, func(i, j int) int { return int(ws[i].Slot.Number - ws[j].Slot.Number) })
		for _, i := range open {
			if uint64(ws[i].Slot.Number) >= h.used {
				break // nor are those above
			}
			h.attribute(ctx, ws[i], &seen[i])
		}
	}
}

// unseen lists the slots of which no attempt has a receipt, by scope, where that is one of the chain.
func (s *Sender) unseen(ws []intents.Watch, looks [][]*look, seen []intents.Observation) (open map[string][]int) {
	open = make(map[string][]int)
	for i, w := range ws {
		mined := slices.ContainsFunc(looks[i], func(l *look) bool { return l.receipt.mined() })
		known := s.account(w.Slot.Scope).from != common.Address{}
		if w.Slot.Kind == intents.Counter && known && seen[i].Fact == intents.NotSeen && !mined {
			open[w.Slot.Scope] = append(open[w.Slot.Scope], i)
		}
	}
	return open
}

// attribute says in an observation what used the slot.
func (h *history) attribute(ctx context.Context, w intents.Watch, o *intents.Observation) {
	u, err := h.find(ctx, uint64(w.Slot.Number))
	if err != nil {
		*o = intents.Observation{Slot: w.Slot, Gone: true, After: goneWait, Evidence: h.told(ctx, w, nil, err)}
		if _, asked := errors.AsType[*callError](err); asked || errors.Is(err, errDisagreed) { // another time, or another node, may answer
			o.After = oddWait
		}
		return
	}
	for _, a := range w.Attempts {
		if a.Kind != intents.Alien && common.HexToHash(a.Name) == u.tx.Hash() { // ours, and its receipt is still to come
			*o = intents.Observation{Slot: w.Slot, No: a.No, Fact: intents.Pending, Ref: a.Name, After: oddWait, Evidence: h.told(ctx, w, u, nil)}
			return
		}
	}
	f, err := u.foreign()
	if err != nil {
		*o = intents.Observation{Slot: w.Slot, Gone: true, After: goneWait, Evidence: h.told(ctx, w, u, err)}
		return
	}
	h.s.log.ErrorContext(ctx, "slot used by a foreign transaction", "slot", w.Slot.String(), "intent", w.Intent.ID, "hash", f.Hash)
	*o = intents.Observation{Slot: w.Slot, Fact: intents.Dead, Foreign: &f, Evidence: h.told(ctx, w, u, nil)}
}

// told is the evidence about a used slot.
func (h *history) told(ctx context.Context, w intents.Watch, u *use, err error) []byte {
	e := struct {
		Number int64  `json:"number"`
		UsedBy string `json:"used_by,omitempty"`
		Block  string `json:"block_hash,omitempty"`
		Height uint64 `json:"block,omitempty"`
		Final  uint64 `json:"final"`
		Used   uint64 `json:"used"` // nonces used up at the final height
		Host   string `json:"host"`
		Error  string `json:"error,omitempty"`
	}{Number: w.Slot.Number, Final: h.final, Used: h.used, Host: hostOf(ctx)}
	if u != nil {
		e.UsedBy, e.Block, e.Height = u.tx.Hash().Hex(), u.block.Hex(), u.number
	}
	if err != nil {
		e.Error = h.s.text(err)
	}
	b, _ := json.Marshal(e) // strings and numbers always marshal
	return b
}
