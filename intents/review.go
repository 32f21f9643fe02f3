package intents

import (
	"cmp"
	"encoding/json"
	"time"
)

// Verb is what a person decides about an intent.
type Verb string

// The verbs.
const (
	Settle Verb = "settle" // it happened
	Fail   Verb = "fail"   // it did not happen and cannot
	Retry  Verb = "retry"  // the same bytes again in the same slot; a new slot where that one is proved dead
)

// Order is a person's decision about an intent in review, or about one that failed and happened after all.
type Order struct {
	Verb    Verb
	Version int    // of the intent as the person saw it
	Actor   string // who decides
	Reason  string // why, in words; required

	// What the other side said of the intent's slot just before.
	Seen Observation

	// Settle.
	Ref         string // transaction hash, provider's id; required
	Own         bool   // Ref is one of the intent's own attempts that pay
	Proved      bool   // the other side shows Ref as this payment, beyond recall
	Against     string // why the other side does not confirm Ref, although it could; empty: it has no say, or confirms
	Unconfirmed bool   // all the same

	// MayPayTwice lets Retry send what may have taken effect and would then take effect again.
	MayPayTwice bool
}

// Resolve decides about an order on the row as it stands under lock.
// Errors: ErrMoved when the row is not as the person saw it; *InvalidError when the order lacks something;
// *TransitionError when nothing of the kind can become of the intent; *OrderError when it may not, as things are.
func Resolve(in Intent, o Order, now time.Time) (Change, error) {
	var c Change
	err := o.check()
	switch {
	case err != nil:
	case in.Version != o.Version:
		err = ErrMoved
	case o.Verb == Settle:
		c, err = settle(in, o, now)
	case o.Verb == Fail:
		c, err = fail(in, o, now)
	case o.Verb == Retry:
		c, err = retry(in, o, now)
	}
	if err != nil {
		return stay(in), err
	}
	c.Event.Detail = o.detail()
	return c, nil
}

// check says what an order lacks.
func (o Order) check() error {
	switch {
	case o.Verb != Settle && o.Verb != Fail && o.Verb != Retry:
		return &InvalidError{Field: "verb", Value: string(o.Verb), Want: "settle, fail or retry"}
	case o.Reason == "":
		return &InvalidError{Field: "reason", Want: "why, in words"}
	case o.Verb == Settle && o.Ref == "":
		return &InvalidError{Field: "ref", Want: "a transaction hash or the provider's id"}
	}
	return nil
}

// settle captures the hold. While bytes of the intent may still take effect nothing but these may settle it: else it would
// be paid once more, and nobody would look.
func settle(in Intent, o Order, now time.Time) (Change, error) {
	switch {
	case in.State != NeedsReview && in.State != Failed:
		return stay(in), &TransitionError{ID: in.ID, From: in.State, To: Settled}
	case in.State == Failed && !o.Proved:
		return stay(in), &OrderError{Why: cmp.Or(o.Against, "the other side does not show it") + ": what has failed is settled only by a reference that is confirmed"}
	case in.State == NeedsReview && !o.Own && in.Alive(o.Seen):
		return stay(in), &OrderError{Why: "its own bytes may still take effect, so that it would be paid twice", Way: "cancel"}
	case o.Against != "" && !o.Unconfirmed:
		return stay(in), &OrderError{Why: o.Against, Way: "unconfirmed"}
	}
	c := move(in, Settled, ReasonOperator, o.Actor, now)
	c.After.Ref, c.Event.Ref = o.Ref, o.Ref
	return c, nil
}

// fail gives the hold back.
func fail(in Intent, o Order, now time.Time) (Change, error) {
	switch {
	case in.State != NeedsReview:
		return stay(in), &TransitionError{ID: in.ID, From: in.State, To: Failed}
	case in.Alive(o.Seen):
		return stay(in), &OrderError{Why: "its bytes may still take effect: nothing has used slot " + in.Slot.String() + " beyond recall", Way: "cancel"}
	case o.Seen.underWay(in):
		return stay(in), &OrderError{Why: "the other side has it (" + o.Seen.Fact.String() + ") and may still do it: wait"}
	}
	return move(in, Failed, ReasonOperator, o.Actor, now), nil
}

// retry makes the intent due at once, for the same bytes in the same slot, its hold kept. Where the slot is used up or was
// given back there are none that could be sent: it takes a new one.
func retry(in Intent, o Order, now time.Time) (Change, error) {
	doubt := contradicted(in) || suspected(in) || forgotten(in)
	over := in.Slot.Kind == NoSlot || in.Slot.Kind != Key && o.Seen.ends(in)
	switch {
	case in.State != NeedsReview:
		return stay(in), &TransitionError{ID: in.ID, From: in.State, To: Settling}
	case o.Seen.Gone:
		return stay(in), &OrderError{Why: "slot " + in.Slot.String() + " was used, and nobody can tell by what: nothing can be sent in it"}
	case doubt && !o.MayPayTwice:
		return stay(in), &OrderError{Why: "it may have been paid already (" + string(in.Reason) + ")", Way: "twice"}
	case over && !doubt:
		return stay(in), &OrderError{Why: "slot " + in.Slot.String() + " is used up: the observer decides"}
	case over:
		return anew(in, o, now), nil
	case !in.MayResend(now) && !o.MayPayTwice:
		return stay(in), &OrderError{Why: "its bytes must not be sent again: the recipient may take them for another payment", Way: "twice"}
	}
	reason := Reason("")
	if !in.MayResend(now) {
		reason = ReasonOnce
	}
	c := move(in, Settling, reason, o.Actor, now)
	a := &c.After
	a.Ref, a.Silent, a.TryAt, a.DueAt = "", 0, time.Time{}, now
	if in.Stored > 0 { // law D: the next call is not the first
		a.Calls = max(in.Calls, 1)
	}
	if in.Seen && in.Stored > 0 {
		a.WatchAt = now.Add(firstWatch)
	}
	return c, nil
}

// anew takes the intent back to authorized, for a slot of its own. One that was never sent may be scheduled for later.
func anew(in Intent, o Order, now time.Time) Change {
	c := move(in, Authorized, "", o.Actor, now)
	unslot(&c.After)
	c.After.Ref, c.After.DueAt = "", now
	if in.NotBefore.After(now) {
		c.After.TryAt, c.After.DueAt = in.NotBefore, in.NotBefore
	}
	if in.Slot.Kind != NoSlot {
		c.Slot = SlotDone
	}
	return c
}

// Alive says whether bytes of the intent could take effect after what was seen of its slot. A key's bytes are not counted:
// they are sent by us alone, and not once the intent is final.
func (in Intent) Alive(o Observation) bool {
	return in.Stored > 0 && in.Slot.Kind != NoSlot && in.Slot.Kind != Key && !o.ends(in) && !o.Gone
}

// ends says whether an observation shows that no bytes in the slot of an intent can take effect any more.
func (o Observation) ends(in Intent) bool {
	over := o.Fact == Final || o.Fact == Reverted || o.Fact == Dead && o.No == 0
	return over && o.Slot.ID == in.Slot.ID && o.Of >= in.Stored
}

// underWay says whether an observation shows that the other side has the intent's payment and has not ended it.
func (o Observation) underWay(in Intent) bool {
	return (o.Fact == Pending || o.Fact == Included) && o.Slot.ID == in.Slot.ID
}

// MayTakeOver says whether a worker may claim the intent again, to send the bytes stored: they may be sent again, or a
// person let them be sent once more.
func (in Intent) MayTakeOver(now time.Time) bool {
	return in.MayResend(now) || in.State == Settling && in.Reason == ReasonOnce
}

// Safe says whether Retry may send what is in review without a look by a person: the recipient knows the same bytes again.
func (in Intent) Safe(now time.Time) error {
	_, err := retry(in, Order{Verb: Retry}, now)
	return err
}

// orderRecord is an order as timelines keep it.
type orderRecord struct {
	Did         string          `json:"did"`
	Why         string          `json:"why"`
	Ref         string          `json:"ref,omitempty"`
	Proved      bool            `json:"confirmed,omitempty"`
	Against     string          `json:"against,omitempty"`
	MayPayTwice bool            `json:"may_pay_twice,omitempty"`
	Fact        string          `json:"seen,omitempty"`
	Evidence    json.RawMessage `json:"evidence,omitempty"`
}

func (o Order) detail() []byte {
	r := orderRecord{Did: "review " + string(o.Verb), Why: o.Reason, Ref: o.Ref, Proved: o.Proved, Against: o.Against, MayPayTwice: o.MayPayTwice}
	if o.Seen.Of > 0 {
		r.Fact, r.Evidence = o.Seen.Fact.String(), rawJSON(o.Seen.Evidence)
	}
	b, _ := json.Marshal(r) // strings always marshal
	return b
}

// made says whether an event tells of this very order: by the same person, about the same version, for the same reason.
// What was seen at the time is not compared.
func (o Order) made(e Event) bool {
	var r orderRecord
	return e.Kind == Changed && e.Version == o.Version+1 && e.Actor == o.Actor && json.Unmarshal(e.Detail, &r) == nil &&
		r.Did == "review "+string(o.Verb) && r.Why == o.Reason && r.Ref == o.Ref
}

// Missed says why an order met a row that had moved, by the intent's timeline: it was carried out before (nil), or another
// was. Errors: *MovedError; *InvalidError when the version never was.
func (o Order) Missed(in Intent, events []Event) error {
	for _, e := range events {
		if e.Kind != Changed || e.Version != o.Version+1 {
			continue
		}
		if o.made(e) {
			return nil
		}
		return &MovedError{ID: in.ID, Saw: o.Version, By: e}
	}
	return &InvalidError{Field: "version", Want: "the one that was seen: the intent has not come so far"}
}
