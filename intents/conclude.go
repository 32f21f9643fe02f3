package intents

import "time"

// firstWatch is how soon after it was accepted an intent is observed for the first time.
const firstWatch = time.Second

// Conclude decides what a sender's result means for the row as it stands under lock. claim is the id of the claim the
// result was made under; it and the row are compared for permissions, never for facts. Is the number of bytes used that were
// never sent before, another sends with the signer: it is frozen.
//
// Errors: ErrMoved when a permission met a row that others moved (the evidence is still to be written).
func Conclude(in Intent, claim string, r Result, actor string, now time.Time) (Change, error) {
	if r.Verdict == Accepted || r.Verdict == Done {
		return concludeFact(in, claim, r, actor, now), nil
	}
	if in.State != Settling || in.ClaimID == "" || in.ClaimID != claim {
		c := note(in, Evidence, actor, r.Evidence, now)
		c.Event.ClaimID = claim
		return c, ErrMoved
	}
	switch {
	case r.Verdict == NotSent && in.Slot.Kind == Key && in.Calls == 1:
		return letGo(in, r, actor, now), nil
	case r.Verdict == NotSent:
		return endClaim(in, r, max(in.Calls-1, 0), actor, now), nil
	case r.Verdict == Declined && in.Stored == 0:
		return withDetail(move(in, Failed, ReasonRefused, actor, now), r), nil
	case r.Verdict == Declined && in.Slot.Kind == Key && in.Calls == 1:
		return withDetail(move(in, Failed, ReasonDeclined, actor, now), r), nil
	}
	c := endClaim(in, r, in.Calls, actor, now)
	if r.Taken && in.Calls == 1 && in.Slot.Kind == Counter {
		c.Freeze = taken(in.Slot.Number)
	}
	return c, nil
}

// concludeFact writes what is true whoever brings it: also from needs_review, also under another's claim.
func concludeFact(in Intent, claim string, r Result, actor string, now time.Time) Change {
	to := Confirming
	if r.Verdict == Done {
		to = Settled
	}
	switch {
	case in.State == to, in.State == Settled:
		return stay(in)
	case in.State == Authorized: // what was proved not sent, or dead, was not: it must not be sent again
		c := review(in, ReasonOddity, actor, r.Evidence, now)
		c.After.Ref, c.Event.Ref, c.Event.ClaimID = r.Ref, r.Ref, claim
		return c
	case contradicted(in) && in.Ref == r.Ref: // said again
		return stay(in)
	case contradicted(in), suspected(in) && to == Confirming, // one proof stands against another: a person decides
		unslotted(in) && to == Confirming:
		c := note(in, Evidence, actor, r.Evidence, now)
		c.Event.ClaimID, c.Event.Ref = claim, r.Ref
		return c
	case !CanMove(in.State, to) || in.State == Failed:
		return note(in, Contradicted, actor, r.Evidence, now)
	}
	c := withDetail(move(in, to, "", actor, now), r)
	if r.Ref != "" {
		c.After.Ref, c.Event.Ref = r.Ref, r.Ref
	}
	c.After.Silent = 0
	if to == Confirming {
		c.After.WatchAt = now.Add(max(r.After, firstWatch))
	}
	return c
}

// contradicted says whether the intent is in review because one proof stands against another.
func contradicted(in Intent) bool { return in.State == NeedsReview && in.Reason == ReasonOddity }

// letGo takes the intent back to authorized: its only call was not sent. Key and bytes stay, the hold goes.
func letGo(in Intent, r Result, actor string, now time.Time) Change {
	c := withDetail(move(in, Authorized, "", actor, now), r)
	a := &c.After
	a.Calls, a.Silent, a.WatchAt = 0, 0, time.Time{}
	a.TryAt = now.Add(retryIn(r.After, 1))
	a.DueAt = a.TryAt
	return c
}

// endClaim ends a claim without proof either way. The same bytes are due later; where they may be sent no more and
// cannot be observed, a person must look.
func endClaim(in Intent, r Result, calls int, actor string, now time.Time) Change {
	due := now.Add(retryIn(r.After, in.Calls))
	again := in
	again.Calls, again.Silent = calls, 0
	if !in.MayResend(due) && !in.Seen {
		return review(again, ReasonUnknown, actor, r.Evidence, now)
	}
	c := withDetail(move(again, Settling, "", actor, now), r)
	c.Before = in
	a := &c.After
	a.ClaimID, a.ClaimUntil, a.TryAt, a.DueAt = "", time.Time{}, due, due
	if in.Seen && in.Stored > 0 {
		a.WatchAt = due
	}
	return c
}

func withDetail(c Change, r Result) Change {
	c.Event.Detail = r.Evidence
	return c
}
