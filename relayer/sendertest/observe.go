package sendertest

import "github.com/nsqrelayer/relayer/intents"

// observeUnsent: silence proves nothing.
func observeUnsent(a *act) {
	in, s := a.claimed(0)
	at := a.prepareIn(in, s, nil)
	bare := intents.Watch{Intent: in, Slot: s}
	for i, o := range a.look(watch(in, at), bare) {
		if o.Fact != intents.NotSeen || o.Want != 0 {
			a.Errorf("observation %d of what was never sent = %v, want %v; want not_seen and nothing", i, o.Fact, o.Want)
		}
	}
	if os, err := a.observe(); err != nil || len(os) != 0 {
		a.Errorf("Observe of nothing = %d, %v", len(os), err)
	}
}

// observeSent looks at one that was sent between two that were not: facts must not change places.
func observeSent(a *act) {
	if !a.plan(0).Seen {
		a.Skip("the sender cannot see")
	}
	var ws []intents.Watch
	for n := range 3 {
		in, s := a.claimed(n)
		ws = append(ws, watch(in, a.prepareIn(in, s, nil)))
	}
	if r := a.submit(a.Context(), ws[0].Attempts[0]); !happened(r) {
		a.Fatalf("Submit = %v: %s", r.Verdict, r.Evidence)
	}
	if a.Settle != nil {
		a.Settle()
	}
	os := a.look(ws[1], ws[0], ws[2])
	if os[1].Fact != intents.Final || os[1].No != 1 {
		a.Errorf("what was sent = %v of attempt %d, want settled of attempt 1: %s", os[1].Fact, os[1].No, os[1].Evidence)
	}
	if os[0].Fact != intents.NotSeen || os[2].Fact != intents.NotSeen {
		a.Errorf("what was not sent = %v and %v, want not_seen", os[0].Fact, os[2].Fact)
	}
}

// look observes, again while there is an error: a node that has just started may not tell yet.
func (a *act) look(ws ...intents.Watch) (os []intents.Observation) {
	a.Helper()
	a.until("Observe gives no error", func() bool {
		var err error
		os, err = a.observe(ws...)
		return err == nil
	})
	return os
}

func observeDead(a *act) {
	in, s := a.claimed(0)
	at := a.prepareIn(in, s, nil)
	if r := a.submit(a.Context(), at); !happened(r) {
		a.Fatalf("Submit = %v: %s", r.Verdict, r.Evidence)
	}
	a.Turn(Dead)
	os, err := a.observe(watch(in, at))
	if err == nil && os[0].Fact != intents.NotSeen {
		a.Errorf("Observe with nobody listening = %v, want an error or not_seen", os[0].Fact)
	}
}
