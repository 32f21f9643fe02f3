package memstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

// Audit compares sums with what they are derived from and says what does not add up; nothing when all does.
func (s *Store) Audit(context.Context) ([]string, error) {
	s.begin()
	defer s.mu.Unlock()
	out := slices.Concat(s.auditAccounts(), s.auditSlots(), s.auditSigners())
	for _, r := range s.byID {
		out = append(out, r.audit()...)
	}
	slices.Sort(out)
	return out, nil
}

// auditAccounts: pending is what intents hold, posted is what was posted.
func (s *Store) auditAccounts() []string {
	held := map[pot]intents.Amount{}
	for _, r := range s.byID {
		held[potOf(r.in)] = held[potOf(r.in)].Add(r.in.Held())
	}
	var out []string
	for p, a := range s.accounts {
		var posted intents.Amount
		for _, e := range s.credits[p] {
			posted = posted.Add(e.Amount)
		}
		for _, e := range s.captured[p] {
			posted = posted.Add(e.Amount)
		}
		out = say(out, a.Pending.Equal(held[p]), "account %s %s: pending is %s, intents hold %s", p.account, p.asset, a.Pending, held[p])
		out = say(out, a.Posted.Equal(posted), "account %s %s: posted is %s, entries come to %s", p.account, p.asset, a.Posted, posted)
		delete(held, p)
	}
	for p, h := range held {
		out = say(out, h.Sign() == 0, "account %s %s: intents hold %s, but there is no account", p.account, p.asset, h)
	}
	return out
}

// auditSlots: an open slot has an owner that is not final and holds it, or is a counter to be filled.
func (s *Store) auditSlots() []string {
	var out []string
	for _, sl := range s.slots {
		held := sl.owner != nil && !sl.owner.in.State.Final() && sl.owner.in.Slot.ID == sl.ID
		out = say(out, !sl.open || held || (sl.owner == nil && sl.Kind == intents.Counter), "slot %s is open without an intent", sl.Slot)
		out = say(out, !held || sl.owner.in.Stored == len(sl.attempts), "slot %s: stored is not the %d attempts it has", sl.Slot, len(sl.attempts))
	}
	return out
}

// auditSigners: open is how many slots are, and no number is given out twice or from the future.
func (s *Store) auditSigners() []string {
	open, seen := map[string]int{}, map[string]bool{}
	var out []string
	for _, sl := range s.slots {
		if sl.Kind != intents.Counter {
			continue
		}
		out = say(out, !seen[sl.String()] && sl.Number < s.signers[sl.Scope].Next, "slot %s was given out twice or too early", sl.Slot)
		seen[sl.String()] = true
		if sl.open {
			open[sl.Scope]++
		}
	}
	for _, sg := range s.signers {
		out = say(out, sg.Open == open[sg.Scope], "signer %s: open is %d, slots say %d", sg.Scope, sg.Open, open[sg.Scope])
	}
	return out
}

// audit: an open intent is due some day, and every version has its event.
func (r *record) audit() []string {
	changes := 0
	for _, e := range r.events {
		if e.Kind == intents.Changed {
			changes++
		}
	}
	in := r.in
	waits := in.State == intents.Created && in.ExpiresAt.IsZero()
	out := say(nil, in.State.Final() || waits || !in.DueAt.IsZero(), "intent %s is %s and never due", in.ID, in.State)
	out = say(out, changes == in.Version, "intent %s: version is %d, changes are %d", in.ID, in.Version, changes)
	return out
}

// say adds a finding unless it is right.
func say(out []string, right bool, format string, args ...any) []string {
	if right {
		return out
	}
	return append(out, fmt.Sprintf(format, args...))
}
