package relayer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// Somebody stored bytes first: those are sent, whoever prepared others.
func TestRowAttachFirstStoredWins(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		other := r.twin("w2")
		r.faults.on("attach", first(func() {
			in := r.get("pi_1")
			a, err := other.sender.Prepare(r.Context(), in, in.Slot, intents.First, nil)
			r.must(err)
			a.No, a.Kind = 1, intents.First
			_, err = r.store.Attach(r.Context(), a)
			r.must(err)
		}))
		r.finished(r.deliver(ref("pi_1")))
		if sent := r.world.bytes("pi_1"); len(sent) != 1 || sent[0] != "pi_1|w2|first|1" {
			r.Errorf("sent %q, want what w2 stored", sent)
		}
		r.wire(1, "pi_1")
	})
}

// The claim of a dead worker left a number without bytes: the next one makes them, in the same slot.
func TestRowAttachAfterTakeOver(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		had := r.crash("pi_1")
		pass(lapse)
		r.finished(r.deliver(ref("pi_1")))
		if in := r.stands("pi_1", intents.Confirming, 5, ""); in.Slot != had.Slot || in.Slot.Number != 7 {
			r.Errorf("slot %s, had %s", in.Slot, had.Slot)
		}
		r.wire(1, "pi_1")
	})
}

func TestRowAttachSlotIsClosed(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("attach", func(context.Context, func() error) error { return intents.ErrSlotClosed })
		r.finished(r.deliver(ref("pi_1")))
		r.wire(0)
		r.stands("pi_1", intents.Settling, 4, "")
		if d := r.lastDetail("pi_1"); !strings.Contains(d, "attach") {
			r.Errorf("detail: %s", d)
		}
	})
}

// The slot was proved dead while its first owner prepared: what it brings can be stored nowhere, and is not sent.
func TestRowAttachMeetsALostSlot(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		other := r.twin("w2")
		r.sender.onPrepare = func(context.Context, intents.Kind) error {
			pass(lapse) // far too long
			other.sender.onPrepare = func(context.Context, intents.Kind) error { return &intents.RefusedError{Why: "never"} }
			other.finished(other.deliver(ref("pi_1")))
			return nil
		}
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Failed, 5, intents.ReasonRefused)
		r.wire(0)
		r.holds(0)
	})
}

func TestRowAttachCannotBeWritten(t *testing.T) {
	for name, f := range map[string]fault{"unavailable": down, "stalled": stalls, "refused": spoilt} {
		t.Run(name, func(t *testing.T) {
			bubble(t, counted(), func(r *rig) {
				r.create("pi_1")
				r.faults.on("attach", f)
				r.finished(r.deliver(ref("pi_1")))
				r.notAttached("pi_1", 4)
				r.counts(relayer.Stats{Retry: 1})
				pass(3 * time.Second)
				r.finished(r.deliver(ref("pi_1")))
				if in := r.stands("pi_1", intents.Confirming, 6, ""); in.Slot.Number != 7 {
					r.Errorf("it used number %d, want the one claimed first", in.Slot.Number)
				}
				r.wire(1, "pi_1")
				r.counts(relayer.Stats{Retry: 1, Sent: 1})
			})
		})
	}
}

// notAttached wants a claim that was ended because nothing was stored: nothing can have left.
func (r *rig) notAttached(id string, version int) {
	r.Helper()
	in := r.stands(id, intents.Settling, version, "")
	if in.ClaimID != "" || in.Stored != 0 || in.Calls != 0 || in.Silent != 0 || !in.TryAt.Equal(in.DueAt) || !in.WatchAt.IsZero() {
		r.Errorf("claim is not ended as not sent: %+v", in)
	}
	r.near("due", in.DueAt, 2*time.Second)
	if d := r.lastDetail(id); !strings.Contains(d, `"step":"attach"`) {
		r.Errorf("detail: %s", d)
	}
	r.holds(103)
	r.wire(0)
}

// The store is away longer than the attach: the claim is ended once it is back.
func TestRowAttachCannotBeWrittenNorItsEnd(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("attach", down)
		r.faults.on("complete", times(3, down)...)
		r.finished(r.deliver(ref("pi_1")))
		r.notAttached("pi_1", 4)
		r.counts(relayer.Stats{Retry: 1})
	})
}

// An outage at attach is no silence: however often it meets one, no person needs to look.
func TestRowAttachCannotBeWrittenAgainAndAgain(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		for n := range intents.MostSilent + 1 {
			r.faults.on("attach", down)
			r.finished(r.deliver(ref("pi_1")))
			r.notAttached("pi_1", 4+2*n)
			pass(3 * time.Second)
		}
		r.counts(relayer.Stats{Retry: intents.MostSilent + 1})
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Confirming, 4+2*(intents.MostSilent+1), "")
		r.wire(1, "pi_1")
	})
}

// Nobody knows whether bytes are stored: as after a crash the message is left, and the claim ends by itself.
func TestRowAttachAnswerLost(t *testing.T) {
	for name, tt := range map[string]struct {
		fault  fault
		stored int
	}{"written": {lost, 1}, "not written": {unsure, 0}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, counted(), func(r *rig) {
				r.create("pi_1")
				r.faults.on("attach", tt.fault)
				r.left(r.deliver(ref("pi_1")))
				in := r.stands("pi_1", intents.Settling, 3, "")
				if in.ClaimID == "" || in.Silent != 1 || in.Stored != tt.stored {
					r.Errorf("the claim runs on: %+v", in)
				}
				r.wire(0)
				r.counts(relayer.Stats{Retry: 1})
				pass(lapse)
				r.finished(r.deliver(ref("pi_1")))
				r.stands("pi_1", intents.Confirming, 5, "")
				if sent := r.world.bytes("pi_1"); len(sent) != 1 || (sent[0] == "pi_1|w1|first|1") != (tt.stored == 1) {
					r.Errorf("sent %q, want what was stored first", sent)
				}
				r.wire(1, "pi_1")
			})
		})
	}
}

func TestRowPrepareSaysNotNowInTheClaim(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPrepare = func(context.Context, intents.Kind) error { return errors.New("signer away") }
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Settling, 4, "")
		r.near("due", in.DueAt, 10*time.Second)
		if in.ClaimID != "" || in.Calls != 0 || in.Silent != 0 {
			r.Errorf("claim is not ended: %+v", in)
		}
		r.holds(103)
		r.wire(0)
		r.counts(relayer.Stats{Retry: 1})
		r.sender.onPrepare = nil
		pass(13 * time.Second)
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1, "pi_1")
	})
}

func TestRowPrepareRefusesInTheClaim(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.sender.onPrepare = func(context.Context, intents.Kind) error { return &intents.RefusedError{Why: "never"} }
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Failed, 4, intents.ReasonRefused)
		r.holds(0)
		r.wire(0)
		ws, err := r.store.Watches(r.Context(), "payouts", 10)
		r.must(err)
		if len(ws) != 1 || ws[0].Slot.Number != 7 || ws[0].Intent.ID != "" {
			r.Errorf("the number is not to be filled: %+v", ws)
		}
		r.counts(relayer.Stats{})
	})
}

// After a bump the last bytes stored are the ones to send again.
func TestRowSubmitSendsTheLastAttempt(t *testing.T) {
	bubble(t, counted(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(silence)
		r.finished(r.deliver(ref("pi_1")))
		r.sees(intents.Observation{Want: intents.Bump})
		r.observes(r.observer(), 1)
		r.sender.says(accepted)
		r.finished(r.deliver(ref("pi_1")))
		if sent := r.world.bytes("pi_1"); len(sent) != 1 || sent[0] != "pi_1|w1|bump|2" {
			r.Errorf("sent %q", sent)
		}
		r.stands("pi_1", intents.Confirming, 6, "")
	})
}

// The place in flight is free when the call returns, not when its result is written; the token is used up.
func TestRowSubmitGivesItsPlaceBack(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.create("pi_2")
		r.faults.on("complete", times(30, down)...)
		begun := r.start(ref("pi_1"))
		pass(10 * time.Second)
		if s := r.throttle.State(); s.InFlight != 0 || s.Tokens > 1.1 {
			r.Errorf("while the result is written: %+v", s)
		}
		second := r.start(ref("pi_2"))
		pass(time.Second)
		r.wire(2, "pi_1", "pi_2")
		r.finished(<-begun)
		r.finished(<-second)
		if s := r.throttle.State(); s.Tokens > 0.1 {
			r.Errorf("at the end: %+v", s)
		}
	}, throttled(relayer.ThrottleConfig{PerSecond: rate.Every(time.Hour), Burst: 2, InFlight: 1}))
}

func TestRowAccepted(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Confirming, 4, "")
		if in.Ref != "ref-1" || in.WatchAt.IsZero() {
			r.Errorf("ref %q, watch at %s", in.Ref, in.WatchAt)
		}
		r.tells("pi_1", "created authorized settling confirming")
		r.holds(100)
		r.wire(1, "pi_1")
		r.counts(relayer.Stats{Sent: 1})
	})
}

func TestRowDone(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(happened)
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Settled, 4, "")
		if in.Ref != "ref-1" || !in.DueAt.IsZero() || !in.WatchAt.IsZero() {
			r.Errorf("%+v", in)
		}
		r.holds(0)
		r.counts(relayer.Stats{Sent: 1})
	})
}

// A fact is true whoever brings it: late, under another's claim.
func TestRowAcceptedUnderAnothersClaim(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		other := r.twin("w2")
		r.sender.says(after(lapse+time.Second, accepted)) // it does not mind being cut
		late := r.start(ref("pi_1"))
		pass(lapse)
		other.sender.says(after(5*time.Second, silence))
		second := other.start(ref("pi_1"))
		r.finished(<-late)
		r.stands("pi_1", intents.Confirming, 5, "")
		other.finished(<-second) // its permission is void, its evidence is kept
		r.stands("pi_1", intents.Confirming, 5, "")
		r.tells("pi_1", "created authorized settling settling confirming (evidence)")
		r.counts(relayer.Stats{Sent: 1})
		r.effects("pi_1")
	})
}

func TestRowDoneFromReview(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		other := r.twin("w2")
		r.sender.says(after(6*claimTerm, happened))
		late := r.start(ref("pi_1"))
		pass(lapse)
		for range intents.MostSilent - 1 {
			other.crash("pi_1")
			pass(lapse)
		}
		other.finished(other.deliver(ref("pi_1")))
		r.stands("pi_1", intents.NeedsReview, 8, intents.ReasonSilent)
		r.finished(<-late)
		r.stands("pi_1", intents.Settled, 9, "")
		r.holds(0)
	})
}

// Not sent, said the sender twice, so it was let go. Then an answer to the first call comes after all.
func TestRowDoneAfterItWasLetGo(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		other := r.twin("w2")
		var earlier intents.Claimed
		r.sender.says(during(func() { earlier = intents.Claimed{Intent: r.get("pi_1")} }, notSent))
		r.finished(r.deliver(ref("pi_1")))
		pass(3 * time.Second)
		other.sender.says(notSent)
		other.finished(other.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Authorized, 6, "")
		r.holds(0)

		in, err := r.store.Complete(r.Context(), earlier, intents.Result{Verdict: intents.Done, Ref: "late", Evidence: []byte(`{"status":200}`)})
		r.must(err)
		if in.Version != 7 || in.Ref != "late" {
			r.Errorf("v%d, ref %q", in.Version, in.Ref)
		}
		events, err := r.store.Events(r.Context(), "pi_1")
		if r.must(err); events[len(events)-1].ClaimID != earlier.Intent.ClaimID {
			r.Errorf("the timeline does not tell whose answer it was: %+v", events[len(events)-1])
		}
		for _, said := range []intents.Result{{Verdict: intents.Done, Ref: "late"}, {Verdict: intents.Accepted, Ref: "late"}} { // again
			in, err := r.store.Complete(r.Context(), earlier, said)
			if r.must(err); in.State != intents.NeedsReview || in.Version != 7 {
				r.Errorf("said again: %s v%d", in.State, in.Version)
			}
		}
		r.neverSentAgain(7)
		r.sees(intents.Observation{No: 1, Fact: intents.Dead}) // a proof against a proof: still a person's
		pass(intents.MostRetry)
		r.observes(r.observer(), 1)
		r.stands("pi_1", intents.NeedsReview, 7, intents.ReasonOddity)
		r.holds(100)
		r.wire(1)
		other.wire(1)
	})
}

// neverSentAgain wants an intent that a late answer brought to a person to stay with him, whoever comes.
func (r *rig) neverSentAgain(version int) {
	r.Helper()
	r.sees()
	var box outbox
	s, o := r.sweeper(&box), r.observer()
	for range 4 {
		r.stands("pi_1", intents.NeedsReview, version, intents.ReasonOddity)
		if d := r.lastDetail("pi_1"); d != `{"status":200}` {
			r.Errorf("evidence: %s", d)
		}
		calls := r.sender.submits()
		r.finished(r.deliver(ref("pi_1")))
		r.sweeps(s, 0)
		_, err := o.Observe(r.Context())
		r.must(err)
		if n := r.sender.submits() - calls; n != 0 {
			r.Errorf("sent %d times more", n)
		}
		pass(15 * time.Minute)
	}
}

// The slot was proved dead while the call was out. The call comes back and says that it happened.
func TestRowDoneAfterItWasProvedDead(t *testing.T) {
	for name, plan := range map[string]intents.Plan{"key": keyed(), "counter": counted()} {
		t.Run(name, func(t *testing.T) {
			bubble(t, plan, func(r *rig) {
				r.create("pi_1")
				other := r.twin("w2")
				r.sender.says(after(lapse+20*time.Second, happened), panics)
				late := r.start(ref("pi_1"))
				pass(lapse)
				other.sender.says(silence)
				other.finished(other.deliver(ref("pi_1")))
				r.sees(intents.Observation{No: 1, Fact: intents.Dead})
				r.observes(r.observer(), 1)
				r.stands("pi_1", intents.Authorized, 6, "")
				r.holds(0)
				r.finished(<-late)
				r.counts(relayer.Stats{Sent: 1})
				if in := r.get("pi_1"); in.Ref != "ref-1" || in.Slot.Kind != intents.NoSlot {
					r.Errorf("ref %q, slot %s", in.Ref, in.Slot)
				}
				r.neverSentAgain(7)
				r.holds(100)
				r.wire(1, "pi_1")
				other.wire(1, "pi_1")
			})
		})
	}
}

func TestRowNotSentKeySlotFirstClaim(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(notSent)
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Authorized, 4, "")
		if in.Slot.Name != "pi_1" || in.Stored != 1 || in.Calls != 0 {
			r.Errorf("key and bytes are not kept: %+v", in)
		}
		r.near("due", in.DueAt, 2*time.Second)
		r.holds(0)
		r.wire(1)
		r.counts(relayer.Stats{Retry: 1})

		pass(3 * time.Second)
		r.sender.says(accepted)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Confirming, 6, "")
		if sent := r.world.bytes("pi_1"); len(sent) != 1 || sent[0] != "pi_1|w1|first|1" {
			r.Errorf("sent %q, want the bytes stored first", sent)
		}
		r.holds(100)
	})
}

// What was let go may still be canceled: nobody holds bytes that could take effect.
func TestRowNotSentThenCanceled(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(notSent)
		r.finished(r.deliver(ref("pi_1")))
		_, err := r.store.Cancel(r.Context(), "pi_1", "tester")
		r.must(err)
		pass(3 * time.Second)
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1)
		r.stands("pi_1", intents.Canceled, 5, intents.ReasonOperator)
	})
}

func TestRowNotSentElse(t *testing.T) {
	for name, tt := range map[string]struct {
		plan    intents.Plan
		answers []answer
		version int
		held    int64
	}{
		"counter slot":        {counted(), []answer{notSent}, 4, 103},
		"key slot, not first": {keyed(), []answer{silence, notSent}, 6, 100},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.plan, func(r *rig) {
				r.create("pi_1")
				r.sender.says(tt.answers...)
				for range tt.answers {
					r.finished(r.deliver(ref("pi_1")))
					pass(5 * time.Second)
				}
				in := r.stands("pi_1", intents.Settling, tt.version, "")
				if in.ClaimID != "" || in.DueAt.IsZero() || in.Stored != 1 {
					r.Errorf("%+v", in)
				}
				r.holds(tt.held)
				r.wire(len(tt.answers))
				r.counts(relayer.Stats{Retry: int64(len(tt.answers))})

				slot := in.Slot
				r.sender.says(accepted)
				r.finished(r.deliver(ref("pi_1")))
				if in := r.stands("pi_1", intents.Confirming, tt.version+2, ""); in.Slot != slot {
					r.Errorf("slot %s, had %s", in.Slot, slot)
				}
				r.effects("pi_1")
				if sent := r.world.bytes("pi_1"); sent[0] != "pi_1|w1|first|1" {
					r.Errorf("sent %q, want the bytes stored first", sent)
				}
			})
		})
	}
}

func TestRowDeclinedByTheFirstCallEver(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(declined)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Failed, 4, intents.ReasonDeclined)
		if d := r.lastDetail("pi_1"); d != `{"status":422}` {
			r.Errorf("detail: %s", d)
		}
		r.holds(0)
		r.wire(1)
		r.counts(relayer.Stats{})
	})
}

// After a call that was proved not sent, the next one is the first that was ever made.
func TestRowDeclinedAfterNotSent(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(notSent, declined)
		r.finished(r.deliver(ref("pi_1")))
		pass(3 * time.Second)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Failed, 6, intents.ReasonDeclined)
	})
}

// A later decline may be an answer to the repetition alone: it proves nothing.
func TestRowDeclinedLaterIsUnknown(t *testing.T) {
	for name, tt := range map[string]struct {
		plan  intents.Plan
		begin func(r *rig)
	}{
		"after an unknown one": {keyed(), func(r *rig) {
			r.sender.says(unheard)
			r.finished(r.deliver(ref("pi_1")))
			pass(5 * time.Second)
		}},
		"after a dead worker": {keyed(), func(r *rig) { r.crash("pi_1"); pass(lapse) }},
		"counter slot":        {counted(), func(*rig) {}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.plan, func(r *rig) {
				r.create("pi_1")
				tt.begin(r)
				before := r.get("pi_1").Version
				r.sender.says(declined)
				r.finished(r.deliver(ref("pi_1")))
				r.stands("pi_1", intents.Settling, before+2, "")
				if d := r.lastDetail("pi_1"); d != `{"status":422}` {
					r.Errorf("detail: %s", d)
				}
			})
		})
	}
}

func TestRowUnknown(t *testing.T) {
	for name, plan := range map[string]intents.Plan{"key": keyed(), "counter": counted(), "never again, but seen": lookedUp()} {
		t.Run(name, func(t *testing.T) {
			bubble(t, plan, func(r *rig) {
				r.create("pi_1")
				r.sender.says(unheard)
				r.finished(r.deliver(ref("pi_1")))
				in := r.stands("pi_1", intents.Settling, 4, "")
				if in.ClaimID != "" || in.Silent != 0 || in.WatchAt.IsZero() || in.Calls != 1 {
					r.Errorf("%+v", in)
				}
				r.near("due", in.DueAt, 2*time.Second)
				if d := r.lastDetail("pi_1"); d != `{"error":"reset"}` {
					r.Errorf("evidence: %s", d)
				}
				r.wire(1, "pi_1")
				r.counts(relayer.Stats{Retry: 1})
			})
		})
	}
}

func TestRowUnknownAfterTheTimeout(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(hangs)
		start := time.Now()
		r.finished(r.deliver(ref("pi_1")))
		if took := time.Since(start); took != relayer.DefaultStepTimeout {
			r.Errorf("took %s", took)
		}
		r.stands("pi_1", intents.Settling, 4, "")
		r.wire(1, "pi_1")
	})
}

func TestRowUnknownAndNeitherAgainNorSeen(t *testing.T) {
	bubble(t, blind(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(unheard)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.NeedsReview, 4, intents.ReasonUnknown)
		r.holds(100)
		r.finished(r.deliver(ref("pi_1")))
		r.wire(1, "pi_1")
	})
}

// A wait that the other side asks for is kept, and shuts the throttle.
func TestRowUnknownAsksForCalm(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(func(context.Context, *world, intents.Attempt) intents.Result {
			return intents.Result{After: 40 * time.Second, Calm: 30 * time.Second}
		})
		r.finished(r.deliver(ref("pi_1")))
		in := r.stands("pi_1", intents.Settling, 4, "")
		r.near("due", in.DueAt, 40*time.Second)
		r.near("end of the calm", r.throttle.State().CalmUntil, 30*time.Second)
	})
}

// A result that nobody knows, from a side that is well, is no sign of an outage: what a process that died has sent is taken over
// at full speed.
func TestRowUnknownFromAHealthySideLeavesTheThrottleOpen(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sender.says(func(context.Context, *world, intents.Attempt) intents.Result { return intents.Result{Alive: true} })
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			r.create(id)
			r.finished(r.deliver(ref(id)))
			r.stands(id, intents.Settling, 4, "")
		}
		if s := r.throttle.State(); s.Breaker.Gate != relayer.GateOpen || s.Breaker.Failures != 0 {
			r.Errorf("breaker: %+v", s.Breaker)
		}
	})
}

// Five results in a row that were unknown shut the throttle: an outage leaves a queue, not a review list.
func TestRowUnknownFiveTimesShutsTheThrottle(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.sender.says(silence)
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			r.create(id)
			r.finished(r.deliver(ref(id)))
		}
		if s := r.throttle.State(); s.Breaker.Gate != relayer.GateShut {
			r.Errorf("breaker is %s", s.Breaker.Gate)
		}
		if n := strings.Count(r.logs.String(), "breaker turned"); n != 1 {
			r.Errorf("logged %d times, want 1", n)
		}
		r.create("f")
		d := r.delivery(ref("f"))
		d.Until = time.Now().Add(time.Second / 2)
		r.requeued(r.handle(d), time.Second)
		r.stands("f", intents.Authorized, 2, "")
	})
}

func TestRowPermissionMeetsAMovedRow(t *testing.T) {
	for name, verdict := range map[string]answer{"not sent": notSent, "declined": declined, "unknown": silence} {
		t.Run(name, func(t *testing.T) {
			bubble(t, keyed(), func(r *rig) {
				r.create("pi_1")
				other := r.twin("w2")
				r.sender.says(after(lapse+time.Second, verdict))
				late := r.start(ref("pi_1"))
				pass(lapse)
				other.crash("pi_1") // has it now
				r.finished(<-late)
				in := r.stands("pi_1", intents.Settling, 4, "")
				if in.ClaimID == "" {
					r.Error("the claim of another was ended")
				}
				r.tells("pi_1", "created authorized settling settling (evidence)")
				events, err := r.store.Events(r.Context(), "pi_1")
				r.must(err)
				if mine, theirs := events[2].ClaimID, in.ClaimID; mine == theirs || events[4].ClaimID != mine {
					r.Errorf("evidence is of claim %q, want that of the result (%q), not the one that runs (%q)", events[4].ClaimID, mine, theirs)
				}
				r.counts(relayer.Stats{Retry: 1})
			})
		})
	}
}

// Case 26: the result's write fails ten times after the effect.
func TestRowResultCannotBeWrittenCase26(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(happened)
		r.faults.on("complete", times(10, down)...)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Settled, 4, "")
		r.wire(1, "pi_1")
		r.counts(relayer.Stats{Sent: 1})
		if n := r.faults.count("complete"); n != 11 {
			r.Errorf("written %d times", n)
		}
	})
}

// Case 26: the write is refused each time. The message is never given back; the next one finds the claim and repeats
// the same bytes, which have no second effect.
func TestRowResultIsRefusedCase26(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.sender.says(happened)
		r.faults.on("complete", times(10, spoilt)...)
		r.left(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Settling, 3, "")
		r.counts(relayer.Stats{Retry: 1})
		for _, want := range []string{"result cannot be written", `"verdict":"done"`, `"ref":"ref-1"`, `"intent":"pi_1"`} {
			if !strings.Contains(r.logs.String(), want) {
				r.Errorf("the log does not tell %s", want)
			}
		}
		r.faults.queued["complete"] = nil
		pass(lapse)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Settled, 5, "")
		r.wire(2, "pi_1")
	})
}

// It may be the evidence that cannot be stored. The result is worth more.
func TestRowResultWithoutItsEvidence(t *testing.T) {
	bubble(t, keyed(), func(r *rig) {
		r.create("pi_1")
		r.faults.on("complete", times(3, spoilt)...)
		r.finished(r.deliver(ref("pi_1")))
		r.stands("pi_1", intents.Confirming, 4, "")
		if d := r.lastDetail("pi_1"); !strings.Contains(d, "evidence dropped") {
			r.Errorf("detail: %s", d)
		}
	})
}

func TestRowResultAnswerLost(t *testing.T) {
	for name, tt := range map[string]struct {
		do    answer
		state intents.State
	}{"fact": {accepted, intents.Confirming}, "permission": {silence, intents.Settling}, "let go": {notSent, intents.Authorized}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, keyed(), func(r *rig) {
				r.create("pi_1")
				r.sender.says(tt.do)
				r.faults.on("complete", lost)
				r.finished(r.deliver(ref("pi_1")))
				r.stands("pi_1", tt.state, 4, "")
				r.wire(1, r.happenedTo("pi_1")...)
			})
		})
	}
}

// happenedTo names the intent if anything came for it.
func (r *rig) happenedTo(id string) []string {
	if len(r.world.bytes(id)) == 0 {
		return nil
	}
	return []string{id}
}

func TestRowPanicAnywhere(t *testing.T) {
	for name, tt := range map[string]struct {
		plan    intents.Plan
		blow    func(r *rig)
		version int
	}{
		"take": {keyed(), func(r *rig) { r.faults.on("take", blown) }, 2},
		"plan": {keyed(), func(r *rig) {
			r.sender.onPlan = func(context.Context, intents.Intent) (intents.Plan, error) {
				r.sender.onPlan = nil
				panic("plan")
			}
		}, 2},
		"prepare": {keyed(), func(r *rig) {
			r.sender.onPrepare = func(context.Context, intents.Kind) error { r.sender.onPrepare = nil; panic("prepare") }
		}, 2},
		"claim": {keyed(), func(r *rig) { r.faults.on("claim", blown) }, 2},
		"prepare in the claim": {counted(), func(r *rig) {
			r.sender.onPrepare = func(context.Context, intents.Kind) error { r.sender.onPrepare = nil; panic("prepare") }
		}, 3},
		"attach":   {counted(), func(r *rig) { r.faults.on("attach", blown) }, 3},
		"submit":   {keyed(), func(r *rig) { r.sender.says(panics, accepted) }, 3},
		"complete": {keyed(), func(r *rig) { r.faults.on("complete", blown) }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.plan, func(r *rig) {
				r.create("pi_1")
				tt.blow(r)
				r.left(r.deliver(ref("pi_1")))
				r.counts(relayer.Stats{Panics: 1})
				if in := r.get("pi_1"); in.Version != tt.version {
					r.Errorf("v%d, want v%d", in.Version, tt.version)
				}
				if s := r.throttle.State(); s.InFlight != 0 {
					r.Errorf("permit is out: %+v", s)
				}
				pass(lapse)
				r.finished(r.deliver(ref("pi_1")))
				in := r.get("pi_1")
				if in.State != intents.Confirming {
					r.Errorf("it is %s", in.State)
				}
				r.effects("pi_1")
			})
		})
	}
}

// The claim is counted from the moment it was asked for, less a margin. Whatever took so long, nothing is sent after it.
func TestRowClaimEndedByOwnClockBeforeTheSend(t *testing.T) {
	const last = claimTerm - 5*time.Second
	for name, tt := range map[string]struct {
		plan    intents.Plan
		delay   func(r *rig, d time.Duration)
		ended   intents.State
		version int
	}{
		"slow claim": {keyed(), func(r *rig, d time.Duration) { r.faults.on("claim", slowly(d)) }, intents.Authorized, 4},
		"slow prepare": {counted(), func(r *rig, d time.Duration) {
			r.sender.onPrepare = func(context.Context, intents.Kind) error { pass(d); return nil }
		}, intents.Settling, 4},
		"slow attach": {counted(), func(r *rig, d time.Duration) { r.faults.on("attach", slowly(d)) }, intents.Settling, 4},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.plan, func(r *rig) {
				r.create("late")
				tt.delay(r, last)
				r.finished(r.deliver(ref("late")))
				r.wire(0)
				r.stands("late", tt.ended, tt.version, "")
				r.counts(relayer.Stats{Retry: 1})

				r.create("in_time")
				if tt.plan.Slot == intents.Key {
					r.faults.on("claim", slowly(last-time.Millisecond))
				} else {
					tt.delay(r, 0)
				}
				r.finished(r.deliver(ref("in_time")))
				r.wire(1, "in_time")
			})
		})
	}
}
