package relayer

import (
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// needsNumber says whether the claim of an intent would take a number of the plan's scope.
func needsNumber(in intents.Intent, p intents.Plan) bool {
	return p.Slot == intents.Counter && in.Slot.Kind == intents.NoSlot
}

// pass says how long to stay away from the scope's gate; 0: ask for the number.
func (w *Worker) pass(in intents.Intent, p intents.Plan) (wait time.Duration, frozen bool) {
	if !needsNumber(in, p) {
		return 0, false
	}
	return w.gates.enter(p.Scope, time.Now())
}

// shutOut ends a delivery that stands before a shut gate: nothing was asked for. A frozen signer's intents are put off in
// their rows, so that they eat no workers; one without room has some soon.
func (w *Worker) shutOut(j *job, in intents.Intent, wait time.Duration, frozen bool) (out Disposition, moved bool) {
	if frozen {
		return w.park(j, in, intents.FrozenLook)
	}
	return Requeue(w.cfg.Jitter(max(wait, firstShut))), false
}

// unslotted shuts the gate of a scope that had no number for a claim.
func (w *Worker) unslotted(c intents.Claim, err error) {
	not, ok := errors.AsType[*intents.NotClaimedError](err)
	switch {
	case !ok:
	case not.Why == intents.WhyNoSlot:
		w.gates.shut(c.Plan.Scope, time.Now())
	case not.Why == intents.WhyFrozen:
		w.gates.freeze(c.Plan.Scope, time.Now(), intents.FrozenLook)
	}
}
