package intents

import "time"

// The checks of an audit, by name.
const (
	CheckPending  = "pending"  // an account's pending sum is what its intents hold
	CheckPosted   = "posted"   // its posted sum is that of its entries
	CheckCaptured = "captured" // what settled was captured once, and nothing else was
	CheckEvents   = "events"   // a timeline has no gap, begins with nothing and ends where the intent stands
	CheckAttempts = "attempts" // as many bytes are stored in a slot as its intent says
	CheckSlots    = "slots"    // a slot has one intent, and is open as long as that needs it
	CheckNumbers  = "numbers"  // numbers of a signer are given out once and in a row
	CheckTimers   = "timers"   // what is open has a next look, what is final has none
	CheckLate     = "late"     // nothing is past its time without a reason
	CheckRoutes   = "routes"   // what is open is on a route that is configured
)

// Audit says what an audit looks at beside what must always add up.
type Audit struct {
	Late   time.Duration // how far past its time anything may be; 0: CheckLate is left out. MostPush is too short
	Routes []string      // those that are configured; nil: CheckRoutes is left out
	Most   int           // lines kept of each check; 0: all. Those above are only counted
}

// Audited is what one check came to.
type Audited struct {
	Check string
	Found int           // violations
	Lines []string      // what is wrong, one each, as many as were to be kept
	Took  time.Duration // by our clock; 0 where nothing was waited for
}

// Add counts a violation, and keeps its line while there is room.
func (a *Audited) Add(line string, most int) {
	a.Found++
	if most <= 0 || len(a.Lines) < most {
		a.Lines = append(a.Lines, line)
	}
}
