package sendertest

import (
	"reflect"

	"github.com/nsqrelayer/relayer/intents"
)

func planChangesNothing(a *act) {
	one, two := a.plan(0), a.plan(0)
	if !reflect.DeepEqual(one, two) {
		a.Errorf("two plans of one intent differ: %+v and %+v", one, two)
	}
	if one.Slot != intents.Key && one.Slot != intents.Counter && one.Slot != intents.Given {
		a.Errorf("Plan: slot kind %d, want one of the three", one.Slot)
	}
	if one.Scope == "" || one.Cost.Sign() < 0 || one.Weight < 0 {
		a.Errorf("Plan: scope %q, cost %v, weight %d; want a scope and nothing below 0", one.Scope, one.Cost, one.Weight)
	}
	a.clean("scope of the plan", []byte(one.Scope))
	a.quiet()
}

func prepareTwice(a *act) {
	in, s := a.claimed(0)
	one, two := a.prepareIn(in, s, nil), a.prepareIn(in, s, nil)
	a.quiet()
	for _, at := range []intents.Attempt{one, two} {
		if len(at.Bytes) == 0 || at.Name == "" || at.No != 1 || at.Kind != intents.First {
			a.Errorf("Prepare gave %d bytes, name %q, no %d, kind %v; want bytes, a name, 1, first", len(at.Bytes), at.Name, at.No, at.Kind)
		}
		if at.Slot.Kind != s.Kind || at.Slot.ID != s.ID || at.Slot.Scope != s.Scope || at.Slot.Number != s.Number {
			a.Errorf("Prepare moved the attempt from slot %v to %v", s, at.Slot)
		}
		a.clean("bytes", at.Bytes)
	}
	if r := a.submit(a.Context(), two); !happened(r) {
		a.Errorf("Submit of what Prepare gave the second time = %v, want accepted or done: %s", r.Verdict, r.Evidence)
	}
}

// prepareStored: whoever comes second with bytes stored already gets those.
func prepareStored(a *act) {
	in, s := a.claimed(0)
	first := a.prepareIn(in, s, nil)
	if again := a.prepareIn(in, s, []intents.Attempt{first}); !reflect.DeepEqual(first, again) {
		a.Errorf("Prepare beside a stored first attempt made %q, want the stored %q", again.Name, first.Name)
	}
	a.quiet()
}

// quiet checks that no call has been made.
func (a *act) quiet() {
	a.Helper()
	if n := a.Calls(); n != 0 {
		a.Errorf("%d call(s) reached the other side, want none", n)
	}
}
