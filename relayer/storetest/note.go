package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

// canceledInSlot: an empty use of the slot is no payment. Seen, it confirms nothing; beyond recall it ends the intent.
func canceledInSlot(f *fixture) {
	f.signer(7, 8)
	for i, fact := range []intents.Fact{intents.Final, intents.Reverted} {
		in := f.sent()
		_, err := f.Attach(f.ctx, intents.Attempt{Slot: in.Slot, No: 2, Kind: intents.Cancel, Bytes: fmt.Append(nil, "empty ", i), Name: "0xempty"})
		f.must(err)
		for _, early := range []intents.Fact{intents.Pending, intents.Included} {
			f.stands(f.record(f.get(in.ID), intents.Observation{Fact: early, No: 2, Ref: "0xempty"}, intents.Patience{}), intents.Settling, 3, "")
		}
		got := f.record(f.get(in.ID), intents.Observation{Fact: fact, No: 2, Of: 2, Ref: "0xempty"}, intents.Patience{})
		f.stands(got, intents.Failed, 4, intents.ReasonInSlot)
		if got.Ref != "0xempty" {
			f.Errorf("ref %q", got.Ref)
		}
	}
	f.sums(0, 0)
	if s := f.readSigner(); s.Open != 0 {
		f.Errorf("open is %d: the numbers are used", s.Open)
	}
	in := f.sent()
	f.stands(f.record(in, intents.Observation{Fact: intents.Final, No: 1}, intents.Patience{}), intents.Settled, 4, "")
}

// noteTests: what a person does stands in the timeline.
func noteTests() []test {
	return []test{{"notes/a person's", func(f *fixture) {
		in := f.taken()
		f.must(f.Note(f.ctx, in.ID, "ann", []byte(`{"did":"observe"}`)))
		f.same(in, f.get(in.ID))
		events, err := f.Events(f.ctx, in.ID)
		f.must(err)
		i := slices.IndexFunc(events, func(e intents.Event) bool { return e.Kind == intents.Noted })
		if i < 0 || events[i].Actor != "ann" || !sameJSON(events[i].Detail, []byte(`{"did":"observe"}`)) {
			f.Errorf("timeline: %+v", events)
		}
		if err := f.Note(f.ctx, f.name("nobody"), "ann", nil); !errors.Is(err, intents.ErrNotFound) {
			f.Errorf("of an unknown intent: %v", err)
		}
	}}}
}
