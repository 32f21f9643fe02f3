package storetest

import (
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func permissionTests() []test {
	return []test{
		{"permissions/not sent, first call: let go", permLetGo},
		{"permissions/not sent, counter slot: same bytes later", permNotSentCounter},
		{"permissions/not sent, second call", permNotSentLater},
		{"permissions/declined, first call", permDeclined},
		{"permissions/declined, later call proves nothing (law D)", permDeclinedLater},
		{"permissions/refused before bytes", permRefused},
		{"permissions/unknown", permUnknown},
		{"permissions/unknown, neither again nor seen", permReview},
		{"permissions/fenced", permFenced},
		{"permissions/after review", permAfterReview},
	}
}

func permLetGo(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	in := f.complete(cl, intents.Result{Verdict: intents.NotSent, After: time.Minute})
	f.stands(in, intents.Authorized, 4, "")
	if want := in.ChangedAt.Add(time.Minute); !in.TryAt.Equal(want) || !in.DueAt.Equal(want) {
		f.Errorf("try %v, due %v, want %v", in.TryAt, in.DueAt, want)
	}
	if in.Slot != cl.Slot() || in.Stored != 1 || in.Calls != 0 || in.ClaimID != "" {
		f.Errorf("let go: %+v", in)
	}
	f.sums(0, 0)
	f.refused(f.keyed(in), intents.WhyNotDue)
}

func permNotSentCounter(f *fixture) {
	cl := f.counter()
	f.attach(cl.Slot(), 1, "tx")
	in := f.complete(cl, intents.Result{Verdict: intents.NotSent, After: soon})
	f.stands(in, intents.Settling, 4, "")
	if in.Calls != 0 || in.Silent != 0 || in.ClaimID != "" || in.Slot != cl.Slot() || in.WatchAt.IsZero() {
		f.Errorf("claim ended: %+v", in)
	}
	f.sums(0, 100)
	over := f.claim(f.counted(in))
	f.wantBytes(over.Attempts, "tx")
	if over.Intent.Calls != 1 {
		f.Errorf("calls is %d: what was not sent does not count", over.Intent.Calls)
	}
}

func permNotSentLater(f *fixture) {
	old := f.lapsed(f.keyed(f.taken()))
	in := f.complete(f.claim(f.keyed(old.Intent)), intents.Result{Verdict: intents.NotSent, After: soon})
	f.stands(in, intents.Settling, 5, "") // the first call may have been
	f.sums(0, 100)
}

func permDeclined(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	in := f.complete(cl, intents.Result{Verdict: intents.Declined, Evidence: []byte(`{"status":422}`)})
	f.stands(in, intents.Failed, 4, intents.ReasonDeclined)
	f.sums(0, 0)
}

func permDeclinedLater(f *fixture) {
	old := f.lapsed(f.keyed(f.taken()))
	in := f.complete(f.claim(f.keyed(old.Intent)), intents.Result{Verdict: intents.Declined, After: soon})
	f.stands(in, intents.Settling, 5, "")
	c := f.counter()
	f.attach(c.Slot(), 1, "tx")
	f.stands(f.complete(c, intents.Result{Verdict: intents.Declined}), intents.Settling, 4, "") // a node's no ends no transaction
	f.sums(0, 200)
}

func permRefused(f *fixture) {
	cl := f.counter()
	in := f.complete(cl, intents.Result{Verdict: intents.Declined, Evidence: []byte(`{"why":"no"}`)})
	f.stands(in, intents.Failed, 4, intents.ReasonRefused)
	f.sums(0, 0)
	if s := f.readSigner(); s.Open != 1 {
		f.Errorf("open is %d: the number must be filled", s.Open)
	}
}

func permUnknown(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	in := f.complete(cl, intents.Result{After: time.Minute, Evidence: []byte(`{"error":"timeout"}`)})
	f.stands(in, intents.Settling, 4, "")
	want := in.ChangedAt.Add(time.Minute)
	if in.ClaimID != "" || in.Calls != 1 || !in.TryAt.Equal(want) || !in.DueAt.Equal(want) || !in.WatchAt.Equal(want) {
		f.Errorf("claim ended: %+v", in)
	}
	f.sums(0, 100)
	events, err := f.Events(f.ctx, in.ID)
	f.must(err)
	last := events[len(events)-1]
	if last.From != intents.Settling || last.To != intents.Settling || last.ClaimID != cl.Intent.ClaimID || !sameJSON(last.Detail, []byte(`{"error":"timeout"}`)) {
		f.Errorf("event: %+v", last)
	}
}

func permReview(f *fixture) {
	cl := f.reviewed()
	f.sums(0, 100)
	if in := f.get(cl.Intent.ID); !in.WatchAt.IsZero() || in.DueAt.IsZero() || in.ClaimID != "" {
		f.Errorf("in review: %+v", in)
	}
}

// permFenced: only the running claim may say "not sent" or "declined". What it says is kept.
func permFenced(f *fixture) {
	old := f.lapsed(f.keyed(f.taken()))
	over := f.claim(f.keyed(old.Intent))
	for _, v := range []intents.Verdict{intents.NotSent, intents.Declined, intents.Unknown} {
		_, err := f.Complete(f.ctx, old, intents.Result{Verdict: v, Evidence: []byte(`{"by":"` + v.String() + `"}`)})
		if !errors.Is(err, intents.ErrMoved) {
			f.Errorf("%s from a claim that was taken over: got %v, want ErrMoved", v, err)
		}
		if !f.noted(old.Intent.ID, intents.Evidence, `{"by":"`+v.String()+`"}`) {
			f.Errorf("evidence of %s was not kept", v)
		}
		events, err := f.Events(f.ctx, old.Intent.ID)
		f.must(err)
		if last := events[len(events)-1]; last.Kind != intents.Evidence || last.ClaimID != old.Intent.ClaimID {
			f.Errorf("evidence of %s: %+v, want it under claim %s", v, last, old.Intent.ClaimID)
		}
	}
	f.same(over.Intent, f.get(old.Intent.ID))
	f.stands(f.complete(over, intents.Result{Verdict: intents.Done}), intents.Settled, 5, "")
}

// permAfterReview: a claim that was ended by others, without another claim, permits nothing either.
func permAfterReview(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	seen := f.record(cl.Intent, intents.Observation{Fact: intents.Pending}, intents.Patience{})
	f.stands(seen, intents.Confirming, 4, "")
	_, err := f.Complete(f.ctx, cl, intents.Result{Verdict: intents.Declined, Evidence: []byte(`{"status":400}`)})
	if !errors.Is(err, intents.ErrMoved) || !f.noted(seen.ID, intents.Evidence, `{"status":400}`) {
		f.Errorf("got %v, want ErrMoved and the evidence kept", err)
	}
	f.same(seen, f.get(seen.ID))
}
