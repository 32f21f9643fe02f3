package intents

import (
	"cmp"
	"time"
)

// Patience is how long a route waits for the other side before a person must look.
type Patience struct {
	ReviewAfter  time.Duration // settling, not to be sent again, since the first claim; 0: never
	ConfirmAfter time.Duration // confirming since it was accepted; 0: never
}

// Witness decides what an observation means for the row as it stands under lock. a is the attempt it speaks of, the last
// one where it names none; its name becomes the reference where the observation brings none. Facts move an intent from
// settling, confirming and needs_review; not seen moves it only when patience has run out. What is seen of an attempt
// that is not the payment never settles and never confirms: it ends the payment, or says nothing of it.
func Witness(in Intent, o Observation, a Attempt, p Patience, actor string, now time.Time) Change {
	if a.Kind != 0 && !a.Kind.Pays() && o.Fact != Dead && o.Fact != NotSeen {
		return witnessOther(in, o, a, p, actor, now)
	}
	if !in.State.Holds() {
		return witnessLate(in, o, actor, now)
	}
	ref := cmp.Or(o.Ref, a.Name)
	switch o.Fact {
	case Final:
		return proved(in, Settled, "", ref, o, actor, now)
	case Reverted:
		if suspected(in) { // this did not pay it, but another may have
			return note(in, Evidence, actor, o.Evidence, now)
		}
		return proved(in, Failed, ReasonReverted, ref, o, actor, now)
	case Dead:
		if o.Foreign != nil || suspected(in) { // what nobody compared may have paid it
			return Displace(in, o, true, o.Foreign == nil, actor, now)
		}
		return died(in, o, actor, now)
	case Included:
		if in.State != Confirming && !contradicted(in) && !suspected(in) && !unslotted(in) {
			return confirmed(in, ref, o, actor, now)
		}
	case Pending:
		if in.State == Settling {
			return confirmed(in, ref, o, actor, now)
		}
	case NotSeen:
	}
	return waiting(in, o, p, actor, now)
}

// witnessOther decides what it means that an attempt was seen that is not the payment: an empty use of its slot. Beyond
// recall it proves that the payment can never happen, whether it was executed well or not.
func witnessOther(in Intent, o Observation, a Attempt, p Patience, actor string, now time.Time) Change {
	beyond := o.Fact == Final || o.Fact == Reverted
	switch {
	case beyond && in.State == Settled && a.Kind != Alien:
		return note(in, Contradicted, actor, o.Evidence, now)
	case !in.State.Holds():
		return stay(in)
	case beyond && !suspected(in) && a.Kind != Alien: // a foreign one proves nothing by itself: see Displace
		return proved(in, Failed, ReasonInSlot, cmp.Or(o.Ref, a.Name), o, actor, now)
	}
	return waiting(in, o, p, actor, now)
}

// witnessLate raises the alarm when what is seen contradicts an end.
func witnessLate(in Intent, o Observation, actor string, now time.Time) Change {
	happened := o.Fact == Final || o.Fact == Included
	if (happened && (in.State == Failed || in.State == Canceled)) || (o.Fact == Reverted && in.State == Settled) {
		return note(in, Contradicted, actor, o.Evidence, now)
	}
	return stay(in)
}

func proved(in Intent, to State, reason Reason, ref string, o Observation, actor string, now time.Time) Change {
	c := move(in, to, reason, actor, now)
	c.After.Ref, c.Event.Ref, c.Event.Detail = ref, ref, o.Evidence
	return c
}

func confirmed(in Intent, ref string, o Observation, actor string, now time.Time) Change {
	c := proved(in, Confirming, "", ref, o, actor, now)
	c.After.Silent, c.After.TryAt, c.After.DueAt = 0, time.Time{}, now.Add(MostPush)
	c.After.WatchAt = now.Add(max(o.After, firstWatch))
	return c
}

// died takes the intent back to authorized without slot and bytes: every attempt in its slot is proved dead.
func died(in Intent, o Observation, actor string, now time.Time) Change {
	if contradicted(in) {
		return note(in, Contradicted, actor, o.Evidence, now)
	}
	if in.Stored > o.Of || o.No != 0 && in.Stored > 1 { // there are others, and they may live
		return note(in, Evidence, actor, o.Evidence, now)
	}
	c := proved(in, Authorized, "", "", o, actor, now)
	unslot(&c.After)
	c.After.DueAt = now
	c.Slot = SlotDone
	return c
}

// unslot takes from an intent all that a claim took.
func unslot(a *Intent) {
	a.Slot, a.Stored, a.Cost, a.Calls, a.Silent = Slot{}, 0, Amount{}, 0, 0
	a.FirstClaimedAt, a.AgainUntil, a.WatchAt, a.TryAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

// waiting leaves the intent where it is, or hands it to a person when patience has run out.
func waiting(in Intent, o Observation, p Patience, actor string, now time.Time) Change {
	if o.Fact != Included && in.State == Confirming && past(in.ChangedAt, p.ConfirmAfter, now) {
		return review(in, ReasonUnseen, actor, o.Evidence, now)
	}
	if o.Gone && in.State == Settling && !in.Claimed(now) && past(in.FirstClaimedAt, p.ConfirmAfter, now) {
		return review(in, ReasonUnseen, actor, o.Evidence, now)
	}
	if in.State == Settling && !in.Claimed(now) && !in.MayTakeOver(now) && past(in.FirstClaimedAt, p.ReviewAfter, now) {
		return review(in, ReasonAbandoned, actor, o.Evidence, now)
	}
	c := stay(in)
	if o.After > 0 {
		c.After.WatchAt = now.Add(o.After)
	}
	if in.State == NeedsReview {
		c.After.WatchAt = now.Add(max(o.After, MostRetry))
	}
	if in.State == Settling && !in.MayTakeOver(now) { // nothing to send: the next look is the observer's or ours
		c.After.DueAt = now.Add(max(o.After, Grace))
	}
	return c
}

func past(since time.Time, limit time.Duration, now time.Time) bool {
	return limit > 0 && !since.IsZero() && now.Sub(since) >= limit
}
