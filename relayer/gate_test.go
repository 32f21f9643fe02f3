package relayer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// plans counts what the sender was asked to plan, each of which costs calls on the wire.
func (r *rig) plans() *int {
	n := new(int)
	r.sender.onPlan = func(context.Context, intents.Intent) (intents.Plan, error) { *n++; return r.sender.plan, nil }
	return n
}

// TestGateFull: a window without room shuts the signer's gate in this process: 1 s, doubling to 30 s, one probe each.
func TestGateFull(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.openSigner(7, 1)
		r.sent("pi_0") // takes the only number
		for i := range 20 {
			r.create(fmt.Sprintf("pi_%d", i+1))
		}
		plans := r.plans()
		r.requeued(r.deliver(ref("pi_1")), time.Second) // finds it full
		for _, wait := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			claims, planned := r.faults.count("claim"), *plans
			for i := range 20 {
				d := r.deliver(ref(fmt.Sprintf("pi_%d", i+1)))
				r.requeued(d, wait*time.Second)
			}
			if r.faults.count("claim") != claims || *plans != planned {
				r.Fatalf("shut for %d s: %d claims, %d plans", wait, r.faults.count("claim")-claims, *plans-planned)
			}
			pass(wait * time.Second)
			for i := range 20 { // the first of them probes
				if delay, ok := r.deliver(ref(fmt.Sprintf("pi_%d", i+1))).Requeued(); !ok || delay < time.Second {
					r.Fatalf("delivery %d: REQ %s", i, delay)
				}
			}
			if n := r.faults.count("claim"); n != claims+1 {
				r.Fatalf("%d probes after %d s, want 1", n-claims, wait)
			}
		}
		r.stands("pi_1", intents.Authorized, 2, "")
		r.wire(1, "pi_0")
	})
}

// TestGateOpens: a number that comes free opens the gate for everybody.
func TestGateOpens(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.openSigner(7, 1)
		r.sent("pi_0")
		r.create("pi_1")
		r.create("pi_2")
		r.requeued(r.deliver(ref("pi_1")), time.Second)
		r.observes(r.observer(), 1)
		r.stands("pi_0", intents.Settled, 5, "")
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Confirming, 4, "")
		r.requeued(r.deliver(ref("pi_2")), time.Second) // full again: from 1 s on, and by asking
	})
}

// TestGateProbeLost: a probe that found nothing out does not keep the gate shut for ever.
func TestGateProbeLost(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.openSigner(7, 1)
		r.sent("pi_0")
		r.create("pi_1")
		r.requeued(r.deliver(ref("pi_1")), time.Second)
		r.observes(r.observer(), 1)
		r.faults.on("claim", down)
		r.requeued(r.deliver(ref("pi_1")), 5*time.Second) // the store is away
		pass(time.Second)
		r.finished(r.deliver(ref("pi_1")))
		r.wire(2, "pi_0", "pi_1")
	})
}

// TestGateFrozen: a frozen signer eats no workers and no calls. What waits for it is put off in its row; what was claimed
// before goes on in its slot.
func TestGateFrozen(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_0")
		before := r.crash("pi_0")
		for i := range 10 {
			r.create(fmt.Sprintf("pi_%d", i+1))
		}
		_, err := r.store.Freeze(r.Context(), "signer", "key rotation", "ann")
		r.must(err)
		plans := r.plans()
		for range 3 {
			claims := r.faults.count("claim")
			for i := range 10 {
				id := fmt.Sprintf("pi_%d", i+1)
				r.finished(r.deliver(ref(id)))
				r.near("next look at "+id, r.stands(id, intents.Authorized, 2, "").DueAt, intents.FrozenLook)
			}
			if n := r.faults.count("claim"); n != claims+1 {
				r.Errorf("%d claims, want that of the one that looks", n-claims)
			}
			pass(intents.FrozenLook)
		}
		if *plans != 3 {
			r.Errorf("%d plans, want one for each look", *plans)
		}
		r.wire(0)
		r.finished(r.deliver(ref("pi_0"))) // its number was given out before
		if in := r.stands("pi_0", intents.Confirming, 5, ""); in.Slot != before.Slot {
			r.Errorf("slot %v, want %v", in.Slot, before.Slot)
		}
		_, err = r.store.Unfreeze(r.Context(), "signer", "done", "ann")
		r.must(err)
		r.finished(r.deliver(ref("pi_1")))
		r.wire(2, "pi_0", "pi_1")
	})
}

// TestTakeoverSendsThePayment: of the bytes in a slot only those that pay are sent again.
func TestTakeoverSendsThePayment(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(unheard, notSent)
		r.finished(r.deliver(ref("pi_1")))
		in := r.get("pi_1")
		for no, kind := range map[int]intents.Kind{2: intents.Cancel, 3: intents.Alien} {
			_, err := r.store.Attach(r.Context(), intents.Attempt{Slot: in.Slot, No: no, Kind: kind, Bytes: []byte("empty"), Name: "0x"})
			r.must(err)
		}
		pass(time.Minute)
		r.finished(r.deliver(ref("pi_1")))
		if got := r.sender.attempts; len(got) != 2 || got[1].No != 1 || got[1].Kind != intents.First {
			r.Errorf("sent %+v, want the payment twice", got)
		}
	})
}

// numbered is a scripted sender that counts, and knows who used what.
type numbered struct {
	*scripted
	next      int64
	strangers []intents.Foreign // from 7 on
	err       error
	asked     int
}

func (n *numbered) Numbers(context.Context) (map[string]int64, error) {
	n.asked++
	return map[string]int64{"signer": n.next}, n.err
}

func (n *numbered) Strangers(_ context.Context, _ string, from, to int64) ([]intents.Foreign, error) {
	var found []intents.Foreign
	for i := from; i < min(to, 7+int64(len(n.strangers))); i++ {
		found = append(found, n.strangers[i-7])
	}
	return found, n.err
}

func (r *rig) counting(n *numbered) *relayer.Observer {
	n.scripted = r.sender
	return relayer.NewObserver(r.cfg, r.faults, r.faults, r.faults, n, r.throttle)
}

// TestNumbersFreeze, case 44: a chain that counts further than our table freezes the signer in the next round, and what
// the forgotten transactions may have paid waits for a person, whatever becomes of the signer.
func TestNumbersFreeze(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		n := &numbered{next: 7}
		o := r.counting(n)
		r.create("pi_1", func(in *intents.Intent) { in.Destination = "forgotten" })
		r.create("pi_2")
		r.observes(o, 0)
		n.next = 9
		n.strangers = []intents.Foreign{{Hash: "0xlost", Bytes: []byte("lost"), Destination: "forgotten", Amount: intents.NewAmount(100), At: time.Now()}}
		pass(time.Minute)
		r.observes(o, 0)
		r.finished(r.deliver(ref("pi_1")))
		if in := r.stands("pi_1", intents.NeedsReview, 3, intents.ReasonForeign); in.Ref != "0xlost" {
			r.Errorf("ref %q, want the hash", in.Ref)
		}
		r.finished(r.deliver(ref("pi_2")))
		r.stands("pi_2", intents.Authorized, 2, "")
		all, err := r.store.Signers(r.Context())
		r.must(err)
		if s := all[0]; s.Frozen == "" || s.Next != 8 || s.Seen != 9 {
			r.Errorf("signer: %+v, want it frozen, one number accounted for", s)
		}
		r.wire(0)
		pass(time.Minute)
		r.observes(o, 0)
		if n := r.logs.lines("signer is frozen"); n != 1 {
			r.Errorf("logged %d times, want once", n)
		}
	})
}

// TestNumbersPutOff: a node that cannot count stops no observation.
func TestNumbersPutOff(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.sent("pi_1")
		r.observes(r.counting(&numbered{err: context.DeadlineExceeded}), 1)
		r.stands("pi_1", intents.Settled, 5, "")
	})
}

// TestNumbersIdle: with nothing to watch the count is looked at now and then only.
func TestNumbersIdle(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		n := &numbered{next: 7}
		o := r.counting(n)
		for range 12 { // a minute
			r.observes(o, 0)
		}
		if n.asked < 3 || n.asked > 5 {
			r.Errorf("asked %d times in a minute, want about 4", n.asked)
		}
	})
}
