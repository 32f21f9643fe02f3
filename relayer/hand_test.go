package relayer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// While the first answer of a provider with keys is open, what its owner says about that call is believed. Bytes that a
// person sent beside it, without a claim, were not counted: the owner could say "not sent", the hold went, and they arrived.
func TestSendOfAKeyNeedsAClaim(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		stalled, gone := make(chan struct{}), make(chan struct{})
		r.sender.says(func(context.Context, *world, intents.Attempt) intents.Result {
			close(stalled)
			<-gone
			return intents.Result{Verdict: intents.NotSent}
		}, silence)
		done := r.start(ref("pi_1"))
		<-stalled
		pass(r.cfg.Term() + time.Second)
		in := r.stands("pi_1", intents.Settling, 3, "")
		as, err := r.store.Attempts(r.Context(), in.ID)
		r.must(err)
		if _, err := r.observer().Send(r.Context(), in, as[0]); !errors.Is(err, intents.ErrClaimsOnly) {
			t.Errorf("send beside the first call: %v, want %v", err, intents.ErrClaimsOnly)
		}
		close(gone)
		<-done
		r.stands("pi_1", intents.Authorized, 4, "")
		r.wire(1)
	})
}

// Once the other side has it, or a person must decide, no such answer is believed any more.
func TestSendOfAKeyThatIsConfirming(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		in := r.get("pi_1")
		as, err := r.store.Attempts(r.Context(), in.ID)
		r.must(err)
		_, err = r.observer().Send(r.Context(), in, as[0])
		r.must(err)
		r.wire(2, "pi_1")
	})
}
