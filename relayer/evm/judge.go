package evm

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nsqrelayer/relayer/intents"
)

// fillWait is how long a filler is left alone while its first bytes are made.
const fillWait = 15 * time.Second

// sight is what one look comes to. note is why a receipt counts for less than it seems.
type sight struct {
	fact intents.Fact
	note string
}

// observation is the strongest of a slot's looks, of equal ones that of the latest attempt; a slot has at most one mined
// transaction.
func (s *Sender) observation(ctx context.Context, w intents.Watch, looks []*look, v view) intents.Observation {
	o := intents.Observation{Slot: w.Slot}
	for _, l := range looks {
		t := s.sight(s.account(w.Slot.Scope), w.Intent, l, v)
		if t.note != "" {
			s.log.WarnContext(ctx, "receipt needs a look", "slot", w.Slot.String(), "attempt", l.attempt.Name, "why", t.note)
		}
		if weight(t.fact) < weight(o.Fact) {
			continue
		}
		o.No, o.Fact, o.Ref = l.attempt.No, t.fact, l.attempt.Name
		if e := shown(ctx, l, t.note, v); e != nil || t.fact != intents.NotSeen {
			o.Evidence = e
		}
	}
	if o.Fact == intents.NotSeen {
		o.Ref = ""
	}
	return o
}

func weight(f intents.Fact) int {
	switch f {
	case intents.Final, intents.Reverted:
		return 3
	case intents.Included:
		return 2
	case intents.Pending:
		return 1
	}
	return 0
}

// sight judges one look.
func (s *Sender) sight(acct *account, in intents.Intent, l *look, v view) sight {
	r := l.receipt
	switch {
	case !r.mined() && l.tx != nil:
		return sight{fact: intents.Pending}
	case !r.mined():
		return sight{}
	case r.Hash != common.HexToHash(l.attempt.Name):
		return sight{note: "the receipt is of another transaction"}
	}
	if why := s.foreign(acct, in, l.attempt); why != "" {
		return sight{note: why}
	}
	switch {
	case uint64(*r.Number) > v.beyond, l.block == nil:
		return sight{fact: intents.Included}
	case l.block.Hash != r.Block:
		return sight{note: "the receipt's block is not canonical"}
	}
	end := final(l.attempt.Kind, r)
	if end.fact == intents.Final && l.attempt.Kind != intents.Fill {
		if why := s.unmoved(acct, in, r.Logs); why != "" {
			return sight{note: why}
		}
	}
	return end
}

// final judges a receipt beyond recall. An empty use of the slot ends a filler well, whatever its status: the number is
// gone. For an intent it means that the payment was executed without effect.
func final(kind intents.Kind, r *receipt) sight {
	switch {
	case kind == intents.Fill:
		return sight{fact: intents.Final}
	case kind == intents.Cancel:
		return sight{fact: intents.Reverted, note: "canceled in its slot"}
	case r.Status == nil: // it is there, but what it did nobody tells: a person has to look in the end
		return sight{fact: intents.Pending, note: "the receipt has no status"}
	case uint64(*r.Status) == types.ReceiptStatusSuccessful:
		return sight{fact: intents.Final}
	}
	return sight{fact: intents.Reverted}
}

// foreign says how an attempt is not the intent's payment. Its bytes tell: a receipt's hash covers them all.
func (s *Sender) foreign(acct *account, in intents.Intent, a intents.Attempt) string {
	tx := new(types.Transaction)
	switch err := tx.UnmarshalBinary(a.Bytes); {
	case err != nil, tx.Hash() != common.HexToHash(a.Name):
		return "the stored bytes are not of this transaction"
	case tx.ChainId().Cmp(s.chain) != 0:
		return "the transaction is for another chain"
	case a.Kind == intents.Fill || a.Kind == intents.Cancel:
		if !acct.empty().is(tx) {
			return "the transaction is no empty use of its number"
		}
		return ""
	}
	if t, err := s.meaning(in); err != nil || !t.is(tx) {
		return "the transaction is not the intent's payment"
	}
	return ""
}

// shown is the evidence of a look: nothing when nothing was seen.
func shown(ctx context.Context, l *look, note string, v view) []byte {
	if !l.receipt.mined() {
		return nil
	}
	b, err := json.Marshal(struct {
		*receipt
		Host  string `json:"host"`
		Head  uint64 `json:"head"`
		Depth uint64 `json:"depth"`
		Final uint64 `json:"final,omitempty"` // up to which block all is beyond recall
		Note  string `json:"note,omitempty"`
	}{l.receipt, hostOf(ctx), v.head, l.receipt.depth(v.head), v.beyond, note})
	if err != nil { // cannot be: strings and numbers
		return nil
	}
	return b
}
