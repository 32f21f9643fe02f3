package relayer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// shared is a plan that two signers can carry out.
func shared() intents.Plan {
	p := counted()
	p.Scope, p.Others = "signer-a", []string{"signer-b"}
	return p
}

// open makes both known, with so much room each.
func (r *rig) openBoth(window int) {
	for _, scope := range shared().Scopes() {
		_, err := r.store.OpenSigner(r.Context(), intents.Signer{Scope: scope, Window: window})
		r.must(err)
	}
}

func (r *rig) signerOf(id string) string { return r.get(id).Slot.Scope }

// TestSignersShare: the claim takes the signer with most room, and only when none has any the gate shuts, for all.
func TestSignersShare(t *testing.T) {
	bubble(t, shared(), func(r *rig) {
		r.openBoth(2)
		of := map[string]int{}
		for i := range 4 {
			id := fmt.Sprintf("pi_%d", i)
			r.sent(id)
			of[r.signerOf(id)]++
		}
		if of["signer-a"] != 2 || of["signer-b"] != 2 {
			r.Errorf("signers: %v, want two each", of)
		}
		r.create("pi_5")
		r.create("pi_6")
		r.requeued(r.deliver(ref("pi_5")), time.Second)
		plans := r.plans()
		r.requeued(r.deliver(ref("pi_6")), time.Second)
		if *plans != 0 {
			r.Errorf("%d plans behind shut gates", *plans)
		}
	})
}

// TestSignersFrozen: a frozen signer stops nothing that another can pay.
func TestSignersFrozen(t *testing.T) {
	bubble(t, shared(), func(r *rig) {
		r.openBoth(8)
		_, err := r.store.Freeze(r.Context(), "signer-a", "key rotation", "ann")
		r.must(err)
		for i := range 3 {
			id := fmt.Sprintf("pi_%d", i)
			r.sent(id)
			if got := r.signerOf(id); got != "signer-b" {
				r.Errorf("%s: paid by %s", id, got)
			}
		}
		_, err = r.store.Freeze(r.Context(), "signer-b", "key rotation", "ann")
		r.must(err)
		r.create("pi_9")
		r.finished(r.deliver(ref("pi_9")))
		r.near("next look", r.stands("pi_9", intents.Authorized, 2, "").DueAt, intents.FrozenLook)
	})
}

// TestSignersOfLanes: a lane keeps to its signer; a window that is full shuts the lanes of that signer alone, and a lane
// moves to another while its own is frozen.
func TestSignersOfLanes(t *testing.T) {
	bubble(t, shared(), func(r *rig) {
		r.openBoth(1)
		own := func(lane string) string { return shared().Ranked(lane)[0] }
		in := func(lane string) func(*intents.Intent) {
			return func(in *intents.Intent) { in.Lane = lane }
		}
		mine, other := "acct_1", "acct_2"
		for i := 3; own(other) == own(mine); i++ {
			other = fmt.Sprintf("acct_%d", i)
		}
		r.create("pi_0", in(mine))
		r.finished(r.deliver(ref("pi_0")))
		r.observes(r.observer(), 1) // settled: the lane is free again, and so is the number
		r.create("pi_1", in(mine))
		r.finished(r.deliver(ref("pi_1")))
		if r.signerOf("pi_0") != own(mine) || r.signerOf("pi_1") != own(mine) {
			r.Errorf("lane %s of %s: paid by %s, then %s", mine, own(mine), r.signerOf("pi_0"), r.signerOf("pi_1"))
		}
		r.create("pi_2", in(other))
		r.finished(r.deliver(ref("pi_2")))
		if got := r.signerOf("pi_2"); got != own(other) {
			r.Errorf("lane %s of %s: paid by %s", other, own(other), got)
		}
		third := "acct_100" // another lane of the first one's signer
		for i := 101; own(third) != own(mine); i++ {
			third = fmt.Sprintf("acct_%d", i)
		}
		r.create("pi_3", in(third))
		r.requeued(r.deliver(ref("pi_3")), time.Second) // full; that of the other lanes is full, too, but not asked
		_, err := r.store.See(r.Context(), own(other), 1)
		r.must(err) // room there, which is no use to this lane
		pass(time.Second)
		r.requeued(r.deliver(ref("pi_3")), time.Second)
		_, err = r.store.Freeze(r.Context(), own(mine), "key rotation", "ann")
		r.must(err)
		pass(time.Minute)
		r.finished(r.deliver(ref("pi_3")))
		if got := r.signerOf("pi_3"); got != own(other) {
			r.Errorf("own signer frozen: paid by %q, want %s", got, own(other))
		}
	})
}

// TestSignersFullForLanes: a full signer shuts its own gate to its lanes, who ask for no claim then, and nobody else's.
func TestSignersFullForLanes(t *testing.T) {
	bubble(t, shared(), func(r *rig) {
		r.openBoth(1)
		var lanes []string // all of one signer
		for i := 0; len(lanes) < 3; i++ {
			if lane := fmt.Sprintf("acct_%d", i); shared().Ranked(lane)[0] == shared().Ranked("acct_0")[0] {
				lanes = append(lanes, lane)
			}
		}
		for i, lane := range lanes {
			r.create(fmt.Sprintf("pi_%d", i), func(in *intents.Intent) { in.Lane = lane })
		}
		r.finished(r.deliver(ref("pi_0")))
		r.requeued(r.deliver(ref("pi_1")), time.Second) // finds it full
		claims := r.faults.count("claim")
		r.requeued(r.deliver(ref("pi_2")), time.Second)
		if n := r.faults.count("claim"); n != claims {
			r.Errorf("%d claims behind the shut gate of the lane's signer", n-claims)
		}
		r.sent("pi_3") // in no lane: the other signer has room
		if got := r.signerOf("pi_3"); got == r.signerOf("pi_0") {
			r.Errorf("paid by %s, which is full", got)
		}
	})
}
