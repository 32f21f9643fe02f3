package simtest

import (
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func (s *sim) ctx() context.Context { return context.Background() }

func (s *sim) cancelOne() bool {
	id := s.anyPayment().in.ID
	s.db.lock()
	_, err := s.db.Cancel(s.ctx(), id, "operator")
	s.note("operator cancels %s: %s", id, brief(err))
	s.db.wrote("cancel")
	return err == nil
}

func (s *sim) authorizeOne() bool {
	id := s.anyPayment().in.ID
	s.db.lock()
	_, err := s.db.Authorize(s.ctx(), id, "operator")
	s.note("operator authorizes %s: %s", id, brief(err))
	s.db.wrote("authorize")
	return err == nil
}

// pruneOne forgets a final intent but for its tombstone. Its message may come again long after.
func (s *sim) pruneOne() bool {
	in := s.monitor.last[s.anyPayment().in.ID]
	if !in.State.Final() {
		return false
	}
	s.note("operator prunes %s", in.ID)
	s.db.prune(in)
	p := s.payment(in.ID)
	s.after(s.between(time.Second, time.Minute), "", func() { s.publishAgain(p) })
	return true
}

func (s *sim) pauseRoute() bool {
	if s.routePaused {
		return false
	}
	s.turn(true)
	s.after(s.between(time.Second, 2*time.Minute), "", func() { s.turn(false) })
	return true
}

// turn turns the route's switch.
func (s *sim) turn(paused bool) {
	s.note("route paused: %v", paused)
	s.db.lock()
	s.routePaused = paused
	s.broken.pause(s, paused)
}

// hand does something at an intent's slot, as the relayer's commands do: a process of its own, that sends.
func (s *sim) hand(id, name string, may func(w intents.Watch) bool, do func(ctx context.Context, w intents.Watch)) bool {
	in := s.monitor.last[id]
	if _, pruned := s.db.tombs[in.ID]; pruned || !in.State.Holds() || in.Stored == 0 {
		return false
	}
	in, err := s.db.Get(s.ctx(), in.ID)
	as, err2 := s.db.Attempts(s.ctx(), in.ID)
	w := intents.Watch{Intent: in, Slot: in.Slot, Attempts: as}
	if err != nil || err2 != nil || len(as) == 0 || !may(w) {
		return false
	}
	s.orders++
	s.note("operator %s %s", name, in.ID)
	ctx := s.operator.actor(name+"/"+in.ID+"/"+string(rune('a'+s.orders%26)), nil).in(s.operator.life)
	s.operator.running.Go(func() {
		defer func() { _ = recover() }() // a command that panics is over
		do(ctx, w)
	})
	return true
}

func (s *sim) lookOne() bool {
	return s.hand(s.anyPayment().in.ID, "looks at", func(intents.Watch) bool { return true }, func(ctx context.Context, w intents.Watch) {
		_, _, _ = s.operator.observer.Look(ctx, w) // what an operator is told is not looked at here
	})
}

// free says whether a person may send for an intent just now.
func (s *sim) free(w intents.Watch) bool { return !w.Intent.Claimed(w.Intent.ReadAt) }

// odd says whether an intent may have been paid already: then a person sends nothing that pays.
func odd(w intents.Watch) bool {
	in := w.Intent
	return in.State == intents.NeedsReview && (in.Reason == intents.ReasonOddity || in.Reason == intents.ReasonForeign)
}

func (s *sim) sendAgain() bool { return s.rebroadcast(s.anyPayment().in.ID) }

// rebroadcast has a person send once more what was stored last. Where a stranger may have paid, nothing goes that pays.
func (s *sim) rebroadcast(id string) bool {
	may := func(w intents.Watch) bool {
		a, ok := lastOfOurs(w)
		return ok && s.free(w) && w.Intent.MayResend(w.Intent.ReadAt) && !(a.Kind.Pays() && odd(w))
	}
	return s.hand(id, "sends again", may, func(ctx context.Context, w intents.Watch) {
		a, _ := lastOfOurs(w)
		_, _ = s.operator.observer.Send(ctx, w.Intent, a) // what it came to stands in the database
	})
}

func lastOfOurs(w intents.Watch) (intents.Attempt, bool) {
	for _, a := range slices.Backward(w.Attempts) {
		if a.Kind != intents.Alien {
			return a, true
		}
	}
	return intents.Attempt{}, false
}

func (s *sim) bumpOne() bool { return s.further(s.anyPayment().in.ID, "bumps", intents.Bump) }
func (s *sim) dropOne() bool {
	return s.further(s.anyPayment().in.ID, "cancels in slot", intents.Cancel)
}

// further adds an attempt to a slot that is a number.
func (s *sim) further(id, name string, kind intents.Kind) bool {
	may := func(w intents.Watch) bool {
		return s.free(w) && w.Slot.Kind == intents.Counter && !(kind.Pays() && odd(w))
	}
	return s.hand(id, name, may, func(ctx context.Context, w intents.Watch) {
		a, err := s.operator.observer.Make(ctx, w, kind)
		if err == nil {
			_, _ = s.operator.observer.Send(ctx, w.Intent, a)
		}
	})
}

// tend is a person who looks at reviews: he sends again what may be sent again, and cancels in its slot what a stranger may
// have paid, since others wait for its number.
func (s *sim) tend() {
	s.allow()
	if s.chance(0.5) {
		s.review()
	}
	for _, id := range s.ids() {
		if s.monitor.last[id].State == intents.NeedsReview && !s.rebroadcast(id) {
			s.further(id, "cancels in slot", intents.Cancel)
		}
	}
	s.after(time.Minute, "", s.tend)
}
