package intents

import "time"

// Open is the first row of an intent: created, or created and authorized when it may be sent at once. Two events.
func Open(in Intent, authorize bool, actor string, now time.Time) []Change {
	in.State, in.Version, in.CreatedAt, in.ChangedAt = 0, 0, now, now
	first := move(in, Created, "", actor, now)
	first.After.DueAt = in.ExpiresAt
	if !authorize {
		return []Change{first}
	}
	second, _ := Authorize(first.After, actor, now)
	return []Change{first, second}
}

// Unannounced makes an intent that opens due as soon as it may be sent: no message tells of it, so there is nothing to leave
// the sweeper a grace for.
func Unannounced(opened []Change) []Change {
	last := &opened[len(opened)-1].After
	if last.State == Authorized && !last.NotBefore.After(last.ChangedAt) {
		last.DueAt = last.ChangedAt
	}
	return opened
}

// Authorize lets a created intent be sent. Errors: *TransitionError.
func Authorize(in Intent, actor string, now time.Time) (Change, error) {
	if in.State != Created {
		return stay(in), &TransitionError{ID: in.ID, From: in.State, To: Authorized}
	}
	c := move(in, Authorized, "", actor, now)
	c.After.TryAt, c.After.DueAt = in.NotBefore, now.Add(Grace)
	if in.NotBefore.After(now) { // whatever became of its message, the sweeper publishes it when it may run
		c.After.DueAt = in.NotBefore
	}
	return c, nil
}

// CancelIntent calls an intent off, which is certain until it is claimed. Canceling one that is canceled changes nothing.
// Errors: *TransitionError.
func CancelIntent(in Intent, actor string, now time.Time) (Change, error) {
	switch in.State {
	case Created, Authorized:
		return move(in, Canceled, ReasonOperator, actor, now), nil
	case Canceled:
		return stay(in), nil
	}
	return stay(in), &TransitionError{ID: in.ID, From: in.State, To: Canceled}
}

// Refuse fails an authorized intent that can never be sent, or any that waits past its expiry. Errors: ErrMoved when the
// row is not as the caller read it.
func Refuse(in, read Intent, reason Reason, detail []byte, actor string, now time.Time) (Change, error) {
	if in.Version != read.Version || (in.State != Created && in.State != Authorized) {
		return stay(in), ErrMoved
	}
	c := move(in, Failed, reason, actor, now)
	c.Event.Detail = detail
	return c, nil
}

// Note adds a line to the timeline about what a person did, and moves nothing.
func Note(in Intent, actor string, detail []byte, now time.Time) Change {
	return note(in, Noted, actor, detail, now)
}

// Park says when an intent that was not claimed is looked at next: after the wait, or at once by the sweeper when it is 0.
// Errors: ErrMoved when the row is not as the caller read it.
func Park(in, read Intent, wait time.Duration, now time.Time) (Change, error) {
	if in.Version != read.Version || in.State.Final() {
		return stay(in), ErrMoved
	}
	return postpone(in, now.Add(max(wait, 0))), nil
}

// Sweep decides what the sweeper does with a due intent at its n-th look: an expired one fails, one that may be sent is
// published (true) and pushed on, any other is only pushed on.
func Sweep(in Intent, n int, actor string, now time.Time) (Change, bool) {
	if (in.State == Created || in.State == Authorized) && in.Expired(now) {
		return move(in, Failed, ReasonExpired, actor, now), false
	}
	c := postpone(in, now.Add(PushBy(n)))
	if !in.ExpiresAt.IsZero() && in.ExpiresAt.Before(c.After.DueAt) && in.State == Authorized {
		c.After.DueAt = in.ExpiresAt
	}
	return c, in.State == Authorized || in.State == Settling
}
