package storetest

import (
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func factTests() []test {
	return []test{
		{"facts/accepted", factAccepted},
		{"facts/done", factDone},
		{"facts/accepted, then done", factBoth},
		{"facts/under another's claim", factTakenOver},
		{"facts/from review", factReview},
		{"facts/against an end", factContradicted},
		{"facts/against a proof that it was not sent", factLetGo},
		{"facts/against a proof that it is dead", factDead},
		{"facts/again (case 38)", factAgain},
		{"facts/credit with the intent's id as reference", factRefTaken},
		{"facts/evidence", factEvidence},
	}
}

func factAccepted(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	in := f.complete(cl, intents.Result{Verdict: intents.Accepted, Ref: "0xabc", After: time.Minute})
	f.stands(in, intents.Confirming, 4, "")
	if in.Ref != "0xabc" || !in.WatchAt.Equal(in.ChangedAt.Add(time.Minute)) || in.ClaimID != "" || in.Silent != 0 || in.DueAt.IsZero() {
		f.Errorf("accepted: got %+v", in)
	}
	f.sums(0, 100)
	f.same(in, f.get(in.ID))
}

func factDone(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	in := f.complete(cl, intents.Result{Verdict: intents.Done, Ref: "id-1"})
	f.stands(in, intents.Settled, 4, "")
	if in.Ref != "id-1" || !in.DueAt.IsZero() || !in.WatchAt.IsZero() || !in.TryAt.IsZero() {
		f.Errorf("done: got %+v", in)
	}
	f.sums(-100, 0)
}

func factBoth(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	f.complete(cl, intents.Result{Verdict: intents.Accepted, Ref: "r"})
	in := f.complete(cl, intents.Result{Verdict: intents.Done})
	f.stands(in, intents.Settled, 5, "")
	if in.Ref != "r" {
		f.Errorf("ref: got %q", in.Ref)
	}
	f.sums(-100, 0)
	f.same(in, f.complete(cl, intents.Result{Verdict: intents.Accepted, Ref: "r"}))
}

// factTakenOver: law C. What is true is true whoever brings it; a permission of the same claim is void.
func factTakenOver(f *fixture) {
	old := f.lapsed(f.keyed(f.taken()))
	over := f.claim(f.keyed(old.Intent))
	f.stands(f.complete(old, intents.Result{Verdict: intents.Accepted, Ref: "r"}), intents.Confirming, 5, "")
	if _, err := f.Complete(f.ctx, over, intents.Result{Verdict: intents.NotSent}); !errors.Is(err, intents.ErrMoved) {
		f.Errorf("not sent after it was accepted: got %v, want ErrMoved", err)
	}
	f.stands(f.get(old.Intent.ID), intents.Confirming, 5, "")
}

func (f *fixture) reviewed() intents.Claimed {
	f.Helper()
	c := f.keyed(f.taken())
	c.Plan.Again, c.Plan.Seen = intents.Never, false
	cl := f.claim(c)
	f.stands(f.complete(cl, intents.Result{}), intents.NeedsReview, 4, intents.ReasonUnknown)
	return cl
}

func factReview(f *fixture) {
	cl := f.reviewed()
	f.sums(0, 100)
	in := f.complete(cl, intents.Result{Verdict: intents.Accepted, Ref: "r"})
	f.stands(in, intents.Confirming, 5, "")
	cl = f.reviewed()
	f.stands(f.complete(cl, intents.Result{Verdict: intents.Done}), intents.Settled, 5, "")
	f.sums(-100, 100)
}

// factContradicted: a failed intent does not move, but the timeline shows the alarm.
func factContradicted(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	failed := f.complete(cl, intents.Result{Verdict: intents.Declined})
	f.stands(failed, intents.Failed, 4, intents.ReasonDeclined)
	got := f.complete(cl, intents.Result{Verdict: intents.Done, Evidence: []byte(`{"status":200}`)})
	f.same(failed, got)
	if !f.noted(failed.ID, intents.Contradicted, `{"status":200}`) {
		f.Errorf("the timeline shows no contradiction")
	}
	f.sums(0, 0)
}

// factLetGo: it was let go as not sent, and may be sent again, but a late answer says that it happened. A person decides:
// it is held again and nobody sends it.
func factLetGo(f *fixture) {
	for n, v := range []intents.Verdict{intents.Accepted, intents.Done} {
		first := f.claim(costly(f.keyed(f.taken()), 10))
		again := f.keyed(f.complete(first, intents.Result{Verdict: intents.NotSent, After: soon}))
		free := f.complete(f.claim(costly(again, 10)), intents.Result{Verdict: intents.NotSent, After: soon})
		f.stands(free, intents.Authorized, 6, "")
		f.sums(0, int64(n)*110)
		in := f.complete(first, intents.Result{Verdict: v, Ref: "late", Evidence: []byte(`{"status":200}`)})
		f.contradicted(in, free.Version+1)
		f.sums(0, int64(n+1)*110)
		if in.Slot != first.Slot() || in.Stored != 1 || !in.WatchAt.Equal(in.ChangedAt.Add(intents.MostRetry)) {
			f.Errorf("%s: slot and watching go on: %+v", v, in)
		}
		f.refused(f.keyed(free), intents.WhyMoved)
	}
}

// contradicted wants a row that a late fact brought to a person, and that nobody may claim, cancel or publish.
func (f *fixture) contradicted(in intents.Intent, version int) {
	f.Helper()
	f.stands(in, intents.NeedsReview, version, intents.ReasonOddity)
	if in.Ref != "late" || in.ClaimID != "" || !in.TryAt.IsZero() || !in.DueAt.Equal(in.ChangedAt.Add(intents.MostPush)) {
		f.Errorf("in review: %+v", in)
	}
	events, err := f.Events(f.ctx, in.ID)
	f.must(err)
	last := events[len(events)-1]
	if last.Kind != intents.Changed || last.From != intents.Authorized || last.Ref != "late" || !sameJSON(last.Detail, []byte(`{"status":200}`)) {
		f.Errorf("event: %+v", last)
	}
	f.refused(f.keyed(in), intents.WhyMoved)
	f.notCanceled(in)
	f.dueNow(in)
	if got := f.sweep(10); len(got) != 0 {
		f.Errorf("published %+v", got)
	}
	f.stands(f.get(in.ID), intents.NeedsReview, version, intents.ReasonOddity)
}

func factDead(f *fixture) {
	f.signer(3, 8)
	cl := f.claim(costly(f.counted(f.taken()), 10))
	f.attach(cl.Slot(), 1, "tx")
	free := f.record(f.get(cl.Intent.ID), intents.Observation{Fact: intents.Dead, Of: 1}, intents.Patience{})
	f.stands(free, intents.Authorized, 4, "")
	f.sums(0, 0)
	in := f.complete(cl, intents.Result{Verdict: intents.Done, Ref: "late", Evidence: []byte(`{"status":200}`)})
	f.contradicted(in, 5)
	f.sums(0, 100) // what it cost is not known any more
	if in.Slot != (intents.Slot{}) || f.readSigner().Open != 0 {
		f.Errorf("slot %v, signer %+v", in.Slot, f.readSigner())
	}
	f.refused(f.counted(free), intents.WhyMoved)
}

// noted looks for a note in the timeline.
func (f *fixture) noted(id string, kind intents.EventKind, detail string) bool {
	f.Helper()
	events, err := f.Events(f.ctx, id)
	f.must(err)
	for _, e := range events {
		if e.Kind == kind && sameJSON(e.Detail, []byte(detail)) {
			return true
		}
	}
	return false
}

func factAgain(f *fixture) {
	f.signer(0, 8)
	for _, v := range []intents.Verdict{intents.Accepted, intents.Done} {
		cl := f.claim(f.counted(f.taken()))
		f.attach(cl.Slot(), 1, "tx")
		r := intents.Result{Verdict: v, Ref: "tx", Evidence: []byte(`{"n":1}`)}
		first := f.complete(cl, r)
		events, err := f.Events(f.ctx, first.ID)
		f.must(err)
		for range 2 {
			f.same(first, f.complete(cl, r))
		}
		again, err := f.Events(f.ctx, first.ID)
		f.must(err)
		if len(again) != len(events) {
			f.Errorf("%s again: %d events, then %d", v, len(events), len(again))
		}
	}
	f.sums(-100, 100)
	if s := f.readSigner(); s.Open != 1 {
		f.Errorf("open is %d, want 1", s.Open)
	}
}

// factRefTaken: a credit's reference and an intent's id may be the same text, and must not stand in each other's way.
func factRefTaken(f *fixture) {
	in := f.taken()
	e := intents.Entry{Account: in.Account, Asset: in.Asset, Amount: intents.NewAmount(100), Ref: in.ID}
	_, err := f.Credit(f.ctx, e)
	f.must(err)
	f.complete(f.claim(f.keyed(in)), intents.Result{Verdict: intents.Done})
	f.sums(0, 0)
	_, err = f.Credit(f.ctx, e)
	f.must(err)
	f.sums(0, 0)
}

// factEvidence: what a server answered must never stand against writing what it means. Escaped NULs are valid JSON.
func factEvidence(f *fixture) {
	for _, detail := range []string{``, `{}`, `{"a":[1,2,{"b":"c"}],"big":33066915805160912602}`, `{"body":"a\u0000b"}`, `{"body":"\ud800"}`, `"text"`, `null`} {
		cl := f.claim(f.keyed(f.taken()))
		in := f.complete(cl, intents.Result{Verdict: intents.Done, Ref: "r", Evidence: []byte(detail)})
		f.stands(in, intents.Settled, 4, "")
		events, err := f.Events(f.ctx, in.ID)
		f.must(err)
		last := events[len(events)-1]
		if last.Version != 4 || last.Ref != "r" || (len(last.Detail) > 0) != (detail != "") {
			f.Errorf("evidence %s: event %+v", detail, last)
		}
	}
}
