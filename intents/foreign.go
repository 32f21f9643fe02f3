package intents

import (
	"encoding/json"
	"fmt"
	"time"
)

// Foreign is a transaction of one of our signers that is none of our attempts. It used a number beyond recall, so that
// whatever else was signed for that number is dead.
type Foreign struct {
	Hash        string    // as an attempt's Name
	Bytes       []byte    // as it was signed
	Destination string    // whom it pays, as intents of the sender write it; empty: nobody that can be told
	Amount      Amount    // what it pays, in the smallest unit of whatever asset it is
	At          time.Time // when it was mined, by the block
}

// Pays says whether the transaction may have been the intent's payment: same destination, same amount. The asset is not
// compared, and neither is the route: what only looks the same costs a person a look, what is missed is paid twice.
func (f Foreign) Pays(in Intent) bool {
	return f.Amount.Sign() > 0 && f.Destination == in.Destination && f.Amount.Equal(in.Amount)
}

// Evidence says in JSON what used a number.
func (f Foreign) Evidence(number int64) []byte {
	b, _ := json.Marshal(struct { // strings and numbers always marshal
		Number      int64     `json:"number"`
		Hash        string    `json:"used_by"`
		Destination string    `json:"pays,omitempty"`
		Amount      Amount    `json:"amount"`
		At          time.Time `json:"at,omitzero"`
	}{number, f.Hash, f.Destination, f.Amount, f.At.UTC()})
	return b
}

// Attempt is the transaction as it is kept in the slot that it used, after the attempts that the slot has.
func (f Foreign) Attempt(s Slot, has []Attempt) Attempt {
	no := 0
	for _, a := range has {
		no = max(no, a.No)
	}
	return Attempt{Slot: s, No: no + 1, Kind: Alien, Bytes: f.Bytes, Name: f.Hash}
}

// Displace decides about an intent whose number a foreign transaction (o.Foreign) used. matched says that the transaction
// may have paid it or another intent: then a person must look. Otherwise every attempt in the slot is dead, and the
// intent may take a new one. again says that the timeline tells of it already.
func Displace(in Intent, o Observation, matched, again bool, actor string, now time.Time) Change {
	switch {
	case !in.State.Holds():
		return stay(in)
	case in.Stored > o.Of: // bytes were stored after the look: look again
		return note(in, Evidence, actor, o.Evidence, now)
	case again && (contradicted(in) || matched && in.State == NeedsReview):
		return waiting(in, o, Patience{}, actor, now)
	case matched && in.State == NeedsReview:
		return note(in, Evidence, actor, o.Evidence, now)
	case matched:
		return suspect(in, o.Foreign.Hash, o.Evidence, actor, now)
	}
	return died(in, o, actor, now)
}

// Suspect decides about an intent that a foreign transaction may have paid, and says whether it may have: it is not
// final, or failed or was canceled at or after since. One that may be sent, or has been, goes to a person, and a number
// that it has no bytes for is to be filled. The others
// only tell it in their timelines; again says that they did already.
func Suspect(in Intent, f Foreign, since time.Time, again bool, detail []byte, actor string, now time.Time) (Change, bool) {
	if !f.Pays(in) || in.State == Settled || in.State.Final() && in.ChangedAt.Before(since) {
		return stay(in), false
	}
	switch in.State {
	case Authorized, Settling, Confirming:
		return fillIdle(suspect(in, f.Hash, detail, actor, now)), true
	case Created, Failed, Canceled:
		if !again {
			return note(in, Contradicted, actor, detail, now), true
		}
	case NeedsReview:
		if !again {
			return note(in, Evidence, actor, detail, now), true
		}
	case Settled:
	}
	return stay(in), in.State.Known()
}

func suspect(in Intent, hash string, detail []byte, actor string, now time.Time) Change {
	c := review(in, ReasonForeign, actor, detail, now)
	c.After.Ref, c.Event.Ref = hash, hash
	return c
}

// fillIdle leaves a number to be filled for which no bytes exist. None that pay are stored for it any more, nobody looks at a
// slot without bytes, and every number above waits for it.
func fillIdle(c Change) Change {
	if c.Before.Slot.Kind == Counter && c.Before.Stored == 0 {
		c.Slot, c.After.Slot = SlotFill, Slot{}
	}
	return c
}

// suspected says whether the intent is in review because a foreign transaction may have paid it.
func suspected(in Intent) bool { return in.State == NeedsReview && in.Reason == ReasonForeign }

// Takes says whether bytes of a kind may be stored in the intent's slot, if that is still open. One that may have been
// paid already gets none that pay: whoever was making them sends nothing then.
func (in Intent) Takes(k Kind) bool { return !in.State.Final() && !(suspected(in) && k.Pays()) }

// Look compares the chain's next number with ours: it freezes a signer whose chain is ahead of what was given out. One
// that is frozen stays so.
func (s Signer) Look(next int64) Signer {
	s.Seen = next
	if next > s.Next && s.Frozen == "" {
		s.Frozen = fmt.Sprintf("the chain's next number is %d, ours is %d: another sends with this signer", next, s.Next)
	}
	return s
}

// taken is why a signer is frozen whose number is used although we never sent anything with it.
func taken(number int64) string {
	return fmt.Sprintf("number %d was used before we ever sent anything with it: another sends with this signer", number)
}

// Displaced freezes a signer of whom a foreign transaction used a number. One that is frozen stays so; only what used a
// number of which no more was known is told now.
func (s Signer) Displaced(number int64, f Foreign) Signer {
	if s.Frozen == "" || s.Frozen == taken(number) {
		s.Frozen = fmt.Sprintf("number %d was used by %s, which is not ours: another sends with this signer", number, f.Hash)
	}
	return s
}

// Freeze stops a signer by a person's order.
func (s Signer) Freeze(reason, actor string) Signer {
	why := reason + " (" + actor + ")"
	if s.Frozen != "" && s.Frozen != why {
		why = s.Frozen + "; " + why
	}
	s.Frozen = why
	return s
}

// Unfreeze lets a signer give out numbers again, above all that the chain has used.
func (s Signer) Unfreeze() Signer {
	s.Frozen, s.Next = "", max(s.Next, s.Seen)
	return s
}
