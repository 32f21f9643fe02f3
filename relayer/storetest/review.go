package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/nsqrelayer/relayer/intents"
)

func reviewTests() []test {
	return []test{
		{"review/settled by a person", reviewSettle},
		{"review/failed by a person", reviewFail},
		{"review/bytes that live are not failed (case 63)", reviewAlive},
		{"review/failed, and happened after all", reviewAfterAll},
		{"review/sent again, in its slot", reviewRetry},
		{"review/sent once more, where that may pay twice", reviewOnce},
		{"review/a new slot, where nothing was sent", reviewAnew},
		{"review/the same order again (case 104)", reviewAgain},
		{"review/two at once (case 104)", reviewRace},
		{"review/what is not in review stays (case 106)", reviewOthers},
		{"review/listed, longest first", reviewList},
		{"review/unknown", reviewUnknown},
	}
}

// order is a decision about an intent as it was read.
func order(v intents.Verb, in intents.Intent, change ...func(*intents.Order)) intents.Order {
	o := intents.Order{Verb: v, Version: in.Version, Actor: "ann", Reason: "asked the bank", Ref: "ref-1"}
	for _, c := range change {
		c(&o)
	}
	return o
}

// resolve carries out an order.
func (f *fixture) resolve(id string, o intents.Order) intents.Intent {
	f.Helper()
	in, again, err := f.Resolve(f.ctx, id, o)
	f.must(err)
	if again {
		f.Errorf("%s of %s was carried out before", o.Verb, id)
	}
	return in
}

// refusedOrder wants an order to be refused, and nothing to change.
func (f *fixture) refusedOrder(in intents.Intent, o intents.Order, way string) {
	f.Helper()
	_, _, err := f.Resolve(f.ctx, in.ID, o)
	if no, ok := errors.AsType[*intents.OrderError](err); !ok || no.Way != way {
		f.Errorf("%s: got %v, want it refused with way %q", o.Verb, err, way)
	}
	f.same(in, f.get(in.ID))
}

// last is the last event of a timeline.
func (f *fixture) last(id string) intents.Event {
	f.Helper()
	events, err := f.Events(f.ctx, id)
	f.must(err)
	return events[len(events)-1]
}

func reviewSettle(f *fixture) {
	in := f.get(f.reviewed().Intent.ID)
	got := f.resolve(in.ID, order(intents.Settle, in))
	f.stands(got, intents.Settled, in.Version+1, intents.ReasonOperator)
	f.same(got, f.get(in.ID))
	f.sums(-100, 0)
	e := f.last(in.ID)
	if got.Ref != "ref-1" || e.Actor != "ann" || e.Ref != "ref-1" || !sameJSON(e.Detail, []byte(`{"did":"review settle","why":"asked the bank","ref":"ref-1"}`)) {
		f.Errorf("settled: ref %q, event %+v %s", got.Ref, e, e.Detail)
	}
}

func reviewFail(f *fixture) {
	in := f.get(f.reviewed().Intent.ID)
	f.stands(f.resolve(in.ID, order(intents.Fail, in)), intents.Failed, in.Version+1, intents.ReasonOperator)
	f.sums(0, 0)
}

// watched is a payment in review whose number is not used.
func (f *fixture) watched() intents.Intent {
	f.Helper()
	cl := f.counter()
	f.attach(cl.Slot(), 1, "tx of "+cl.Intent.ID)
	f.complete(cl, intents.Result{Verdict: intents.Accepted, Ref: "tx"})
	f.until("patience has run out", func() bool {
		in := f.record(f.get(cl.Intent.ID), intents.Observation{}, intents.Patience{ConfirmAfter: soon})
		return in.State == intents.NeedsReview
	})
	return f.get(cl.Intent.ID)
}

func reviewAlive(f *fixture) {
	in := f.watched()
	f.refusedOrder(in, order(intents.Fail, in), "cancel")
	f.refusedOrder(in, order(intents.Settle, in), "cancel")
	dead := func(o *intents.Order) { o.Seen = intents.Observation{Slot: in.Slot, Of: 1, Fact: intents.Dead} }
	bump := f.attach(in.Slot, 2, "bump") // stored since the look, under the same version
	f.refusedOrder(f.get(in.ID), order(intents.Fail, in, dead), "cancel")
	dead = func(o *intents.Order) { o.Seen = intents.Observation{Slot: in.Slot, Of: bump.No, Fact: intents.Dead} }
	f.stands(f.resolve(in.ID, order(intents.Fail, in, dead)), intents.Failed, in.Version+1, intents.ReasonOperator)
	if s := f.readSigner(); s.Open != 0 {
		f.Errorf("signer: got %+v, want its slot closed", s)
	}
	f.sums(0, 0)
}

func reviewAfterAll(f *fixture) {
	in := f.get(f.reviewed().Intent.ID)
	failed := f.resolve(in.ID, order(intents.Fail, in))
	f.refusedOrder(failed, order(intents.Settle, failed), "")
	proved := func(o *intents.Order) { o.Proved = true }
	f.stands(f.resolve(in.ID, order(intents.Settle, failed, proved)), intents.Settled, failed.Version+1, intents.ReasonOperator)
	f.sums(-100, 0)
}

// reviewRetry: the same bytes go out again in the same slot, and the hold stays all the while.
func reviewRetry(f *fixture) {
	in := f.watched()
	got := f.resolve(in.ID, order(intents.Retry, in))
	f.stands(got, intents.Settling, in.Version+1, "")
	f.sums(0, 100)
	if got.Slot != in.Slot || got.ClaimID != "" || got.DueAt.After(got.ReadAt) {
		f.Errorf("to be sent again: %+v", got)
	}
	due, err := f.Sweep(f.ctx, f.route, 10)
	f.must(err)
	if !slices.ContainsFunc(due, func(x intents.Intent) bool { return x.ID == in.ID }) {
		f.Errorf("it is not published: %+v", due)
	}
	cl := f.claim(f.counted(f.get(in.ID)))
	f.wantBytes(cl.Attempts, "tx of "+in.ID)
	f.stands(f.complete(cl, intents.Result{Verdict: intents.Accepted, Ref: "tx"}), intents.Confirming, in.Version+3, "")
}

func reviewOnce(f *fixture) {
	in := f.get(f.reviewed().Intent.ID)
	f.refusedOrder(in, order(intents.Retry, in), "twice")
	got := f.resolve(in.ID, order(intents.Retry, in, func(o *intents.Order) { o.MayPayTwice = true }))
	f.stands(got, intents.Settling, in.Version+1, intents.ReasonOnce)
	cl := f.claim(f.keyed(got))
	f.wantBytes(cl.Attempts, "bytes of "+in.ID)
	f.stands(f.complete(cl, intents.Result{}), intents.NeedsReview, in.Version+3, intents.ReasonUnknown)
	f.sums(0, 100)
}

func reviewAnew(f *fixture) {
	f.signer(7, 4)
	waits := f.taken(f.unlike("b"))
	f.record(f.sent(f.unlike("a")), f.foreign(waits.Destination, 100), intents.Patience{})
	in := f.get(waits.ID)
	f.suspected(in, 3)
	f.refusedOrder(in, order(intents.Retry, in), "twice")
	got := f.resolve(in.ID, order(intents.Retry, in, func(o *intents.Order) { o.MayPayTwice = true }))
	f.stands(got, intents.Authorized, 4, "")
	if got.Slot != (intents.Slot{}) || got.Ref != "" {
		f.Errorf("authorized again: %+v", got)
	}
	f.sums(0, 100) // the displaced one's
}

func reviewAgain(f *fixture) {
	in := f.get(f.reviewed().Intent.ID)
	o := order(intents.Settle, in)
	first := f.resolve(in.ID, o)
	second, again, err := f.Resolve(f.ctx, in.ID, o)
	f.must(err)
	if !again {
		f.Error("the same order was carried out twice")
	}
	f.same(first, second)
	o.Actor = "bob"
	_, _, err = f.Resolve(f.ctx, in.ID, o)
	moved, ok := errors.AsType[*intents.MovedError](err)
	if !ok || moved.By.Actor != "ann" || moved.By.To != intents.Settled || !moved.By.At.Equal(first.ChangedAt) {
		f.Errorf("another person is told %v", err)
	}
	o.Version = 99
	if _, _, err = f.Resolve(f.ctx, in.ID, o); err == nil {
		f.Error("a version that never was is taken")
	}
	f.same(first, f.get(in.ID))
}

// reviewRace: of two people who decide at once exactly one does.
func reviewRace(f *fixture) {
	won := map[intents.State]int{}
	for i := range 100 {
		in := f.get(f.reviewed().Intent.ID)
		orders := []intents.Order{order(intents.Settle, in), order(intents.Fail, in, func(o *intents.Order) { o.Actor = "bob" })}
		errs := make([]error, len(orders))
		var both sync.WaitGroup
		for n := range orders {
			n = (n + i) % len(orders)
			both.Go(func() { _, _, errs[n] = f.Resolve(f.ctx, in.ID, orders[n]) })
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			f.Fatalf("errors %v: want exactly one order carried out", errs)
		}
		moved, ok := errors.AsType[*intents.MovedError](errors.Join(errs...))
		got := f.get(in.ID)
		if !ok || moved.By.To != got.State || got.Version != in.Version+1 {
			f.Fatalf("%s v%d; the other is told %v", got.State, got.Version, moved)
		}
		won[got.State]++
	}
	f.Logf("won: %v", won)
}

func reviewOthers(f *fixture) {
	made, err := f.Create(f.ctx, f.intent(), false, "tester")
	f.must(err)
	claimed := f.claim(f.keyed(f.taken()))
	accepted := f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.Accepted, Ref: "r"})
	done := f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.Done, Ref: "r"})
	declined := f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.Declined})
	for _, in := range []intents.Intent{made, f.taken(), claimed.Intent, accepted, done, declined} {
		o := order(intents.Retry, in, func(o *intents.Order) { o.MayPayTwice = true })
		_, _, err := f.Resolve(f.ctx, in.ID, o)
		if no, ok := errors.AsType[*intents.TransitionError](err); !ok || no.From != in.State {
			f.Errorf("retry of %s: %v, want a transition error", in.State, err)
		}
		f.same(in, f.get(in.ID))
	}
}

func reviewList(f *fixture) {
	var want []string
	for range 3 {
		want = append(want, f.reviewed().Intent.ID)
	}
	f.taken()
	f.stands(f.resolve(want[1], order(intents.Fail, f.get(want[1]))), intents.Failed, 5, intents.ReasonOperator)
	ids := func(ins []intents.Intent, err error) string {
		f.must(err)
		var out []string
		for _, in := range ins {
			out = append(out, in.ID)
		}
		return fmt.Sprint(out)
	}
	if got := ids(f.Reviews(f.ctx, f.route, 0)); got != fmt.Sprint([]string{want[0], want[2]}) {
		f.Errorf("in review: %s, want the first and the last of %s", got, want)
	}
	if got := ids(f.Reviews(f.ctx, f.route, 1)); got != fmt.Sprint(want[:1]) {
		f.Errorf("the one longest in review: %s, want %s", got, want[0])
	}
	if got := ids(f.Reviews(f.ctx, f.route+".none", 0)); got != "[]" {
		f.Errorf("of another route: %s", got)
	}
	all, err := f.Reviews(f.ctx, "", 10_000)
	f.must(err)
	if !slices.ContainsFunc(all, func(in intents.Intent) bool { return in.ID == want[2] }) {
		f.Errorf("of all routes: %d, without %s", len(all), want[2])
	}
}

func reviewUnknown(f *fixture) {
	o := intents.Order{Verb: intents.Fail, Version: 1, Actor: "ann", Reason: "x"}
	if _, _, err := f.Resolve(f.ctx, f.name("pi"), o); !errors.Is(err, intents.ErrNotFound) {
		f.Errorf("got %v, want ErrNotFound", err)
	}
}
