package storetest

import (
	"errors"

	"github.com/nsqrelayer/relayer/intents"
)

func counterTests() []test {
	return []test{
		{"counter/numbers in a row", counterRow},
		{"counter/signer that is not open", counterUnknown},
		{"counter/window is full", counterFull},
		{"counter/frozen", counterFrozen},
		{"counter/no number for a claim that is not had", counterNoWaste},
		{"counter/taking over keeps the number", counterTakeover},
		{"counter/dead slot, new number", counterDead},
		{"counter/stale proof of an earlier slot", counterStaleDead},
	}
}

func counterRow(f *fixture) {
	f.signer(41, 8)
	for i := range int64(3) {
		cl := f.claim(f.counted(f.taken()))
		if s := cl.Slot(); s.ID == 0 || s.Kind != intents.Counter || s.Scope != f.scope || s.Number != 41+i {
			f.Errorf("slot: got %+v, want number %d", s, 41+i)
		}
		if in := cl.Intent; in.Stored != 0 || len(cl.Attempts) != 0 || in.Calls != 1 {
			f.Errorf("bytes stored %d, attempts %d, calls %d", in.Stored, len(cl.Attempts), in.Calls)
		}
	}
	if s := f.readSigner(); s.Next != 44 || s.Open != 3 || s.Window != 8 || s.Frozen != "" {
		f.Errorf("signer: got %+v", s)
	}
}

func counterUnknown(f *fixture) {
	in := f.taken()
	if _, err := f.Claim(f.ctx, f.counted(in)); !errors.Is(err, intents.ErrNoSigner) {
		f.Errorf("got %v, want ErrNoSigner", err)
	}
	f.same(in, f.get(in.ID))
	f.sums(0, 0)
}

func counterFull(f *fixture) {
	f.signer(0, 2)
	first := f.claim(f.counted(f.taken()))
	f.claim(f.counted(f.taken()))
	in := f.taken()
	f.refused(f.counted(in), intents.WhyNoSlot)
	f.same(in, f.get(in.ID))
	f.attach(first.Slot(), 1, "tx")
	f.complete(first, intents.Result{Verdict: intents.Done, Ref: "tx"})
	if cl := f.claim(f.counted(in)); cl.Slot().Number != 2 {
		f.Errorf("number: got %d, want 2", cl.Slot().Number)
	}
}

// attach stores the bytes of a payment.
func (f *fixture) attach(s intents.Slot, no int, bytes string) intents.Attempt {
	f.Helper()
	kind := intents.First
	if no > 1 {
		kind = intents.Bump
	}
	a, err := f.Attach(f.ctx, intents.Attempt{Slot: s, No: no, Kind: kind, Bytes: []byte(bytes), Name: "name of " + bytes})
	f.must(err)
	return a
}

func counterFrozen(f *fixture) {
	f.signer(5, 8)
	f.claim(f.counted(f.taken()))
	if s := f.signer(7, 8); s.Frozen == "" || s.Next != 6 || s.Seen != 7 {
		f.Fatalf("the chain is ahead, got %+v", s)
	}
	f.refused(f.counted(f.taken()), intents.WhyFrozen)
	if s := f.readSigner(); s.Frozen == "" || s.Open != 1 {
		f.Errorf("signer: got %+v", s)
	}
}

func counterNoWaste(f *fixture) {
	f.signer(0, 8)
	f.credit(100)
	cl := f.claim(f.counted(f.taken()))
	f.refused(f.counted(cl.Intent), intents.WhyRunning)
	f.refused(f.counted(f.taken()), intents.WhyFunds)
	f.must(f.SetPaused(f.ctx, f.route, true, "tester"))
	f.refused(f.counted(f.taken()), intents.WhyPaused)
	if s := f.readSigner(); s.Next != 1 || s.Open != 1 {
		f.Errorf("signer: got %+v, want one number given out", s)
	}
}

func counterTakeover(f *fixture) {
	f.signer(3, 1)
	cl := f.lapsed(f.counted(f.taken()))
	over := f.claim(f.counted(cl.Intent)) // the window is full: it has its number already
	if over.Slot() != cl.Slot() {
		f.Errorf("slot: got %v, want %v", over.Slot(), cl.Slot())
	}
	if s := f.readSigner(); s.Next != 4 || s.Open != 1 {
		f.Errorf("signer: got %+v", s)
	}
}

// counterDead: when all bytes of a slot are proved dead, the intent gives up hold and slot, and takes the next number.
func counterDead(f *fixture) {
	f.signer(3, 1)
	cl := f.claim(f.counted(f.taken()))
	f.attach(cl.Slot(), 1, "tx")
	free := f.record(f.get(cl.Intent.ID), intents.Observation{Fact: intents.Dead, Of: 1}, intents.Patience{})
	f.stands(free, intents.Authorized, 4, "")
	if free.Slot != (intents.Slot{}) || free.Stored != 0 || free.DueAt.After(free.ReadAt) {
		f.Errorf("after the proof: %+v", free)
	}
	f.sums(0, 0)
	if _, err := f.Attach(f.ctx, intents.Attempt{Slot: cl.Slot(), No: 2, Kind: intents.Bump, Bytes: []byte("late"), Name: "late"}); !errors.Is(err, intents.ErrSlotClosed) {
		f.Errorf("attach to a dead slot: got %v, want ErrSlotClosed", err)
	}
	again := f.claim(f.counted(free))
	if s := again.Slot(); s.ID == cl.Slot().ID || s.Number != 4 || len(again.Attempts) != 0 {
		f.Errorf("claimed again: slot %+v, %d attempts", s, len(again.Attempts))
	}
	f.attach(again.Slot(), 1, "new tx")
	f.wantBytes(f.watch(f.get(free.ID)).Attempts, "new tx")
}

// counterStaleDead: a proof about an earlier slot, written late or twice, says nothing about the slot the intent has now.
func counterStaleDead(f *fixture) {
	f.signer(3, 2)
	cl := f.claim(f.counted(f.taken()))
	f.attach(cl.Slot(), 1, "tx")
	w := f.watch(f.get(cl.Intent.ID))
	dead := []intents.Observation{{Slot: w.Slot, Of: 1, Fact: intents.Dead}}
	_, err := f.Record(f.ctx, []intents.Watch{w}, dead, intents.Patience{})
	f.must(err)
	again := f.claim(f.counted(f.get(cl.Intent.ID)))
	f.attach(again.Slot(), 1, "new tx")
	_, err = f.Record(f.ctx, []intents.Watch{w}, dead, intents.Patience{})
	f.must(err)
	got := f.get(cl.Intent.ID)
	f.stands(got, intents.Settling, 5, "")
	if got.Slot != again.Slot() || got.ClaimID != again.Intent.ClaimID {
		f.Errorf("the late proof took slot %v away: %+v", again.Slot(), got)
	}
}
