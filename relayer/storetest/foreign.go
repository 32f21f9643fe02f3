package storetest

import (
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func foreignTests() []test {
	return []test{
		{"foreign/pays nobody: a new slot, once a person looked (case 77)", foreignFree},
		{"foreign/pays the displaced intent", foreignItself},
		{"foreign/pays others", foreignOthers},
		{"foreign/what failed or was called off since", foreignFailed},
		{"foreign/seen again", foreignAgain},
		{"foreign/bytes stored after the look", foreignLate},
		{"foreign/bytes of a suspect", foreignUnderWay},
		{"foreign/number of a suspect without bytes", foreignIdle},
		{"foreign/a filler's number", foreignFiller},
		{"foreign/another slot since", foreignStale},
		{"foreign/numbers that were never given out (case 44)", foreignUnknown},
		{"canceled in its slot", canceledInSlot},
	}
}

// foreign observes that a transaction which is not ours used the slot. It pays some units to a destination.
func (f *fixture) foreign(to string, units int64) intents.Observation {
	return intents.Observation{Fact: intents.Dead, Of: 1, Evidence: []byte(`{"used":"0xforeign"}`), Foreign: &intents.Foreign{
		Hash: "0xforeign", Bytes: []byte("foreign bytes"), Destination: to, Amount: intents.NewAmount(units), At: time.Now()}}
}

// unlike gives intents a destination of this test alone: stores are shared, and foreign transactions look at all of it.
func (f *fixture) unlike(word string) func(*intents.Intent) {
	return func(in *intents.Intent) { in.Destination = f.tag + "." + word }
}

// sent claims a number of the test's signer and stores bytes.
func (f *fixture) sent(change ...func(*intents.Intent)) intents.Intent {
	f.Helper()
	cl := f.claim(f.counted(f.taken(change...)))
	f.attach(cl.Slot(), 1, "tx of "+cl.Intent.ID)
	return f.get(cl.Intent.ID)
}

// foreignFree: every attempt is dead and nobody was paid. The signer gives out nothing until a person says so.
func foreignFree(f *fixture) {
	f.signer(7, 4)
	in := f.sent(f.unlike("a"))
	free := f.record(in, f.foreign(f.tag+".nobody", 1), intents.Patience{})
	f.stands(free, intents.Authorized, 4, "")
	if free.Slot != (intents.Slot{}) || free.Stored != 0 {
		f.Errorf("after the proof: %+v", free)
	}
	f.sums(0, 0)
	s := f.readSigner()
	if s.Frozen == "" || s.Open != 0 || s.Next != 8 {
		f.Errorf("signer: got %+v, want it frozen", s)
	}
	until := f.refused(f.counted(free), intents.WhyFrozen).Until
	parked := f.get(free.ID)
	f.stands(parked, intents.Authorized, 4, "")
	if !parked.DueAt.Equal(until) || parked.DueAt.Sub(parked.ReadAt) > intents.FrozenLook || parked.DueAt.Before(parked.ReadAt) {
		f.Errorf("looked at again at %v, want %v, within %v", parked.DueAt, until, intents.FrozenLook)
	}
	s, err := f.Unfreeze(f.ctx, f.scope, "it was me", "ann")
	f.must(err)
	if s.Frozen != "" || s.Next != 8 {
		f.Errorf("unfrozen: got %+v", s)
	}
	again := f.claim(f.counted(parked))
	if again.Slot().Number != 8 || len(again.Attempts) != 0 {
		f.Errorf("claimed again: %+v", again)
	}
}

// foreignItself: the transaction may be this very payment. Nothing is sent again, the hold stays.
func foreignItself(f *fixture) {
	f.signer(7, 4)
	in := f.sent(f.unlike("a"))
	got := f.record(in, f.foreign(in.Destination, 100), intents.Patience{})
	f.suspected(got, 4)
	if got.Slot != in.Slot || got.Stored != 2 {
		f.Errorf("in review: slot %v, %d stored", got.Slot, got.Stored)
	}
	f.sums(0, 100)
	as := f.watch(got).Attempts
	if len(as) != 2 || as[1].No != 2 || as[1].Kind != intents.Alien || as[1].Name != "0xforeign" || string(as[1].Bytes) != "foreign bytes" {
		f.Errorf("attempts: %+v", as)
	}
	if f.readSigner().Frozen == "" {
		f.Error("the signer is not frozen")
	}
}

// suspected wants an intent in review because a foreign transaction may have paid it.
func (f *fixture) suspected(in intents.Intent, version int) {
	f.Helper()
	f.stands(in, intents.NeedsReview, version, intents.ReasonForeign)
	if in.Ref != "0xforeign" || in.ClaimID != "" {
		f.Errorf("in review: %+v", in)
	}
}

// foreignOthers: it pays others, of whatever route. They and the displaced one go to a person, who learns the hash.
func foreignOthers(f *fixture) {
	f.signer(7, 4)
	other := func(in *intents.Intent) { in.Route += ".other"; f.unlike("b")(in) }
	waits, sends := f.taken(f.unlike("b")), f.claim(f.keyed(f.taken(other))).Intent
	created := f.intent(f.unlike("b"))
	_, err := f.Create(f.ctx, created, false, "tester")
	f.must(err)
	more := f.taken(f.unlike("b"), func(in *intents.Intent) { in.Amount = intents.NewAmount(101) })
	done := f.complete(f.claim(f.keyed(f.taken(f.unlike("b")))), intents.Result{Verdict: intents.Done, Ref: "r"})
	in := f.sent(f.unlike("a"))
	f.suspected(f.record(in, f.foreign(waits.Destination, 100), intents.Patience{}), 4)
	f.suspected(f.get(waits.ID), 3)
	f.suspected(f.get(sends.ID), 4)
	f.stands(f.get(created.ID), intents.Created, 1, "")
	f.stands(f.get(more.ID), intents.Authorized, 2, "")
	f.stands(f.get(done.ID), intents.Settled, 4, "")
	if !f.noted(created.ID, intents.Contradicted, `{"used":"0xforeign"}`) {
		f.Error("the created intent does not tell")
	}
	f.sums(-100, 300) // settled; displaced, waiting and sending are held
	f.refused(f.keyed(f.get(waits.ID)), intents.WhyMoved)

	// Proof that a suspect happened by itself frees it, and with that the displaced one.
	f.stands(f.record(f.get(sends.ID), intents.Observation{Fact: intents.Included}, intents.Patience{}), intents.NeedsReview, 4, intents.ReasonForeign)
	f.stands(f.record(f.get(sends.ID), intents.Observation{Fact: intents.Reverted}, intents.Patience{}), intents.NeedsReview, 4, intents.ReasonForeign)
	f.stands(f.record(f.get(sends.ID), intents.Observation{Fact: intents.Final}, intents.Patience{}), intents.Settled, 5, "")
}

// foreignFailed: what ended since the slot was taken may have been paid all the same. It does not move; all are told.
func foreignFailed(f *fixture) {
	f.signer(7, 4)
	old := f.complete(f.claim(f.keyed(f.taken(f.unlike("b")))), intents.Result{Verdict: intents.Declined})
	in := f.sent(f.unlike("a"))
	failed := f.complete(f.claim(f.keyed(f.taken(f.unlike("b")))), intents.Result{Verdict: intents.Declined})
	canceled := f.taken(f.unlike("b"))
	_, err := f.Cancel(f.ctx, canceled.ID, "ann")
	f.must(err)
	f.suspected(f.record(in, f.foreign(old.Destination, 100), intents.Patience{}), 4)
	f.stands(f.get(failed.ID), intents.Failed, 4, intents.ReasonDeclined)
	for id, want := range map[string]bool{old.ID: false, failed.ID: true, canceled.ID: true} {
		if f.noted(id, intents.Contradicted, `{"used":"0xforeign"}`) != want {
			f.Errorf("%s: told of the transaction is not %t", id, want)
		}
	}
}

// foreignAgain: what is seen again is written once. Once nothing matches any more, the displaced one takes a new slot.
func foreignAgain(f *fixture) {
	f.signer(7, 4)
	other := f.claim(f.keyed(f.taken(f.unlike("b")))).Intent
	in := f.sent(f.unlike("a"))
	o := f.foreign(other.Destination, 100)
	first := f.record(in, o, intents.Patience{})
	events := func() (n int) {
		for _, id := range []string{in.ID, other.ID} {
			es, err := f.Events(f.ctx, id)
			f.must(err)
			n += len(es)
		}
		return n
	}
	before := events()
	_, err := f.Unfreeze(f.ctx, f.scope, "seen", "ann")
	f.must(err)
	for range 2 {
		o.Of = 2
		got := f.record(f.get(in.ID), o, intents.Patience{})
		f.suspected(got, first.Version)
		if got.Stored != 2 {
			f.Errorf("%d attempts stored, want 2", got.Stored)
		}
	}
	if n := events(); n != before {
		f.Errorf("%d events, then %d", before, n)
	}
	if s := f.readSigner(); s.Frozen != "" {
		f.Errorf("frozen again by what a person knows: %+v", s)
	}
	f.record(f.get(other.ID), intents.Observation{Fact: intents.Final}, intents.Patience{})
	f.stands(f.record(f.get(in.ID), o, intents.Patience{}), intents.Authorized, 5, "")
	f.sums(-100, 0)
}

// foreignLate: bytes that were stored after the look are looked at first.
func foreignLate(f *fixture) {
	f.signer(7, 4)
	in := f.sent(f.unlike("a"))
	f.attach(in.Slot, 2, "dearer")
	o := f.foreign(f.tag+".nobody", 1)
	f.stands(f.record(in, o, intents.Patience{}), intents.Settling, 3, "")
	o.Of = 3
	f.stands(f.record(f.get(in.ID), o, intents.Patience{}), intents.Authorized, 4, "")
}

// foreignUnderWay: a suspect whose bytes are just being made gets none that pay, so the worker sends nothing.
func foreignUnderWay(f *fixture) {
	f.signer(7, 4)
	in := f.sent(f.unlike("a"))
	cl := f.claim(f.counted(f.taken(f.unlike("b"))))
	f.suspected(f.record(in, f.foreign(cl.Intent.Destination, 100), intents.Patience{}), 4)
	f.suspected(f.get(cl.Intent.ID), 4)
	for _, s := range []intents.Slot{in.Slot, cl.Slot()} {
		_, err := f.Attach(f.ctx, intents.Attempt{Slot: s, No: 5, Kind: intents.Bump, Bytes: []byte("x"), Name: "x"})
		if !errors.Is(err, intents.ErrSlotClosed) {
			f.Errorf("attach: got %v, want ErrSlotClosed", err)
		}
		_, err = f.Attach(f.ctx, intents.Attempt{Slot: s, No: 6, Kind: intents.Cancel, Bytes: []byte("empty"), Name: "y"})
		f.must(err)
	}
}

// foreignFiller: somebody filled the number before us.
func foreignFiller(f *fixture) {
	slot := f.filler().Slot()
	o := f.foreign(f.tag+".nobody", 1)
	o.Slot = slot
	for range 2 {
		_, err := f.Record(f.ctx, []intents.Watch{{Slot: slot}}, []intents.Observation{o}, intents.Patience{})
		f.must(err)
	}
	if ws := f.fillers(f.route); len(ws) != 0 {
		f.Errorf("still to be filled: %+v", ws)
	}
	if s := f.readSigner(); s.Frozen == "" || s.Open != 0 {
		f.Errorf("signer: got %+v", s)
	}
	if _, err := f.Attach(f.ctx, intents.Attempt{Slot: slot, No: 2, Kind: intents.Fill, Bytes: []byte("x"), Name: "x"}); !errors.Is(err, intents.ErrSlotClosed) {
		f.Errorf("attach to a used number: %v", err)
	}
}

// foreignStale: a proof about an earlier slot, written late or twice, says nothing about the slot the intent has now.
func foreignStale(f *fixture) {
	f.signer(7, 4)
	in := f.sent(f.unlike("a"))
	o := f.foreign(f.tag+".nobody", 1)
	o.Slot = in.Slot
	f.record(in, o, intents.Patience{})
	_, err := f.Unfreeze(f.ctx, f.scope, "seen", "ann")
	f.must(err)
	again := f.claim(f.counted(f.get(in.ID)))
	f.attach(again.Slot(), 1, "new")
	_, err = f.Record(f.ctx, []intents.Watch{{Intent: in, Slot: in.Slot}}, []intents.Observation{o}, intents.Patience{})
	f.must(err)
	f.stands(f.get(in.ID), intents.Settling, 5, "")
	if s := f.readSigner(); s.Frozen != "" {
		f.Errorf("frozen by what was known: %+v", s)
	}
}

// foreignUnknown: the database was restored, and the chain has what it forgot. Each number is accounted for, and who may
// have been paid by it waits for a person, whatever becomes of the signer.
func foreignUnknown(f *fixture) {
	f.signer(7, 4)
	paid, unpaid := f.taken(f.unlike("a")), f.taken(f.unlike("b"))
	if s := f.signer(9, 4); s.Frozen == "" || s.Next != 7 {
		f.Fatalf("the chain is ahead: %+v", s)
	}
	lost := intents.Foreign{Hash: "0xforeign", Bytes: []byte("lost"), Destination: paid.Destination, Amount: paid.Amount, At: time.Now()}
	for _, number := range []int64{8, 7, 7} {
		_, err := f.Account(f.ctx, f.scope, number, lost, []byte(`{"used":"0xforeign"}`))
		f.must(err)
	}
	f.suspected(f.get(paid.ID), 3)
	f.stands(f.get(unpaid.ID), intents.Authorized, 2, "")
	if s := f.readSigner(); s.Next != 8 || s.Frozen == "" || s.Open != 0 || s.Seen != 9 {
		f.Errorf("one accounted for: %+v", s)
	}
	s, err := f.Unfreeze(f.ctx, f.scope, "looked", "ann")
	f.must(err)
	if s.Next != 9 || s.Frozen != "" {
		f.Errorf("unfrozen: %+v", s)
	}
	if cl := f.claim(f.counted(unpaid)); cl.Slot().Number != 9 {
		f.Errorf("number: got %d, want 9", cl.Slot().Number)
	}
	f.refused(f.counted(f.get(paid.ID)), intents.WhyMoved)
	if _, err := f.Account(f.ctx, f.scope+".x", 0, lost, nil); !errors.Is(err, intents.ErrNoSigner) {
		f.Errorf("a signer that is not open: %v", err)
	}
}
