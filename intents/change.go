package intents

import "time"

// How long the sweeper leaves an intent alone.
const (
	// Grace is how long after it may run an authorized intent is published again if nobody took it.
	Grace = time.Minute
	// MostPush is the longest the sweeper pushes due_at on.
	MostPush = 10 * time.Minute
	// MostRetry is the longest wait between two tries of the same bytes.
	MostRetry = 5 * time.Minute
)

// SlotEnd says what a change means for the slot the intent had.
type SlotEnd int

// What becomes of a slot.
const (
	SlotKeeps SlotEnd = iota // it stays with its intent
	SlotDone                 // used up or proved dead: closed
	SlotFill                 // no bytes exist: it stays open and must be filled
)

// Change is what a decision writes: the row before and after, and one line of the timeline. All of it is one commit.
// When the version is not raised only evidence, due_at, try_at or watch_at change.
type Change struct {
	Before, After Intent
	Event         Event // Kind 0: none
	Slot          SlotEnd
	Freeze        string // not empty: the signer of After's slot is to give out no numbers, and why
}

// Empty says whether there is nothing to write.
func (c Change) Empty() bool {
	return !c.Moves() && c.Event.Kind == 0 && c.After.DueAt.Equal(c.Before.DueAt) &&
		c.After.TryAt.Equal(c.Before.TryAt) && c.After.WatchAt.Equal(c.Before.WatchAt)
}

// Moves says whether the change raises the version.
func (c Change) Moves() bool { return c.After.Version != c.Before.Version }

// Pending is what the account's pending sum grows by; negative when a hold is captured or released.
func (c Change) Pending() Amount { return c.After.Held().Sub(c.Before.Held()) }

// Captures says whether the change takes the amount out of the account: one entry, posted shrinks by it.
func (c Change) Captures() bool { return c.After.State == Settled && c.Before.State != Settled }

// stay leaves the row as it is.
func stay(in Intent) Change { return Change{Before: in, After: in} }

// move takes the intent to a state at the database's time now: version up, one event. Timers of a final state are cleared.
func move(in Intent, to State, reason Reason, actor string, now time.Time) Change {
	after := in
	after.State, after.Reason, after.Version, after.ChangedAt = to, reason, in.Version+1, now
	if to != Settling {
		after.ClaimID, after.ClaimUntil = "", time.Time{}
	}
	if to.Final() {
		after.DueAt, after.TryAt, after.WatchAt = time.Time{}, time.Time{}, time.Time{}
	}
	c := Change{Before: in, After: after, Slot: slotEnd(in, to)}
	c.Event = Event{Version: after.Version, At: now, Kind: Changed, From: in.State, To: to, Actor: actor, Reason: reason, ClaimID: in.ClaimID}
	return c
}

// slotEnd tells what a final state means for the slot: used, or to be filled when no bytes were ever made for it.
func slotEnd(in Intent, to State) SlotEnd {
	switch {
	case !to.Final() || in.Slot.Kind == NoSlot:
		return SlotKeeps
	case in.Slot.Kind == Counter && in.Stored == 0:
		return SlotFill
	}
	return SlotDone
}

// note adds evidence without moving anything.
func note(in Intent, kind EventKind, actor string, detail []byte, now time.Time) Change {
	c := stay(in)
	if len(detail) > 0 || kind == Contradicted {
		c.Event = Event{Version: in.Version, At: now, Kind: kind, From: in.State, To: in.State, Actor: actor, ClaimID: in.ClaimID, Detail: detail}
	}
	return c
}

// retryIn is the wait before a further try: the asked one, else doubling from 2 s with each call, at most MostRetry.
func retryIn(asked time.Duration, calls int) time.Duration {
	if asked > 0 {
		return min(asked, MostRetry)
	}
	return min(2*time.Second<<min(max(calls-1, 0), 10), MostRetry)
}

// PushBy is how far the sweeper pushes due_at on at its n-th look (from 0): Grace, doubling, at most MostPush.
func PushBy(n int) time.Duration { return min(Grace<<min(max(n, 0), 10), MostPush) }
