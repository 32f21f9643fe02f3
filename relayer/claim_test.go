package relayer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// claimTerm is how long a claim of the tests' rigs runs, lapse a wait after which it is over: the model store's clock is
// some microseconds ahead, since it never tells the same time twice.
const (
	claimTerm = 35 * time.Second
	lapse     = claimTerm + time.Millisecond
)

// crash claims an intent and ends its process at once: the claim runs on, without a word.
func (r *rig) crash(id string) intents.Intent {
	r.Helper()
	r.faults.on("claim", diesAfter)
	r.killed(ref(id))
	return r.get(id)
}

func TestRowClaimKeySlot(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(during(func() {
			in := r.stands("pi_1", intents.Settling, 3, "")
			as, err := r.store.Attempts(r.Context(), "pi_1")
			r.must(err)
			if len(as) != 1 || as[0].No != 1 || as[0].Kind != intents.First || r.faults.count("attach") != 0 {
				r.Errorf("bytes of the claim's commit: %+v", as)
			}
			if in.Slot.Name != "pi_1" || in.Slot.Kind != intents.Key || in.Calls != 1 || in.Silent != 1 {
				r.Errorf("claimed: %+v", in)
			}
			r.near("end of the claim", in.ClaimUntil, claimTerm)
			r.holds(100)
		}, accepted))
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1, "pi_1")
		in := r.stands("pi_1", intents.Confirming, 4, "")
		if in.Silent != 0 || in.ClaimID != "" {
			r.Errorf("claim is not ended: %+v", in)
		}
	})
}

// Preparing comes before the claim, outside of it: whoever prepares for long has written nothing.
func TestRowClaimKeySlotPreparesFirst(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPrepare = func(context.Context, intents.Kind) error { r.stands("pi_1", intents.Authorized, 2, ""); return nil }
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1, "pi_1")
	})
}

func TestRowClaimCounterSlot(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPrepare = func(context.Context, intents.Kind) error {
			in := r.stands("pi_1", intents.Settling, 3, "")
			if in.Slot.Number != 7 || in.Stored != 0 {
				r.Errorf("claimed: %+v", in)
			}
			r.holds(103)
			return nil
		}
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1, "pi_1")
		r.stands("pi_1", intents.Confirming, 4, "")
		r.holds(103)
	})
}

// Case 107: cancel races the send. Before the claim it is certain.
func TestRowClaimLostToCancelCase107(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("claim", first(func() { _, err := r.store.Cancel(r.Context(), "pi_1", "tester"); r.must(err) }))
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Canceled, 3, intents.ReasonOperator)
		r.wire(0)
		r.holds(0)
	})
}

// Case 107: after the claim it is refused, and changes nothing.
func TestRowClaimBeforeCancelCase107(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(during(func() {
			if _, err := r.store.Cancel(r.Context(), "pi_1", "tester"); err == nil {
				r.Error("canceled while it was sent")
			}
		}, accepted))
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Confirming, 4, "")
		r.wire(1, "pi_1")
	})
}

// Case 107: all interleavings that two goroutines find: canceled and never sent, or sent and not canceled.
func TestRowClaimAndCancelAtOnceCase107(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			r.create(id)
			var both sync.WaitGroup
			var refused error
			both.Go(func() { r.finished(r.deliver(ref(id))) })
			both.Go(func() { _, refused = r.store.Cancel(r.Context(), id, "tester") })
			both.Wait()
			in := r.get(id)
			sent := len(r.world.bytes(id))
			if (refused == nil) != (in.State == intents.Canceled) || (refused == nil) != (sent == 0) {
				r.Errorf("%s: cancel said %v, it is %s, sent %d times", id, refused, in.State, sent)
			}
		}
	})
}

func TestRowClaimLostReadAgain(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		other := r.twin("w2")
		r.faults.on("claim", first(func() { other.finished(other.deliver(ref("pi_1"))) }))
		r.finished(r.deliver(ref("pi_1")))
		if n := r.faults.count("take"); n != 2 {
			r.Errorf("read %d times, want 2", n)
		}
		r.wire(0, "pi_1")
		other.wire(1, "pi_1")
		r.counts(relayer.Stats{})
		r.stands("pi_1", intents.Confirming, 4, "")
	})
}

func TestRowClaimLostAgainAndAgain(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("claim", times(3, moved)...)
		r.requeued(r.deliver(ref("pi_1")), time.Second)
		if n := r.faults.count("take"); n != 3 {
			r.Errorf("read %d times, want 3", n)
		}
		r.wire(0)
	})
}

// A permit whose claim lost the race goes to the next waiter at once.
func TestRowClaimLostReturnsItsPermit(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.create("pi_2")
		r.faults.on("claim", first(func() { _, err := r.store.Cancel(r.Context(), "pi_1", "tester"); r.must(err) }))
		r.finished(r.deliver(ref("pi_1")))
		start := time.Now()
		r.finished(r.deliver(ref("pi_2")))
		if waited := time.Since(start); waited != 0 {
			r.Errorf("the next one waited %s for a token nobody used", waited)
		}
		r.wire(1, "pi_2")
	}, slow(time.Minute))
}

func TestRowInsufficientFunds(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.credit(102) // one less than amount and cost
		r.create("pi_1")
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Failed, 3, intents.ReasonFunds)
		r.tells("pi_1", "created authorized failed")
		r.wire(0)
		r.holds(0)
	})
}

// credit posts to the tests' account, which must cover what is held from then on.
func (r *rig) credit(units int64) {
	r.Helper()
	_, err := r.store.Credit(r.Context(), intents.Entry{Account: "acct", Asset: "EUR", Amount: intents.NewAmount(units), Ref: r.Name() + time.Now().String()})
	r.must(err)
}

func TestRowInsufficientFundsWaits(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.credit(102)
		r.create("pi_1")
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Authorized, 2, "")
		r.near("due", in.DueAt, time.Minute)
		r.wire(0)
		pass(time.Second)
		r.credit(1)
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1, "pi_1")
	}, config(func(c *relayer.Config) { c.WaitForFunds = true }))
}

func TestRowClaimAnswerLost(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("claim", lost)
		r.left(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Settling, 3, "") // the write had been made
		r.wire(0)
		r.counts(relayer.Stats{Retry: 1})
		r.finished(r.deliver(ref("pi_1"))) // comes again: a claim still runs
		r.wire(0)
		pass(lapse)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Confirming, 5, "")
		r.wire(1, "pi_1")
		r.counts(relayer.Stats{Retry: 1, Sent: 1})
	})
}

func TestRowClaimAnswerLostNothingWritten(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("claim", unsure)
		r.left(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Authorized, 2, "")
		r.counts(relayer.Stats{Retry: 1})
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1, "pi_1")
		r.counts(relayer.Stats{Retry: 1, Sent: 1})
	})
}

// Case 18: a slow handler times out and the second delivery runs beside the first.
func TestRowAClaimStillRunsCase18(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		other := r.twin("w2")
		r.sender.says(after(5*time.Second, happened))
		begun := r.start(ref("pi_1"))
		pass(2 * time.Second)
		other.finished(other.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Settling, 3, "")
		if d := in.DueAt.Sub(in.ClaimUntil); d < 0 || d > time.Millisecond {
			r.Errorf("due %s after the claim's end", d)
		}
		other.counts(relayer.Stats{})
		r.finished(<-begun)
		r.stands("pi_1", intents.Settled, 4, "")
		r.wire(1, "pi_1")
		other.wire(0, "pi_1")
	})
}

func TestRowTakeOver(t *testing.T) {
	for name, plan := range map[string]intents.Plan{"key": keyed(), "counter": counted()} {
		t.Run(name, func(t *testing.T) {
			bubble(t, plan, func(r *rig) {
				r.create("pi_1")
				r.sender.says(killedAfter)
				r.killed(ref("pi_1"))
				before := r.stands("pi_1", intents.Settling, 3, "")
				other := r.twin("w2")
				pass(lapse)
				other.sender.says(during(func() {
					in := r.stands("pi_1", intents.Settling, 4, "")
					if in.ClaimID == before.ClaimID || in.Slot != before.Slot || in.Calls != 2 {
						r.Errorf("taken over: %+v", in)
					}
					if s := other.throttle.State(); s.InFlight != 1 {
						r.Errorf("taken over without a permit: %+v", s)
					}
				}, accepted))
				other.finished(other.deliver(ref("pi_1")))
				r.stands("pi_1", intents.Confirming, 5, "")
				other.wire(1, "pi_1")
				if sent := r.world.bytes("pi_1"); len(sent) != 2 || sent[0] != sent[1] {
					r.Errorf("the bytes differ: %q", sent)
				}
				r.tells("pi_1", "created authorized settling settling confirming")
			})
		})
	}
}

func TestRowTakeOverNotBeforeItsTime(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(silence)
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Settling, 4, "") // due in two seconds
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1)
		if got := r.get("pi_1").DueAt; got.Before(in.TryAt) {
			r.Errorf("due %s before it may be tried", in.TryAt.Sub(got))
		}
		pass(3 * time.Second)
		r.sender.says(accepted)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Confirming, 6, "")
	})
}

func TestRowTakeOverPausedCase31(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.crash("pi_1")
		pass(lapse)
		r.must(r.store.SetPaused(r.Context(), "payouts", true, "tester"))
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Settling, 3, "")
		r.wire(0)
	})
}

func TestRowTakeOverWithoutPermit(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.crash("pi_1")
		pass(lapse)
		r.throttle.Calm(5 * time.Minute)
		r.requeued(r.deliver(ref("pi_1")), 5*time.Minute)
		r.stands("pi_1", intents.Settling, 3, "")
		r.wire(0)
	})
}

func TestRowTakeOverRace(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.crash("pi_1")
		pass(lapse)
		other := r.twin("w2")
		r.sender.says(after(time.Second, accepted))
		other.sender.says(after(time.Second, accepted))
		a, b := r.start(ref("pi_1")), other.start(ref("pi_1"))
		r.finished(<-a)
		r.finished(<-b)
		if n := r.sender.submits() + other.sender.submits(); n != 1 {
			r.Errorf("%d calls on the wire, want 1", n)
		}
		r.stands("pi_1", intents.Confirming, 5, "")
	})
}

func TestRowFifthSilentClaim(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		for n := range intents.MostSilent {
			in := r.crash("pi_1")
			if in.Version != 3+n || in.Silent != n+1 {
				r.Fatalf("claim %d: v%d, %d silent", n+1, in.Version, in.Silent)
			}
			pass(lapse)
		}
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.NeedsReview, 8, intents.ReasonSilent)
		if in.Slot.Name != "pi_1" || in.WatchAt.IsZero() {
			r.Errorf("slot and watching go on in review: %+v", in)
		}
		r.holds(100)
		r.wire(0)
		if s := r.throttle.State(); s.InFlight != 0 {
			r.Errorf("throttle: %+v", s)
		}
	})
}

func TestRowAWordEndsTheSilence(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		for range intents.MostSilent - 1 {
			r.crash("pi_1")
			pass(lapse)
		}
		r.sender.says(silence)
		r.finished(r.deliver(ref("pi_1")))
		if in := r.stands("pi_1", intents.Settling, 8, ""); in.Silent != 0 {
			r.Errorf("%d silent after an answer", in.Silent)
		}
	})
}

// It expired before bytes existed: nothing has left, so nothing needs to. Its number is filled.
func TestRowTakeOverExpiredBeforeBytes(t *testing.T) {
	for name, begin := range map[string]func(r *rig) (version int){
		"prepare says not now": func(r *rig) int {
			r.sender.onPrepare = func(context.Context, intents.Kind) error { return errors.New("signer away") }
			r.finished(r.deliver(ref("pi_1")))
			return 4
		},
		"its worker died": func(r *rig) int { r.crash("pi_1"); return 3 },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, counted(), func(r *rig) {
				r.create("pi_1", expires(8*time.Second))
				version := begin(r)
				r.sender.onPrepare = nil
				had := r.stands("pi_1", intents.Settling, version, "")
				r.holds(103)
				pass(lapse)
				r.finished(r.deliver(ref("pi_1")))
				in := r.stands("pi_1", intents.Failed, version+1, intents.ReasonExpired)
				if in.Slot != had.Slot || !in.DueAt.IsZero() {
					r.Errorf("failed: %+v", in)
				}
				r.holds(0)
				r.wire(0)
				if s := r.throttle.State(); s.InFlight != 0 {
					r.Errorf("permit is out: %+v", s)
				}
				ws, err := r.store.Watches(r.Context(), "payouts", 10)
				r.must(err)
				if len(ws) != 1 || ws[0].Slot != had.Slot || ws[0].Intent.ID != "" || len(ws[0].Attempts) != 0 {
					r.Fatalf("the number is not to be filled: %+v", ws)
				}
				r.fillsSlots()
				o := r.observer()
				r.observes(o, 1)
				r.observes(o, 1)
				r.observes(o, 0)
				r.wire(1, "filler")
				r.stands("pi_1", intents.Failed, version+1, intents.ReasonExpired)
			})
		})
	}
}

// With bytes stored it may have left: it is seen to its end.
func TestRowTakeOverExpiredWithBytes(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1", expires(8*time.Second))
		r.faults.on("attach", diesAfter)
		r.killed(ref("pi_1"))
		pass(lapse)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Confirming, 5, "")
		r.wire(1, "pi_1")
	})
}

func TestRowMustNotBeSentAgain(t *testing.T) {
	bubble(t, blind(), func(r *rig) {
		r.create("pi_1")
		r.crash("pi_1")
		pass(lapse)
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Settling, 3, "")
		if in.WatchAt.After(time.Now().Add(time.Second)) || in.DueAt.Before(time.Now()) {
			r.Errorf("watch at %s, due at %s", in.WatchAt, in.DueAt)
		}
		r.wire(0)
	})
}

// Bytes that may be sent for an hour are not sent after it, by the store's clock.
func TestRowMustNotBeSentAgainAfterRetention(t *testing.T) {
	plan := keyed()
	plan.Again = intents.For(time.Hour)
	bubble(t, plan, func(r *rig) {
		r.create("pi_1")
		r.sender.says(silence)
		r.finished(r.deliver(ref("pi_1")))
		pass(time.Hour - time.Second)
		r.finished(r.deliver(ref("pi_1")))
		r.wire(2)
		pass(time.Hour)
		r.finished(r.deliver(ref("pi_1")))
		r.wire(2)
	})
}

// A worker whose reading is old asks for a claim it must not have: the store says no.
func TestRowMustNotBeSentAgainIsTheStoresWord(t *testing.T) {
	bubble(t, blind(), func(r *rig) {
		r.create("pi_1")
		r.crash("pi_1")
		pass(lapse)
		r.faults.show = func(in *intents.Intent) { in.AgainUntil = time.Now().Add(time.Hour) }
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Settling, 3, "")
		r.wire(0)
	})
}

// The other way round: by the reader's clock it must not be sent, by the store's it may. Asking for the decision got a
// claim, which is ended without a call.
func TestRowMustNotBeSentAgainByAnOldReading(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.crash("pi_1")
		pass(lapse)
		r.faults.show = func(in *intents.Intent) { in.AgainUntil = time.Time{} }
		r.finished(r.deliver(ref("pi_1")))
		r.faults.show = nil
		in := r.stands("pi_1", intents.Settling, 5, "")
		if in.ClaimID != "" || in.TryAt.IsZero() {
			r.Errorf("claim is not ended: %+v", in)
		}
		r.wire(0)
	})
}
