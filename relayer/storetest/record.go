package storetest

import (
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func recordTests() []test {
	return []test{
		{"record/settled", recordFinal},
		{"record/reverted", recordReverted},
		{"record/pending and included confirm", recordConfirms},
		{"record/names the attempt", recordNames},
		{"record/not seen", recordNotSeen},
		{"record/patience", recordPatience},
		{"record/review ends by proof", recordReview},
		{"record/several, in order", recordSeveral},
		{"record/moved since", recordMoved},
		{"record/against an end", recordContradicts},
		{"record/again (case 38)", recordAgain},
		{"record/dead is what was looked at", recordDead},
	}
}

func (f *fixture) confirming() intents.Intent {
	f.Helper()
	return f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.Accepted, Ref: "r"})
}

func recordFinal(f *fixture) {
	cl := f.counter()
	f.attach(cl.Slot(), 1, "tx")
	in := f.record(f.get(cl.Intent.ID), intents.Observation{Fact: intents.Final, Evidence: []byte(`{"block":7}`)}, intents.Patience{})
	f.stands(in, intents.Settled, 4, "")
	if in.Ref != "name of tx" || in.Slot != cl.Slot() {
		f.Errorf("settled: %+v", in)
	}
	f.sums(-100, 0)
	if s := f.readSigner(); s.Open != 0 {
		f.Errorf("open is %d", s.Open)
	}
}

func recordReverted(f *fixture) {
	cl := f.counter()
	f.attach(cl.Slot(), 1, "tx")
	f.complete(cl, intents.Result{Verdict: intents.Accepted, Ref: "name of tx"})
	in := f.record(f.get(cl.Intent.ID), intents.Observation{Fact: intents.Reverted}, intents.Patience{})
	f.stands(in, intents.Failed, 5, intents.ReasonReverted)
	f.sums(0, 0)
	if s := f.readSigner(); s.Open != 0 {
		f.Errorf("open is %d: the number is used", s.Open)
	}
}

func recordConfirms(f *fixture) {
	for _, fact := range []intents.Fact{intents.Pending, intents.Included} {
		cl := f.claim(f.keyed(f.taken()))
		in := f.record(cl.Intent, intents.Observation{Fact: fact, After: time.Minute}, intents.Patience{})
		f.stands(in, intents.Confirming, 4, "")
		if in.Ref != in.ID || in.Silent != 0 || !in.WatchAt.Equal(in.ChangedAt.Add(time.Minute)) {
			f.Errorf("%s: %+v", fact, in)
		}
	}
}

// recordNames: the reference is the name of the attempt that is spoken of, of the last one when it is the slot, or what
// the other side calls it.
func recordNames(f *fixture) {
	f.signer(0, 8)
	for _, tt := range []struct {
		o    intents.Observation
		want string
	}{
		{intents.Observation{Fact: intents.Pending, No: 1}, "name of one"},
		{intents.Observation{Fact: intents.Pending, No: 2}, "name of two"},
		{intents.Observation{Fact: intents.Pending}, "name of two"},
		{intents.Observation{Fact: intents.Pending, No: 1, Ref: "0xabc"}, "0xabc"},
	} {
		cl := f.claim(f.counted(f.taken()))
		f.attach(cl.Slot(), 1, "one")
		f.attach(cl.Slot(), 2, "two")
		if in := f.record(f.get(cl.Intent.ID), tt.o, intents.Patience{}); in.Ref != tt.want {
			f.Errorf("attempt %d, ref %q: got %q, want %q", tt.o.No, tt.o.Ref, in.Ref, tt.want)
		}
	}
}

func recordNotSeen(f *fixture) {
	in := f.confirming()
	got := f.record(in, intents.Observation{After: time.Minute}, intents.Patience{ConfirmAfter: time.Hour})
	f.stands(got, intents.Confirming, 4, "")
	if d := got.WatchAt.Sub(got.ReadAt); d < 30*time.Second || d > time.Minute {
		f.Errorf("watched again in %v, want in about a minute", d)
	}
}

func recordPatience(f *fixture) {
	got := f.record(f.confirming(), intents.Observation{Evidence: []byte(`{"n":1}`)}, intents.Patience{ConfirmAfter: soon})
	f.stands(got, intents.NeedsReview, 5, intents.ReasonUnseen)

	c := f.keyed(f.taken())
	c.Plan.Again = intents.Never
	in := f.lapsed(c).Intent
	p := intents.Patience{ReviewAfter: time.Hour}
	f.stands(f.record(in, intents.Observation{}, p), intents.Settling, 3, "")
	p.ReviewAfter = soon
	f.stands(f.record(in, intents.Observation{}, p), intents.NeedsReview, 4, intents.ReasonAbandoned)
	f.sums(0, 200)

	in = f.lapsed(f.keyed(f.taken())).Intent // may be sent again: no reason to give up
	f.stands(f.record(in, intents.Observation{}, p), intents.Settling, 3, "")
}

func recordReview(f *fixture) {
	for fact, want := range map[intents.Fact]intents.State{
		intents.Final: intents.Settled, intents.Reverted: intents.Failed, intents.Included: intents.Confirming,
		intents.Pending: intents.NeedsReview, intents.NotSeen: intents.NeedsReview,
	} {
		in := f.record(f.confirming(), intents.Observation{}, intents.Patience{ConfirmAfter: soon})
		f.stands(in, intents.NeedsReview, 5, intents.ReasonUnseen)
		if got := f.record(in, intents.Observation{Fact: fact}, intents.Patience{}); got.State != want {
			f.Errorf("%s in review: got %s, want %s", fact, got.State, want)
		}
	}
}

func recordSeveral(f *fixture) {
	var ws []intents.Watch
	var os []intents.Observation
	facts := []intents.Fact{intents.Final, intents.NotSeen, intents.Reverted, intents.Included, intents.Final}
	for _, fact := range facts {
		in := f.confirming()
		ws = append(ws, f.watch(in))
		os = append(os, intents.Observation{Slot: in.Slot, Fact: fact})
	}
	got, err := f.Record(f.ctx, ws, os, intents.Patience{})
	f.must(err)
	want := []intents.State{intents.Settled, intents.Confirming, intents.Failed, intents.Confirming, intents.Settled}
	for i, in := range got {
		if in.ID != ws[i].Intent.ID || in.State != want[i] {
			f.Errorf("%d: got %s %s, want %s %s", i, in.ID, in.State, ws[i].Intent.ID, want[i])
		}
	}
	f.sums(-200, 200)
	if got, err := f.Record(f.ctx, nil, nil, intents.Patience{}); err != nil || len(got) != 0 {
		f.Errorf("nothing observed: got %v, %v", got, err)
	}
}

// recordMoved: what was watched has moved on since. It is decided on as it stands.
func recordMoved(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	w := f.watch(cl.Intent)
	f.complete(cl, intents.Result{Verdict: intents.Accepted, Ref: "r"})
	got, err := f.Record(f.ctx, []intents.Watch{w}, []intents.Observation{{Slot: w.Slot, Fact: intents.Final}}, intents.Patience{})
	f.must(err)
	f.stands(got[0], intents.Settled, 5, "")
}

func recordContradicts(f *fixture) {
	in := f.confirming()
	w := f.watch(in)
	failed := f.record(in, intents.Observation{Fact: intents.Reverted}, intents.Patience{})
	got, err := f.Record(f.ctx, []intents.Watch{w}, []intents.Observation{{Slot: w.Slot, Fact: intents.Final, Evidence: []byte(`{"block":8}`)}}, intents.Patience{})
	f.must(err)
	f.same(failed, got[0])
	if !f.noted(in.ID, intents.Contradicted, `{"block":8}`) {
		f.Errorf("the timeline shows no contradiction")
	}
}

func recordAgain(f *fixture) {
	for _, fact := range []intents.Fact{intents.Final, intents.Reverted} {
		in := f.confirming()
		w := f.watch(in)
		first := f.record(in, intents.Observation{Fact: fact}, intents.Patience{})
		again, err := f.Record(f.ctx, []intents.Watch{w}, []intents.Observation{{Slot: w.Slot, Fact: fact}}, intents.Patience{})
		f.must(err)
		f.same(first, again[0])
	}
	f.sums(-100, 0)
}

// recordDead: a slot is dead when all of its attempts are. One that was stored after the look may live.
func recordDead(f *fixture) {
	cl := f.counter()
	f.attach(cl.Slot(), 1, "tx")
	w := f.watch(f.get(cl.Intent.ID))
	f.attach(cl.Slot(), 2, "dearer")
	before := f.get(cl.Intent.ID)
	for of := range 2 {
		for no := range 2 {
			o := intents.Observation{Slot: w.Slot, No: no, Of: of, Fact: intents.Dead, Evidence: fmt.Appendf(nil, `{"of":%d,"no":%d}`, of, no)}
			got, err := f.Record(f.ctx, []intents.Watch{w}, []intents.Observation{o}, intents.Patience{})
			f.must(err)
			f.same(before, got[0])
			if !f.noted(before.ID, intents.Evidence, string(o.Evidence)) {
				f.Errorf("attempt %d of %d: evidence was not kept", no, of)
			}
		}
	}
	f.same(before, f.get(before.ID))
	f.sums(0, 100)
	free := f.record(before, intents.Observation{Fact: intents.Dead, Of: 2}, intents.Patience{})
	f.stands(free, intents.Authorized, 4, "")
	f.sums(0, 0)
}
