package memstore

import (
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// record is one intent with its timeline.
type record struct {
	in     intents.Intent
	hash   intents.Hash
	events []intents.Event
	looks  int // how often the sweeper looked since the version was raised
}

// slot is a slot that was ever taken. Only its attempts count as bytes.
type slot struct {
	intents.Slot
	owner    *record // nil: nobody's; to be filled while it is open
	by       int64   // the key of the intent that took it; 0: none did
	route    string
	open     bool
	since    time.Time
	attempts []intents.Attempt // by number
}

// show gives the row as a reader sees it at a time.
func (s *Store) show(r *record, now time.Time) intents.Intent {
	in := r.in.Clone()
	in.ReadAt, in.Paused = now, s.routes[in.Route].Paused
	return in
}

// row finds the intent of a read one, or nil.
func (s *Store) row(in intents.Intent) *record { return s.byKey[in.Key] }

// insert stores an intent nobody knows yet: what was asked, nothing of where it might stand.
func (s *Store) insert(in intents.Intent, authorize bool, actor string, now time.Time) *record {
	asked := intents.Intent{Key: s.next(), ID: in.ID, Route: in.Route, Account: in.Account, Destination: in.Destination,
		Asset: in.Asset, Amount: in.Amount, NotBefore: stamp(in.NotBefore), ExpiresAt: stamp(in.ExpiresAt), Lane: in.Lane,
		Metadata: in.Metadata, Traceparent: in.Traceparent}.Clone()
	r := &record{hash: asked.Hash()}
	for _, c := range intents.Open(asked, authorize, actor, now) {
		s.write(r, c)
	}
	s.byID[asked.ID], s.byKey[asked.Key] = r, r
	return r
}

func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// write is the one place where a decision becomes rows: intent, event, account, slot.
func (s *Store) write(r *record, c intents.Change) {
	if c.Moves() {
		r.in, r.looks = c.After.Clone(), 0
	}
	r.in.DueAt, r.in.TryAt, r.in.WatchAt = c.After.DueAt, c.After.TryAt, c.After.WatchAt
	s.tell(r, c.Event)
	s.hold(c)
	s.end(c)
	if sg := s.signers[c.After.Slot.Scope]; c.Freeze != "" && sg.Frozen == "" {
		sg.Frozen = c.Freeze
	}
}

// tell adds a line to the timeline. What is noted under a version is numbered after the change that made it.
func (s *Store) tell(r *record, e intents.Event) {
	if e.Kind == 0 {
		return
	}
	for _, other := range r.events {
		if other.Version == e.Version {
			e.N = other.N + 1
		}
	}
	e.Detail = slices.Clone(e.Detail)
	r.events = append(r.events, e)
}

// end closes the slot a change is done with, or leaves it to be filled.
func (s *Store) end(c intents.Change) {
	sl := s.slots[c.Before.Slot.ID]
	switch {
	case sl == nil || !sl.open || c.Slot == intents.SlotKeeps:
	case c.Slot == intents.SlotFill:
		sl.owner, sl.since = nil, c.Event.At
	case c.Slot == intents.SlotDone:
		s.shut(sl)
	}
}

// shut closes a slot for good.
func (s *Store) shut(sl *slot) {
	sl.open = false
	if sl.Kind == intents.Counter {
		s.signers[sl.Scope].Open--
	}
}
