package intents

import "time"

// Filter chooses intents for a list. Zero fields choose nothing away.
type Filter struct {
	Route   string
	States  []State
	Account string
	Asset   string
	Lane    string
	Ref     string
	Since   time.Time // created at or after
	Until   time.Time // created before
	Before  int64     // keyset: keys below this one
	Limit   int       // 0: 50
}

// DefaultLimit is the length of a list that sets none.
const DefaultLimit = 50

// Account is the money of one account in one asset. Free is posted less pending.
type Account struct {
	Account, Asset string
	Posted         Amount // sum of its entries
	Pending        Amount // held by intents under way
	Enforced       bool   // claims must be covered; set by the first credit
}

// Free is what a claim may still hold.
func (a Account) Free() Amount { return a.Posted.Sub(a.Pending) }

// Entry is one posting to an account: a credit with the reference of who made it, or an intent that settled.
type Entry struct {
	Account, Asset string
	Amount         Amount // positive: credit
	Ref            string // the credit's reference, or the intent's id; unique together with account and asset
	At             time.Time
}

// Signer is the state of one counter scope.
type Signer struct {
	Scope  string
	Next   int64  // the next number to give out
	Window int    // how many of its slots may be open at once that the chain has not used yet
	Open   int    // how many are not closed
	Ahead  int    // how many of those the chain has not used yet: what counts against the window
	Frozen string // why no number is given out; empty: it is not frozen
	Seen   int64  // the chain's next number when last looked at
}

// Room is how many numbers it may give out now.
func (s Signer) Room() int { return s.Window - s.Ahead }

// Full says whether the window has no room.
func (s Signer) Full() bool { return s.Room() <= 0 }

// open says whether the signer has a number to give.
func (s *Signer) open() bool { return s != nil && s.Frozen == "" && !s.Full() }

// RouteState is a route's switch.
type RouteState struct {
	Route  string
	Paused bool
	By     string // who turned it last
	At     time.Time
}

// Flow is what came and what ended between two keys.
type Flow struct {
	Created, Settled int64
	Head             int64 // the newest key given out
}
