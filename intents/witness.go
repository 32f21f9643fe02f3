package intents

import "time"

// Patience is how long a route waits for the other side before a person must look.
type Patience struct {
	ReviewAfter  time.Duration // settling, not to be sent again, since the first claim; 0: never
	ConfirmAfter time.Duration // confirming since it was accepted; 0: never
}

// Witness decides what an observation means for the row as it stands under lock. name is the attempt's name, which
// becomes the reference where the observation brings none. Facts move an intent from settling, confirming and
// needs_review; not seen moves it only when patience has run out.
func Witness(in Intent, o Observation, name string, p Patience, actor string, now time.Time) Change {
	if !in.State.Holds() {
		return witnessLate(in, o, actor, now)
	}
	ref := o.Ref
	if ref == "" {
		ref = name
	}
	switch o.Fact {
	case Final:
		return proved(in, Settled, "", ref, o, actor, now)
	case Reverted:
		return proved(in, Failed, ReasonReverted, ref, o, actor, now)
	case Dead:
		return died(in, o, actor, now)
	case Included:
		if in.State != Confirming && !contradicted(in) {
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
	a := &c.After
	a.Slot, a.Stored, a.Cost, a.Calls, a.Silent = Slot{}, 0, Amount{}, 0, 0
	a.FirstClaimedAt, a.AgainUntil, a.WatchAt, a.TryAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	a.DueAt = now
	c.Slot = SlotDone
	return c
}

// waiting leaves the intent where it is, or hands it to a person when patience has run out.
func waiting(in Intent, o Observation, p Patience, actor string, now time.Time) Change {
	if o.Fact != Included && in.State == Confirming && past(in.ChangedAt, p.ConfirmAfter, now) {
		return review(in, ReasonUnseen, actor, o.Evidence, now)
	}
	if in.State == Settling && !in.Claimed(now) && !in.MayResend(now) && past(in.FirstClaimedAt, p.ReviewAfter, now) {
		return review(in, ReasonAbandoned, actor, o.Evidence, now)
	}
	c := stay(in)
	if o.After > 0 {
		c.After.WatchAt = now.Add(o.After)
	}
	if in.State == NeedsReview {
		c.After.WatchAt = now.Add(max(o.After, MostRetry))
	}
	if in.State == Settling && !in.MayResend(now) { // nothing to send: the next look is the observer's or ours
		c.After.DueAt = now.Add(max(o.After, Grace))
	}
	return c
}

func past(since time.Time, limit time.Duration, now time.Time) bool {
	return limit > 0 && !since.IsZero() && now.Sub(since) >= limit
}
