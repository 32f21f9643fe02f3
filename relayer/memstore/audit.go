package memstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Audit compares sums with what they are derived from and says what does not add up; nothing when all does. It is Inspect
// without what depends on the time or on settings.
func (s *Store) Audit(ctx context.Context) ([]string, error) {
	found, err := s.Inspect(ctx, intents.Audit{})
	var lines []string
	for _, f := range found {
		lines = append(lines, f.Lines...)
	}
	return lines, err
}

// Inspect makes every check that is asked for and says what each came to, in their order.
func (s *Store) Inspect(_ context.Context, a intents.Audit) ([]intents.Audited, error) {
	now := s.begin()
	defer s.mu.Unlock()
	pending, posted := s.auditAccounts()
	lines := map[string][]string{
		intents.CheckPending: pending, intents.CheckPosted: posted, intents.CheckCaptured: s.each(s.auditCaptured),
		intents.CheckEvents: s.each((*record).auditEvents), intents.CheckAttempts: s.each(s.auditAttempts),
		intents.CheckSlots: slices.Concat(s.each(s.auditSlot), s.auditSlots()), intents.CheckNumbers: s.auditNumbers(),
		intents.CheckTimers: s.each((*record).auditTimers),
	}
	order := []string{intents.CheckPending, intents.CheckPosted, intents.CheckCaptured, intents.CheckEvents, intents.CheckAttempts,
		intents.CheckSlots, intents.CheckNumbers, intents.CheckTimers}
	if a.Late > 0 {
		order = append(order, intents.CheckLate)
		lines[intents.CheckLate] = s.auditLate(now.Add(-a.Late), now)
	}
	if a.Routes != nil {
		order = append(order, intents.CheckRoutes)
		lines[intents.CheckRoutes] = s.auditRoutes(a.Routes)
	}
	out := make([]intents.Audited, len(order))
	for i, name := range order {
		out[i].Check = name
		slices.Sort(lines[name])
		for _, line := range lines[name] {
			out[i].Add(line, a.Most)
		}
	}
	return out, nil
}

// each gathers what a check finds of every intent.
func (s *Store) each(check func(r *record) []string) (out []string) {
	for _, r := range s.byID {
		out = append(out, check(r)...)
	}
	return out
}

// auditAccounts: pending is what intents hold, posted is what was posted.
func (s *Store) auditAccounts() (pending, posted []string) {
	held := map[pot]intents.Amount{}
	for _, r := range s.byID {
		held[potOf(r.in)] = held[potOf(r.in)].Add(r.in.Held())
	}
	for p, a := range s.accounts {
		var sum intents.Amount
		for _, e := range s.credits[p] {
			sum = sum.Add(e.Amount)
		}
		for _, e := range s.captured[p] {
			sum = sum.Add(e.Amount)
		}
		pending = say(pending, a.Pending.Equal(held[p]), "account %s %s: pending is %s, intents hold %s", p.account, p.asset, a.Pending, held[p])
		posted = say(posted, a.Posted.Equal(sum), "account %s %s: posted is %s, entries come to %s", p.account, p.asset, a.Posted, sum)
		delete(held, p)
	}
	for p, h := range held {
		pending = say(pending, h.Sign() == 0, "account %s %s: intents hold %s, but there is no account", p.account, p.asset, h)
	}
	return pending, posted
}

// auditCaptured: what settled was captured once, and nothing else was.
func (s *Store) auditCaptured(r *record) []string {
	e, captured := s.captured[potOf(r.in)][r.in.ID]
	out := say(nil, captured == (r.in.State == intents.Settled), "intent %s is %s, captured is %t", r.in.ID, r.in.State, captured)
	return say(out, !captured || e.Amount.Neg().Equal(r.in.Amount), "intent %s: %s were captured as %s", r.in.ID, r.in.Amount, e.Amount.Neg())
}

// auditEvents: every version has its event, each begins where the one before ended, the last ends where the intent stands.
func (r *record) auditEvents() (out []string) {
	changes, at := 0, intents.State(0)
	for _, e := range r.events {
		if e.Kind == intents.Changed {
			changes++
			out = say(out, e.From == at && e.Version == changes, "intent %s: v%d goes from %s, after %s", r.in.ID, e.Version, e.From, at)
			at = e.To
		}
	}
	return say(out, changes == r.in.Version && at == r.in.State, "intent %s is %s v%d: its %d changes lead to %s", r.in.ID, r.in.State, r.in.Version, changes, at)
}

// auditAttempts: as many bytes are stored in a slot as its intent says.
func (s *Store) auditAttempts(r *record) []string {
	sl := s.slots[r.in.Slot.ID]
	if sl == nil || sl.owner == nil {
		return nil
	}
	return say(nil, r.in.Stored == len(sl.attempts), "intent %s: stored is %d, attempts are %d", r.in.ID, r.in.Stored, len(sl.attempts))
}

// auditSlot: what an intent says of its slot is what the slot is.
func (s *Store) auditSlot(r *record) []string {
	if r.in.Slot.Kind == intents.NoSlot {
		return nil
	}
	sl := s.slots[r.in.Slot.ID]
	if sl == nil {
		return []string{fmt.Sprintf("intent %s is in slot %s, which is not there", r.in.ID, r.in.Slot)}
	}
	out := say(nil, sl.owner == nil || sl.owner == r, "slot %s is used by intent %s, too", sl.Slot, r.in.ID)
	return say(out, !r.in.State.Holds() || sl.open && sl.owner == r, "slot %s is closed, and its intent %s is %s", sl.Slot, r.in.ID, r.in.State)
}

// auditSlots: an open slot has an owner that is not final and holds it, or is a counter to be filled.
func (s *Store) auditSlots() (out []string) {
	for _, sl := range s.slots {
		held := sl.owner != nil && !sl.owner.in.State.Final() && sl.owner.in.Slot.ID == sl.ID
		out = say(out, !sl.open || held || (sl.owner == nil && sl.Kind == intents.Counter), "slot %s is open without an intent", sl.Slot)
	}
	return out
}

// auditNumbers: open is how many slots are, and no number is given out twice, from the future, or left out.
func (s *Store) auditNumbers() (out []string) {
	open, given, first := map[string]int{}, map[string]map[int64]bool{}, map[string]int64{}
	for _, sl := range s.slots {
		if sl.Kind != intents.Counter {
			continue
		}
		numbers := given[sl.Scope]
		out = say(out, !numbers[sl.Number] && sl.Number < s.signers[sl.Scope].Next, "slot %s was given out twice or too early", sl.Slot)
		if numbers == nil {
			numbers = map[int64]bool{}
			given[sl.Scope], first[sl.Scope] = numbers, sl.Number
		}
		numbers[sl.Number], first[sl.Scope] = true, min(first[sl.Scope], sl.Number)
		if sl.open {
			open[sl.Scope]++
		}
	}
	for _, sg := range s.signers {
		out = say(out, sg.Open == open[sg.Scope], "signer %s: open is %d, slots say %d", sg.Scope, sg.Open, open[sg.Scope])
		for n := first[sg.Scope]; n < sg.Next && len(given[sg.Scope]) > 0; n++ {
			out = say(out, given[sg.Scope][n], "signer %s: %d was never given out", sg.Scope, n)
		}
	}
	return out
}

// auditTimers: what is open has a next look, what is final has none.
func (r *record) auditTimers() []string {
	in := r.in
	waits := in.State == intents.Created && in.ExpiresAt.IsZero()
	out := say(nil, in.State.Final() || waits || !in.DueAt.IsZero(), "intent %s is %s and never due", in.ID, in.State)
	return say(out, !in.State.Final() || in.DueAt.IsZero() && in.WatchAt.IsZero(), "intent %s is %s and due at %s", in.ID, in.State, in.DueAt)
}

// auditLate: nothing is due since before a time. What is due in a paused route waits for a person, unless it has expired.
func (s *Store) auditLate(at, now time.Time) (out []string) {
	late := func(t time.Time) bool { return !t.IsZero() && t.Before(at) }
	for _, r := range s.byID {
		in := r.in
		ends := in.Expired(now) && (in.State == intents.Created || in.State == intents.Authorized)
		out = say(out, !late(in.DueAt) || s.routes[in.Route].Paused && !ends, "intent %s is %s and due since %s", in.ID, in.State, in.DueAt)
		out = say(out, !late(in.WatchAt) || in.Stored == 0, "intent %s is %s and to be observed since %s", in.ID, in.State, in.WatchAt)
	}
	for _, sl := range s.slots {
		out = say(out, !sl.open || sl.owner != nil || !late(sl.since), "slot %s is to be filled since %s", sl.Slot, sl.since)
	}
	return out
}

// auditRoutes: what is open is on one of these routes.
func (s *Store) auditRoutes(routes []string) (out []string) {
	open := map[string]int{}
	for _, r := range s.byID {
		if !r.in.State.Final() {
			open[r.in.Route]++
		}
	}
	for route, n := range open {
		out = say(out, slices.Contains(routes, route), "route %s is not configured and has %d open intents", route, n)
	}
	return out
}

// say adds a finding unless it is right.
func say(out []string, right bool, format string, args ...any) []string {
	if right {
		return out
	}
	return append(out, fmt.Sprintf(format, args...))
}
