package relayer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// TestCase107: a cancel races the send, at every step of it. Either it comes before the claim, and nothing ever leaves; or
// it is refused, and the payment goes through once. What the call comes to is never lost to it.
func TestCase107(t *testing.T) {
	for name, plan := range map[string]intents.Plan{"key": keyed(), "counter": counted()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, plan, func(r *rig) {
				var paid []string
				for n := range 200 {
					id := fmt.Sprintf("pi_%d", n)
					if r.canceled(id) {
						r.stands(id, intents.Canceled, 3, intents.ReasonOperator)
						continue
					}
					if in := r.get(id); in.State != intents.Settled {
						r.Fatalf("refused, and yet: %s", r.story(id))
					}
					paid = append(paid, id)
				}
				r.effects(paid...) // once each, and nothing else
				if len(paid) < 20 || len(paid) > 180 {
					r.Errorf("%d of 200 were paid: the race is none", len(paid))
				}
			})
		})
	}
}

// canceled has an intent sent and called off at once, each step slow by as much as a cancel may come late, and says whether
// the cancel was in time.
func (r *rig) canceled(id string) bool {
	r.Helper()
	r.create(id)
	for _, step := range []string{"take", "claim", "attach", "complete"} {
		r.faults.on(step, slowly(10*time.Millisecond))
	}
	r.sender.says(happened)
	done := r.start(ref(id))
	pass(rand.N(25 * time.Millisecond))
	_, err := r.store.Cancel(r.Context(), id, "ann")
	if late, ok := errors.AsType[*intents.TransitionError](err); err != nil && (!ok || late.To != intents.Canceled) {
		r.Fatalf("cancel: %v", err)
	}
	r.finished(<-done)
	return err == nil
}
