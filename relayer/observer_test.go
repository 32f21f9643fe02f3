package relayer_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

func (r *rig) observer() *relayer.Observer {
	return relayer.NewObserver(r.cfg, r.faults, r.faults, r.faults, r.sender, r.throttle)
}

// observes lets a look come due, and wants it to find so many slots.
func (r *rig) observes(o *relayer.Observer, want int) {
	r.Helper()
	pass(5 * time.Second)
	n, err := o.Observe(r.Context())
	r.must(err)
	if n != want {
		r.Errorf("looked at %d slots, want %d", n, want)
	}
}

// sees has the sender observe the same of every slot.
func (r *rig) sees(seen ...intents.Observation) {
	r.sender.onObserve = func(ws []intents.Watch) (out []intents.Observation, _ error) {
		for _, w := range ws {
			for _, o := range seen {
				o.Slot = w.Slot
				out = append(out, o)
			}
		}
		return out, nil
	}
}

// sent brings an intent to confirming.
func (r *rig) sent(id string) {
	r.Helper()
	r.create(id)
	r.finished(r.deliver(ref(id)))
	r.stands(id, intents.Confirming, 4, "")
}

func TestObserveFinalSettles(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		o := r.observer()
		r.observes(o, 1)
		if in := r.stands("pi_1", intents.Settled, 5, ""); !strings.HasPrefix(in.Ref, "name of pi_1") {
			r.Errorf("ref %q is not the name of the attempt", in.Ref)
		}
		r.tells("pi_1", "created authorized settling confirming settled")
		r.holds(0)
		r.observes(o, 0)
	})
}

func TestObserveIncludedWaits(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(unheard)
		r.finished(r.deliver(ref("pi_1"))) // settling, claim over
		r.sees(intents.Observation{No: 1, Fact: intents.Included, Ref: "0x01", After: 20 * time.Second})
		o := r.observer()
		r.observes(o, 1)
		in := r.stands("pi_1", intents.Confirming, 5, "")
		if in.Ref != "0x01" {
			r.Errorf("ref %q", in.Ref)
		}
		r.near("next look", in.WatchAt, 20*time.Second)
		r.observes(o, 0)
		pass(20 * time.Second)
		r.observes(o, 1)
		r.stands("pi_1", intents.Confirming, 5, "")
		r.holds(100)
	})
}

func TestObserveRevertedFails(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.sent("pi_1")
		r.sees(intents.Observation{No: 1, Fact: intents.Reverted, Ref: "0x01", Evidence: []byte(`{"status":0}`)})
		r.observes(r.observer(), 1)
		r.stands("pi_1", intents.Failed, 5, intents.ReasonReverted)
		if d := r.lastDetail("pi_1"); d != `{"status":0}` {
			r.Errorf("evidence: %s", d)
		}
		r.holds(0)
	})
}

func TestObserveNotSeenProvesNothing(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(unheard)
		r.finished(r.deliver(ref("pi_1")))
		r.sees()
		o := r.observer()
		for range 200 {
			r.observes(o, 1)
		}
		r.stands("pi_1", intents.Settling, 4, "")
		r.tells("pi_1", "created authorized settling settling")
		r.holds(103)
	})
}

func TestObserveDeadGoesBackToAuthorized(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(silence)
		r.finished(r.deliver(ref("pi_1")))
		old := r.get("pi_1").Slot
		r.sees(intents.Observation{No: 1, Fact: intents.Dead})
		r.observes(r.observer(), 1)
		in := r.stands("pi_1", intents.Authorized, 5, "")
		if in.Stored != 0 || in.Slot.Kind != intents.NoSlot {
			r.Errorf("slot and bytes are not given up: %+v", in)
		}
		r.holds(0)
		r.sender.says(accepted)
		r.finished(r.deliver(ref("pi_1")))
		if in := r.stands("pi_1", intents.Confirming, 7, ""); in.Slot.ID == old.ID {
			r.Errorf("it uses the dead slot again: %+v", in.Slot)
		}
		if sent := r.world.bytes("pi_1"); len(sent) != 1 || sent[0] != "pi_1|w1|first|2" {
			r.Errorf("sent %q, want new bytes", sent)
		}
	})
}

// A second attempt is stored while the first is looked at. It may live: the slot is not dead.
func TestObserveDeadIsOnlyWhatWasLookedAt(t *testing.T) {
	for name, dead := range map[string]intents.Observation{
		"the attempt": {No: 1, Fact: intents.Dead, Evidence: []byte(`{"nonce":8}`)},
		"the slot":    {Fact: intents.Dead, Evidence: []byte(`{"nonce":8}`)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, counted(), func(r *rig) {
				r.create("pi_1")
				r.sender.says(silence)
				r.finished(r.deliver(ref("pi_1")))
				before := r.stands("pi_1", intents.Settling, 4, "")
				r.sees(dead)
				r.faults.on("record", first(func() {
					_, err := r.store.Attach(r.Context(), intents.Attempt{Slot: before.Slot, No: 2, Kind: intents.Bump, Bytes: []byte("pi_1|other"), Name: "second"})
					r.must(err)
				}))
				o := r.observer()
				r.observes(o, 1)
				if in := r.stands("pi_1", intents.Settling, 4, ""); in.Slot != before.Slot || in.Stored != 2 {
					r.Errorf("slot and bytes are given up: %+v", in)
				}
				r.tells("pi_1", "created authorized settling settling (evidence)")
				if d := r.lastDetail("pi_1"); d != `{"nonce":8}` {
					r.Errorf("evidence: %s", d)
				}
				r.holds(103)
				r.sees(intents.Observation{No: 1, Fact: intents.Dead}, intents.Observation{No: 2, Fact: intents.Dead})
				r.observes(o, 1) // now both were looked at
				r.stands("pi_1", intents.Authorized, 5, "")
				r.holds(0)
			})
		})
	}
}

func TestObserveConfirmAfterThenLaterProof(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		r.sees()
		o := r.observer()
		pass(59 * time.Minute)
		r.observes(o, 1)
		r.stands("pi_1", intents.Confirming, 4, "")
		pass(time.Minute)
		r.observes(o, 1)
		r.stands("pi_1", intents.NeedsReview, 5, intents.ReasonUnseen)
		r.holds(100)
		r.sees(intents.Observation{No: 1, Fact: intents.Final})
		pass(intents.MostRetry)
		r.observes(o, 1)
		r.stands("pi_1", intents.Settled, 6, "")
		r.holds(0)
	})
}

func TestObserveReviewAfterForBytesNotToBeSentAgain(t *testing.T) {
	bubble(t, blind(), func(r *rig) {
		r.create("pi_1")
		r.crash("pi_1")
		pass(lapse)
		r.finished(r.deliver(ref("pi_1"))) // hands it to the observer
		o := r.observer()
		r.observes(o, 1)
		r.stands("pi_1", intents.Settling, 3, "")
		pass(5 * time.Minute)
		r.observes(o, 1)
		r.stands("pi_1", intents.NeedsReview, 4, intents.ReasonAbandoned)
		r.holds(100)
		r.wire(0)
	})
}

// In review the observer only reads, whatever the sender wants. So in a paused route.
func TestObserveSendsNothingInReviewOrPause(t *testing.T) {
	for name, stop := range map[string]func(r *rig){
		"review": func(r *rig) { pass(time.Hour) }, // the look itself brings it there
		"paused": func(r *rig) { r.must(r.store.SetPaused(r.Context(), "payouts", true, "tester")) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, counted(), func(r *rig) {
				r.sent("pi_1")
				r.sees(intents.Observation{No: 1, Want: intents.Bump})
				stop(r)
				r.observes(r.observer(), 1)
				r.wire(1, "pi_1")
				if r.get("pi_1").Stored != 1 {
					r.Error("bytes were added")
				}
			})
		})
	}
}

func TestObserveWantBump(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.sent("pi_1")
		r.sees(intents.Observation{No: 1, Fact: intents.Pending, Want: intents.Bump})
		o := r.observer()
		r.observes(o, 1)
		r.sees()
		as, err := r.store.Attempts(r.Context(), "pi_1")
		r.must(err)
		if len(as) != 2 || as[1].No != 2 || as[1].Kind != intents.Bump || as[0].Slot != as[1].Slot {
			r.Errorf("attempts: %+v", as)
		}
		sent := r.world.bytes("pi_1")
		if len(sent) != 2 || sent[1] != "pi_1|w1|bump|2" {
			r.Errorf("sent %q", sent)
		}
		r.wire(2, "pi_1") // one effect: it is the same number
		r.stands("pi_1", intents.Confirming, 4, "")
	})
}

// fillsSlots has the sender want every number filled until it is used.
func (r *rig) fillsSlots() {
	r.sender.onObserve = func(ws []intents.Watch) (out []intents.Observation, _ error) {
		for _, w := range ws {
			o := intents.Observation{Slot: w.Slot, Want: intents.Fill}
			if r.world.saw(w.Slot) {
				o.No, o.Fact, o.Want = 1, intents.Final, 0
			}
			out = append(out, o)
		}
		return out, nil
	}
}

// The filler is nowhere to be seen. Prepared again it comes to the same bytes: those go out again, and nothing is stored.
func TestObserveSendsAFillerAgain(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPrepare = func(_ context.Context, k intents.Kind) error {
			if k == intents.First {
				return &intents.RefusedError{Why: "never"}
			}
			return nil
		}
		r.finished(r.deliver(ref("pi_1")))
		r.fillsSlots()
		r.sender.steady = true
		r.sender.says(silence, silence, accepted)
		o := r.observer()
		for range 3 {
			r.observes(o, 1)
			n, err := o.Observe(r.Context()) // it is left alone until the next round
			if r.must(err); n != 0 {
				r.Errorf("looked at %d slots at once again", n)
			}
		}
		r.wire(3, "filler")
		pass(2 * r.cfg.WithDefaults().ObserveEvery)
		ws, err := r.store.Watches(r.Context(), "payouts", 10)
		r.must(err)
		if n := r.faults.count("attach"); n != 1 || len(ws) != 1 || len(ws[0].Attempts) != 1 {
			r.Errorf("attached %d times, watches %+v", n, ws)
		}
		if got := r.sender.attempts; len(got) != 3 || got[0].No != 1 || got[0].Kind != intents.Fill || !reflect.DeepEqual(got[0], got[1]) || !reflect.DeepEqual(got[0], got[2]) {
			r.Errorf("sent %+v, want the same attempt three times", got)
		}
		r.observes(o, 1) // used: closed
		r.observes(o, 0)
		r.wire(3, "filler")
	})
}

// The same of a payment: a bump that comes to bytes which the slot has is no further attempt.
func TestObserveBumpOfTheSameBytesIsSentAgain(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.sender.steady = true
		r.sent("pi_1")
		r.sees(intents.Observation{No: 1, Fact: intents.Pending, Want: intents.Bump})
		o := r.observer()
		r.observes(o, 1) // other bytes than the first
		r.observes(o, 1) // the same as the second
		if in := r.stands("pi_1", intents.Confirming, 4, ""); in.Stored != 2 || r.faults.count("attach") != 2 {
			r.Errorf("stored %d, attached %d times, want 2 and 2", in.Stored, r.faults.count("attach"))
		}
		if sent := r.world.bytes("pi_1"); !slices.Equal(sent, []string{"pi_1|w1|first|same", "pi_1|w1|bump|same", "pi_1|w1|bump|same"}) {
			r.Errorf("sent %q", sent)
		}
		r.wire(3, "pi_1")
	})
}

// A number whose intent was refused before bytes existed is filled, or those behind it wait for ever.
func TestObserveFillsANumberWithoutBytes(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPrepare = func(_ context.Context, k intents.Kind) error {
			if k == intents.First {
				return &intents.RefusedError{Why: "never"}
			}
			return nil
		}
		r.finished(r.deliver(ref("pi_1")))
		r.fillsSlots()
		o := r.observer()
		r.observes(o, 1)
		r.wire(1, "filler")
		r.observes(o, 1) // proved used: closed
		r.observes(o, 0)
		r.stands("pi_1", intents.Failed, 4, intents.ReasonRefused)
		if !slices.Equal(r.sender.kinds, []intents.Kind{intents.Fill}) {
			r.Errorf("prepared %v", r.sender.kinds)
		}
		sg, err := r.store.Signers(r.Context())
		r.must(err)
		if sg[0].Open != 0 || sg[0].Next != 8 {
			r.Errorf("signer: %+v", sg[0])
		}
	})
}

func TestObserveOneBadWantDoesNotStopOthers(t *testing.T) {
	for name, bad := range map[string]func() error{
		"error": func() error { return errors.New("no") },
		"panic": func() error { panic("the sender blew up") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, counted(), func(r *rig) {
				for i := range 3 {
					r.sent(fmt.Sprintf("pi_%d", i))
				}
				r.sees(intents.Observation{No: 1, Fact: intents.Pending, Want: intents.Bump})
				n := 0
				r.sender.onPrepare = func(context.Context, intents.Kind) error {
					if n++; n == 1 {
						return bad()
					}
					return nil
				}
				pass(5 * time.Second)
				if seen, err := r.observer().Observe(r.Context()); seen != 3 || err == nil {
					r.Errorf("looked at %d, error %v", seen, err)
				}
				if n := r.sender.submits(); n != 5 {
					r.Errorf("%d calls on the wire, want 3 first and 2 bumps", n)
				}
			})
		})
	}
}

func TestObserveWantOfAClosedSlotIsNotSent(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.sent("pi_1")
		r.sees(intents.Observation{No: 1, Fact: intents.Final, Want: intents.Bump})
		pass(5 * time.Second)
		if _, err := r.observer().Observe(r.Context()); !errors.Is(err, intents.ErrSlotClosed) {
			r.Errorf("error %v", err)
		}
		r.wire(1, "pi_1")
		r.stands("pi_1", intents.Settled, 5, "")
	})
}

// What a sender asks to be sent again goes out as it is stored, and moves nothing.
func TestObserveResends(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.sent("pi_1")
		first := r.world.bytes("pi_1")[0]
		r.sees(intents.Observation{No: 1, Resend: true})
		o := r.observer()
		r.observes(o, 1)
		r.observes(o, 1)
		if got := r.world.bytes("pi_1"); !slices.Equal(got, []string{first, first, first}) {
			t.Errorf("sent %q, want the first bytes three times", got)
		}
		r.stands("pi_1", intents.Confirming, 4, "")
		r.sees(intents.Observation{No: 2, Resend: true}) // nobody stored that
		r.observes(o, 1)
		r.wire(3, "pi_1")
	})
}

// Only what may be sent by an observer is sent again: under way, in no claim, not in review, not paused, not past its time.
func TestObserveResendsOnlyWhatMayBeSent(t *testing.T) {
	for name, tt := range map[string]struct {
		plan intents.Plan
		do   func(r *rig)
		want int // calls
	}{
		"confirming":      {counted(), func(r *rig) { r.sent("pi_1") }, 2},
		"claim over":      {counted(), func(r *rig) { r.create("pi_1"); r.sender.says(silence); r.deliver(ref("pi_1")) }, 2},
		"claim running":   {counted(), func(r *rig) { r.create("pi_1"); r.sender.says(killedBefore); r.killed(ref("pi_1")) }, 1},
		"key, confirming": {keyed(), func(r *rig) { r.sent("pi_1") }, 2},
		"key, claim over": {keyed(), func(r *rig) { r.create("pi_1"); r.sender.says(silence); r.deliver(ref("pi_1")) }, 1},
		"never again":     {lookedUp(), func(r *rig) { r.sent("pi_1") }, 1},
		"paused": {counted(), func(r *rig) {
			r.sent("pi_1")
			r.must(r.store.SetPaused(r.Context(), r.cfg.Route, true, "ann"))
		}, 1},
		"in review": {counted(), func(r *rig) {
			r.sent("pi_1")
			r.sees()
			pass(time.Hour)
			r.observes(r.observer(), 1)
			r.stands("pi_1", intents.NeedsReview, 5, intents.ReasonUnseen)
			pass(time.Hour)
		}, 1},
		"settled at that look": {counted(), func(r *rig) { r.sent("pi_1") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.plan, func(r *rig) {
				tt.do(r)
				fact := intents.NotSeen
				if strings.HasPrefix(name, "settled") {
					fact = intents.Final
				}
				r.sees(intents.Observation{No: 1, Fact: fact, Resend: true})
				pass(5 * time.Second)
				_, err := r.observer().Observe(r.Context())
				r.must(err)
				if got := r.sender.submits(); got != tt.want {
					r.Errorf("%d calls on the wire, want %d", got, tt.want)
				}
			})
		})
	}
}

// Lower numbers go first, with a permit each, and a panic at one is an error of that one.
func TestObserveResendsInOrder(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		for i := range 3 {
			r.sent(fmt.Sprintf("pi_%d", i))
		}
		var order []int64
		r.sender.says(func(_ context.Context, _ *world, a intents.Attempt) intents.Result {
			order = append(order, a.Slot.Number)
			if a.Slot.Number == 8 {
				panic("blew up")
			}
			return intents.Result{Calm: time.Duration(a.Slot.Number) * time.Second}
		})
		r.sender.onObserve = func(ws []intents.Watch) (out []intents.Observation, _ error) {
			slices.Reverse(ws) // as if the last one were due first
			for _, w := range ws {
				out = append(out, intents.Observation{Slot: w.Slot, No: 1, Resend: true})
			}
			return out, nil
		}
		pass(5 * time.Second)
		_, err := r.observer().Observe(r.Context())
		if err == nil || !strings.Contains(err.Error(), "resend of") || !strings.Contains(err.Error(), "#8") {
			r.Errorf("error %v, want the panic at number 8", err)
		}
		if !slices.Equal(order, []int64{7, 8, 9}) {
			r.Errorf("sent in the order %v", order)
		}
	})
}

func TestObserveSurvivesAPanic(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		r.faults.on("record", blown)
		n := 0
		r.sender.onObserve = func(ws []intents.Watch) ([]intents.Observation, error) {
			if n++; n == 2 {
				return nil, errors.New("node away")
			}
			return []intents.Observation{{Slot: ws[0].Slot, No: 1, Fact: intents.Final}}, nil
		}
		ctx, stop := context.WithTimeout(r.Context(), time.Minute)
		defer stop()
		r.observer().Run(ctx)
		r.stands("pi_1", intents.Settled, 5, "")
		if !strings.Contains(r.logs.String(), "panic in a loop") || !strings.Contains(r.logs.String(), "observation put off") {
			r.Errorf("log: %s", r.logs)
		}
	})
}

// One slot at whose sight the sender panics does not keep the others from being observed, in the same look. It is not
// seen, and left alone for a minute.
func TestObservePanicOfOneSlot(t *testing.T) {
	for name, bad := range map[string][]int{"first": {0}, "in the middle": {4}, "last": {8}, "two": {2, 3}, "all": {0, 1, 2, 3, 4, 5, 6, 7, 8}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, keyed(), func(r *rig) {
				poison := map[string]bool{}
				for i := range 9 {
					id := fmt.Sprintf("pi_%d", i)
					r.sent(id)
					poison[id] = slices.Contains(bad, i)
				}
				r.panicsAt(poison)
				o := r.observer()
				r.observes(o, 9)
				for id, bad := range poison {
					if !bad {
						r.stands(id, intents.Settled, 5, "")
						continue
					}
					in := r.stands(id, intents.Confirming, 4, "")
					if wait := time.Until(in.WatchAt); wait < time.Minute-time.Millisecond || wait > time.Minute+time.Millisecond {
						r.Errorf("%s is looked at again in %s, want in a minute", id, wait)
					}
					if !strings.Contains(r.logs.String(), fmt.Sprintf(`"intent":%q,"err":"panic: no such receipt"`, id)) {
						r.Errorf("the log does not tell of %s", id)
					}
				}
				if n := strings.Count(r.logs.String(), "sender panics at a slot"); n != len(bad) {
					r.Errorf("logged %d times, want %d", n, len(bad))
				}
				for range 10 {
					r.observes(o, 0) // for 50 s
				}
				r.panicsAt(nil)
				pass(10 * time.Second)
				r.observes(o, len(bad))
				for id := range poison {
					r.stands(id, intents.Settled, 5, "")
				}
			})
		})
	}
}

// panicsAt has the sender panic at some intents and see the others settled.
func (r *rig) panicsAt(poison map[string]bool) {
	r.sender.onObserve = func(ws []intents.Watch) (out []intents.Observation, _ error) {
		for _, w := range ws {
			if poison[w.Intent.ID] {
				panic("no such receipt")
			}
			out = append(out, intents.Observation{Slot: w.Slot, No: 1, Fact: intents.Final})
		}
		return out, nil
	}
}

// A slot that is never seen for panics runs out of patience like any other.
func TestObservePanicOfOneSlotEndsWithAPerson(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		r.panicsAt(map[string]bool{"pi_1": true})
		pass(time.Hour)
		r.observes(r.observer(), 1)
		r.stands("pi_1", intents.NeedsReview, 5, intents.ReasonUnseen)
	})
}

// The other half cannot be asked: nothing of the look is written, and it is all looked at again.
func TestObservePanicAndAnErrorInOneLook(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		r.sent("pi_2")
		r.sender.onObserve = func(ws []intents.Watch) ([]intents.Observation, error) {
			if ws[0].Intent.ID == "pi_1" {
				panic("no such receipt")
			}
			return nil, errors.New("node away")
		}
		pass(5 * time.Second)
		o := r.observer()
		if n, err := o.Observe(r.Context()); n != 0 || err == nil || !strings.Contains(err.Error(), "node away") {
			r.Errorf("looked at %d, error %v", n, err)
		}
		if n := r.faults.count("record"); n != 0 {
			r.Errorf("recorded %d times", n)
		}
		r.panicsAt(nil)
		r.observes(o, 2)
		r.stands("pi_1", intents.Settled, 5, "")
		r.stands("pi_2", intents.Settled, 5, "")
	})
}

func TestObserveOnlyTheLeaderWorks(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		r.sees(intents.Observation{No: 1, Fact: intents.Pending})
		a, other := r.observer(), r.twin("w2")
		b := other.observer()
		r.observes(a, 1)
		r.observes(b, 0)
		pass(20 * time.Second)
		other.sees(intents.Observation{No: 1, Fact: intents.Pending})
		r.observes(b, 1)
		r.observes(a, 0)
	})
}

// Who stops lets the next one lead at once: a deploy is no pause in watching.
func TestObserverHandsOverWhenItStops(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sent("pi_1")
		r.sees(intents.Observation{No: 1, Fact: intents.Pending})
		other := r.twin("w2")
		ctx, stop := context.WithTimeout(r.Context(), time.Second)
		defer stop()
		r.observer().Run(ctx)
		other.sees(intents.Observation{No: 1, Fact: intents.Pending})
		other.observes(other.observer(), 1)
	})
}

// Many wait, and few fit into one look: all have their turn.
func TestObserveGivesEverySlotItsTurn(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		for i := range 10 {
			r.sent(fmt.Sprintf("pi_%d", i))
		}
		seen := map[string]int{}
		r.sender.onObserve = func(ws []intents.Watch) ([]intents.Observation, error) {
			for _, w := range ws {
				seen[w.Intent.ID]++
			}
			return nil, nil // and asks for no next look
		}
		ctx, stop := context.WithTimeout(r.Context(), 10*time.Second)
		defer stop()
		r.observer().Run(ctx)
		if len(seen) != 10 {
			r.Errorf("only %v were looked at", seen)
		}
	}, config(func(c *relayer.Config) { c.ObserveMost = 4 }))
}

// Reads have a share of the rate, and wait for it; so do the attempts an observer adds.
func TestObserveDrawsFromItsShare(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.sent("pi_1")
		pass(5 * time.Second)
		r.sees(intents.Observation{No: 1, Fact: intents.Pending, Want: intents.Bump})
		o := r.observer()
		start := time.Now()
		_, err := o.Observe(r.Context())
		r.must(err)
		if took := time.Since(start); took != 2*time.Second {
			r.Errorf("a look and an attempt at one read in two seconds took %s", took)
		}
		if s := r.throttle.State(); s.Tokens != 1 {
			r.Errorf("sends lost a token: %+v", s)
		}
	}, throttled(relayer.ThrottleConfig{PerSecond: 1, Burst: 1, InFlight: 4, ReadShare: 0.5}))
}

// notebook keeps what would be recorded.
type notebook struct {
	relayer.Witness
	ws  []intents.Watch
	got []intents.Observation
}

func (n *notebook) Watches(context.Context, string, int) ([]intents.Watch, error) { return n.ws, nil }

func (n *notebook) Record(_ context.Context, ws []intents.Watch, os []intents.Observation, _ intents.Patience) ([]intents.Intent, error) {
	n.got = os
	return make([]intents.Intent, len(ws)), nil
}

func TestObserveTakesTheStrongestOfASlot(t *testing.T) {
	type ob = intents.Observation
	dead, pending := ob{No: 1, Fact: intents.Dead}, ob{No: 2, Fact: intents.Pending}
	for name, tt := range map[string]struct {
		attempts int
		seen     []ob
		want     ob
	}{
		"nothing":                          {1, nil, ob{}},
		"not seen":                         {1, []ob{{No: 1, After: time.Minute}}, ob{No: 1, After: time.Minute}},
		"final before all":                 {3, []ob{dead, {No: 2, Fact: intents.Reverted}, {No: 3, Fact: intents.Final, Ref: "x"}, pending}, ob{No: 3, Fact: intents.Final, Ref: "x"}},
		"reverted before included":         {2, []ob{{No: 1, Fact: intents.Included}, {No: 2, Fact: intents.Reverted}}, ob{No: 2, Fact: intents.Reverted}},
		"included before pending":          {2, []ob{pending, {No: 1, Fact: intents.Included}}, ob{No: 1, Fact: intents.Included}},
		"life before death":                {2, []ob{dead, pending}, pending},
		"life before death of the slot":    {2, []ob{{Fact: intents.Dead}, pending}, pending},
		"the slot is dead":                 {2, []ob{{Fact: intents.Dead}}, ob{Fact: intents.Dead}},
		"the only attempt is dead":         {1, []ob{dead}, ob{Fact: intents.Dead}},
		"one of two is dead":               {2, []ob{dead}, ob{}},
		"one of two is dead, other unseen": {2, []ob{dead, {No: 2}}, ob{}},
		"one of two is dead, told twice":   {2, []ob{dead, dead}, ob{}},
		"both are dead":                    {2, []ob{dead, {No: 2, Fact: intents.Dead}}, ob{Fact: intents.Dead}},
		"an attempt nobody knows is dead":  {0, []ob{dead}, ob{}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, keyed(), func(r *rig) {
				mine, foreign := intents.Slot{ID: 7}, intents.Slot{ID: 8}
				book := &notebook{ws: []intents.Watch{{Slot: mine}}}
				for i := range tt.attempts {
					book.ws[0].Attempts = append(book.ws[0].Attempts, intents.Attempt{No: i + 1})
				}
				r.sender.onObserve = func([]intents.Watch) ([]intents.Observation, error) {
					out := []ob{{Slot: foreign, No: 1, Fact: intents.Final}}
					for _, o := range tt.seen {
						o.Slot = mine
						out = append(out, o)
					}
					return out, nil
				}
				o := relayer.NewObserver(r.cfg, r.faults, book, r.faults, r.sender, r.throttle)
				_, err := o.Observe(r.Context())
				r.must(err)
				tt.want.Slot, tt.want.Of = mine, tt.attempts
				if tt.want.After == 0 {
					tt.want.After = relayer.DefaultObserveEvery
				}
				if len(book.got) != 1 || fmt.Sprintf("%+v", book.got[0]) != fmt.Sprintf("%+v", tt.want) {
					r.Errorf("recorded %+v, want %+v", book.got, tt.want)
				}
			})
		})
	}
}
