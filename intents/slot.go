package intents

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// SlotKind says how a slot is named.
type SlotKind int16

// The kinds of slot.
const (
	NoSlot  SlotKind = 0
	Key     SlotKind = 1 // the intent's id, as idempotency key
	Counter SlotKind = 2 // the next number of its scope
	Given   SlotKind = 3 // named by Prepare: a blockhash, a query id, object versions
)

// Slot is the one nonce or key an intent may use. The zero Slot is none.
type Slot struct {
	ID     int64 // the store's own key for it
	Kind   SlotKind
	Scope  string // signer, wallet, endpoint
	Number int64  // Counter: the number in its scope
	Name   string // Key: the intent's id; Given: as Prepare named it
}

// String shows a slot in logs: scope and number or name.
func (s Slot) String() string {
	switch s.Kind {
	case Counter:
		return s.Scope + "#" + strconv.FormatInt(s.Number, 10)
	case Key, Given:
		return s.Scope + "/" + s.Name
	}
	return "none"
}

// Kind says what an attempt is for.
type Kind int16

// The kinds of attempt.
const (
	First  Kind = 1 // the payment itself
	Bump   Kind = 2 // the payment again in the same slot, at a higher fee
	Cancel Kind = 3 // an empty use of the slot, so that the payment cannot take it
	Fill   Kind = 4 // an empty use of a slot whose intent ended before bytes existed
	Alien  Kind = 5 // not ours: a foreign transaction that used the slot; never sent by us. Reads "foreign"
)

// String gives the kind's name.
func (k Kind) String() string {
	switch k {
	case First:
		return "first"
	case Bump:
		return "bump"
	case Cancel:
		return "cancel"
	case Fill:
		return "fill"
	case Alien:
		return "foreign"
	}
	return fmt.Sprintf("kind(%d)", int16(k))
}

// Pays says whether bytes of this kind carry the payment, so that sending them again is sending it again.
func (k Kind) Pays() bool { return k == First || k == Bump }

// ExpiryKind says in what an attempt's expiry is counted.
type ExpiryKind int16

// What an expiry is counted in.
const (
	NoExpiry ExpiryKind = 0
	Height   ExpiryKind = 1 // block height
	Time     ExpiryKind = 2 // seconds since 1970
	Epoch    ExpiryKind = 3 // the chain's epoch
)

// Expiry is when the bytes of an attempt can no longer take effect. The zero Expiry is never.
type Expiry struct {
	Kind ExpiryKind
	At   int64
}

// Attempt is exact bytes in a slot. The first bytes stored under (slot, no) are the only bytes ever sent.
type Attempt struct {
	Slot   Slot
	No     int // from 1
	Kind   Kind
	Bytes  []byte
	Name   string // what the other side calls it: transaction hash, idempotency key
	Expiry Expiry
}

// Again says how long the same bytes may be sent after the first claim.
type Again time.Duration

// The two ends of Again.
const (
	Never  Again = 0
	Always Again = math.MaxInt64
)

// For lets the same bytes be sent until d after the first claim.
func For(d time.Duration) Again { return Again(d) }

// Until gives the moment that ends it, counted from the first claim. Zero is never; Always ends in the year 9999.
func (a Again) Until(first time.Time) time.Time {
	switch a {
	case Never:
		return time.Time{}
	case Always:
		return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	}
	return first.Add(time.Duration(a))
}

// Plan is what a sender needs for an intent. Making it changes nothing and takes no slot.
type Plan struct {
	Slot   SlotKind
	Scope  string   // signer, wallet, endpoint
	Others []string // Counter: further scopes that may give the number as well; the claim picks, see Pick
	Lanes  []string // what must not run beside it, sorted
	Cost   Amount   // to hold above the amount
	Weight int      // permits it takes; 0 counts as 1
	Again  Again    // how long the same bytes may be sent
	Seen   bool     // Observe can find it
}
