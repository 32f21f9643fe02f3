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
