package intents

import "time"

// Admit decides a claim on the row as it stands under lock. Without error the change is the claim: the store adds the
// slot it takes (for a Counter or Given slot, when the intent has none yet) and the bytes of a Key slot. With a
// *NotClaimedError the change may still be written: an expired intent fails, a postponed one gets a new due_at.
func Admit(in Intent, c Claim, f Facts) (Change, error) {
	if in.Key != c.Intent.Key || in.Route != c.Intent.Route || in.State != c.Intent.State || in.Version != c.Intent.Version {
		return stay(in), &NotClaimedError{Why: WhyMoved}
	}
	switch in.State {
	case Authorized:
		return admitFirst(in, c, f)
	case Settling:
		return admitTakeover(in, c, f)
	}
	return stay(in), &NotClaimedError{Why: WhyMoved}
}

func admitFirst(in Intent, c Claim, f Facts) (Change, error) {
	in.Cost = c.Plan.Cost
	switch {
	case in.Expired(f.Now):
		return move(in, Failed, ReasonExpired, c.Owner, f.Now), &NotClaimedError{Why: WhyExpired}
	case f.Now.Before(in.TryAt):
		return postpone(in, in.TryAt), &NotClaimedError{Why: WhyNotDue, Until: in.TryAt}
	case f.Paused:
		return postpone(in, f.Now), &NotClaimedError{Why: WhyPaused}
	case f.LaneBusy:
		until := f.Now.Add(laneLook)
		return postpone(in, until), &NotClaimedError{Why: WhyLane, Until: until}
	case f.Enforced && f.Free.Cmp(in.Amount.Add(in.Cost)) < 0:
		return admitBroke(in, c, f)
	case c.Plan.Slot == Counter && in.Slot.Kind == NoSlot && !f.Signer.open():
		return admitNumberless(in, f)
	}
	ch := move(in, Settling, "", c.Owner, f.Now)
	a := &ch.After
	a.FirstClaimedAt, a.Seen, a.AgainUntil = f.Now, c.Plan.Seen, c.Plan.Again.Until(f.Now)
	if err := takeSlot(a, c); err != nil {
		return stay(in), err
	}
	return claim(ch, c, f), nil
}

// takeSlot names the slot of an intent that has none and counts the bytes that come with the claim. A Counter slot gets
// its number from the store. An intent that was let go keeps its slot and the bytes stored first.
func takeSlot(a *Intent, c Claim) error {
	if c.Plan.Slot == Counter || a.Stored > 0 {
		return nil
	}
	if c.Attempt == nil {
		return &InvalidError{Field: "attempt", Want: "prepared bytes, when the slot is not a counter"}
	}
	a.Slot = Slot{ID: a.Key, Kind: c.Plan.Slot, Scope: c.Plan.Scope, Name: c.Attempt.Slot.Name}
	if a.Slot.Kind == Key {
		a.Slot.Name = a.ID
	}
	a.Stored = 1
	return nil
}

// laneLook is when an intent behind another of its lane is looked at again; the sweeper's push takes it from there.
const laneLook = 5 * time.Second

// FrozenLook is when an intent whose signer is frozen is looked at again.
const FrozenLook = 30 * time.Second

// fundsLook is when an intent that waits for funds is looked at again.
const fundsLook = time.Minute

func admitBroke(in Intent, c Claim, f Facts) (Change, error) {
	if c.Wait {
		until := f.Now.Add(fundsLook)
		return postpone(in, until), &NotClaimedError{Why: WhyFunds, Until: until}
	}
	return move(in, Failed, ReasonFunds, c.Owner, f.Now), &NotClaimedError{Why: WhyFunds}
}

// admitNumberless puts an intent off whose signer has no number for it.
func admitNumberless(in Intent, f Facts) (Change, error) {
	switch {
	case f.Signer == nil:
		return stay(in), ErrNoSigner
	case f.Signer.Frozen != "":
		until := f.Now.Add(FrozenLook)
		return postpone(in, until), &NotClaimedError{Why: WhyFrozen, Until: until, Scope: f.Signer.Scope}
	}
	return stay(in), &NotClaimedError{Why: WhyNoSlot, Scope: f.Signer.Scope}
}

func admitTakeover(in Intent, c Claim, f Facts) (Change, error) {
	switch {
	case in.Claimed(f.Now):
		return postpone(in, in.ClaimUntil), &NotClaimedError{Why: WhyRunning, Until: in.ClaimUntil}
	case in.Silent >= MostSilent:
		return review(in, ReasonSilent, c.Owner, nil, f.Now), &NotClaimedError{Why: WhySilent}
	case in.Stored == 0 && in.Expired(f.Now): // nothing has left, nothing can
		return move(in, Failed, ReasonExpired, c.Owner, f.Now), &NotClaimedError{Why: WhyExpired}
	case f.Now.Before(in.TryAt):
		return postpone(in, in.TryAt), &NotClaimedError{Why: WhyNotDue, Until: in.TryAt}
	case f.Paused:
		return postpone(in, f.Now), &NotClaimedError{Why: WhyPaused}
	case !in.MayTakeOver(f.Now):
		return watchNow(in, f.Now), &NotClaimedError{Why: WhyAgain}
	}
	return claim(move(in, Settling, "", c.Owner, f.Now), c, f), nil
}

// claim puts the claim itself on the row. A claim over bytes that do not exist yet is the first that could call.
func claim(ch Change, c Claim, f Facts) Change {
	a := &ch.After
	a.ClaimID, a.ClaimUntil = c.ID, f.Now.Add(c.Term)
	a.Silent, a.TryAt = ch.Before.Silent+1, time.Time{}
	a.Calls = ch.Before.Calls + 1
	if ch.Before.Stored == 0 {
		a.Calls = 1
	}
	ch.Event.ClaimID = c.ID
	return ch
}

// postpone says when to look again; the version stays.
func postpone(in Intent, until time.Time) Change {
	c := stay(in)
	c.After.DueAt = until
	return c
}

// watchNow leaves an intent whose bytes must not be sent again to the observer, who also knows when patience runs out.
func watchNow(in Intent, now time.Time) Change {
	c := postpone(in, now.Add(MostPush))
	c.After.WatchAt = now
	return c
}

// review hands the intent to a person. Watching goes on where the sender can see.
func review(in Intent, reason Reason, actor string, detail []byte, now time.Time) Change {
	c := move(in, NeedsReview, reason, actor, now)
	c.Event.Detail = detail
	c.After.DueAt, c.After.TryAt = now.Add(MostPush), time.Time{}
	if in.Seen {
		c.After.WatchAt = now.Add(MostRetry)
	}
	return c
}
