package nsqworker

import (
	"math/rand/v2"
	"time"
)

// timing holds the rules for leases. nsqd counts a lease, and its cap, from the moment it takes the message for us, which
// is before the bytes leave it (channel.go): our clock starts late, by slack at most.
type timing struct {
	msgTimeout time.Duration
	slack      time.Duration
	margin     time.Duration // how long before the cap the lease context ends
}

func newTiming(msgTimeout time.Duration) timing {
	return timing{msgTimeout: msgTimeout, slack: min(time.Second, msgTimeout/10), margin: msgTimeout / 3}
}

// interval to the next touch: a third of the timeout, so that two may be lost, less some jitter against bursts.
func (t timing) interval() time.Duration {
	return t.msgTimeout/3 - rand.N(t.msgTimeout/10)
}

// tick is how often leases are looked at.
func (t timing) tick() time.Duration {
	return min(max(t.msgTimeout/100, 10*time.Millisecond), 250*time.Millisecond)
}

// heartbeat is nsqd's; three missed ones end the connection, so a silent nsqd is noticed within half a lease.
func (t timing) heartbeat() time.Duration {
	return min(max(t.msgTimeout/6, time.Second), 10*time.Second)
}
