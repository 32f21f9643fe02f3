package relayer

import (
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// needsNumber says whether the claim of an intent would take a number of one of the plan's scopes.
func needsNumber(in intents.Intent, p intents.Plan) bool {
	return p.Slot == intents.Counter && in.Slot.Kind == intents.NoSlot
}

// pass says how long to stay away from the gates of the plan's scopes; 0: ask for the number.
func (w *Worker) pass(in intents.Intent, p intents.Plan) (wait time.Duration, frozen bool) {
	if !needsNumber(in, p) {
		return 0, false
	}
	return w.gates.enter(p.Ranked(in.Lane), in.Lane != "", time.Now())
}

// shutOut ends a delivery that stands before a shut gate: nothing was asked for. A frozen signer's intents are put off in
// their rows, so that they eat no workers; one without room has some soon.
func (w *Worker) shutOut(j *job, in intents.Intent, wait time.Duration, frozen bool) (out Disposition, moved bool) {
	if frozen {
		return w.park(j, in, intents.FrozenLook)
	}
	return Requeue(w.cfg.Jitter(max(wait, firstShut))), false
}

// unslotted shuts the gates of those scopes that had no number for a claim. Where the one that was picked is frozen all
// are, or it would not have been picked; where it is full all are, unless a lane wanted this one.
func (w *Worker) unslotted(c intents.Claim, err error) {
	not, ok := errors.AsType[*intents.NotClaimedError](err)
	if !ok {
		return
	}
	scopes, now := c.Plan.Scopes(), time.Now()
	if c.Intent.Lane != "" && not.Why == intents.WhyNoSlot {
		scopes = []string{not.Scope}
	}
	for _, scope := range scopes {
		switch not.Why {
		case intents.WhyNoSlot:
			w.gates.shut(scope, now)
		case intents.WhyFrozen:
			w.gates.freeze(scope, now, intents.FrozenLook)
		}
	}
}
