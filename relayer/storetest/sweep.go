package storetest

import (
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func sweepTests() []test {
	return []test{
		{"sweep/publishes what is due, oldest first", sweepDue},
		{"sweep/pushes on, doubling", sweepPushes},
		{"sweep/counts anew when it moved", sweepCountsAnew},
		{"sweep/expired fail", sweepExpired},
		{"sweep/others are pushed on only", sweepOthers},
		{"sweep/paused", sweepPaused},
		{"sweep/loses against a result (case 52)", sweepRace},
		{"waiting/what nobody looked at", waiting},
	}
}

// slack is what a slow machine may put between the moment a store decides for and the one it reads. The steps compared are
// minutes.
const slack = 20 * time.Second

// dueNow makes an intent due.
func (f *fixture) dueNow(in intents.Intent) {
	f.Helper()
	f.must(f.Park(f.ctx, in, 0))
}

// sweep sweeps the test's route.
func (f *fixture) sweep(most int) []intents.Intent {
	f.Helper()
	ins, err := f.Sweep(f.ctx, f.route, most)
	f.must(err)
	return ins
}

func sweepDue(f *fixture) {
	f.taken() // not due
	a, b := f.taken(), f.lapsed(f.keyed(f.taken())).Intent
	c := f.taken()
	other := f.taken(func(in *intents.Intent) { in.Route += "2" })
	for _, in := range []intents.Intent{b, c, a, other} {
		f.dueNow(in)
	}
	got := f.sweep(2)
	if len(got) != 2 || got[0].ID != b.ID || got[1].ID != c.ID {
		f.Fatalf("got %+v, want two: %s, %s", got, b.ID, c.ID)
	}
	if want := got[0].ReadAt.Add(intents.Grace); got[0].DueAt.Sub(want).Abs() > slack || got[0].Version != b.Version {
		f.Errorf("due is %v, want %v; v%d", got[0].DueAt, want, got[0].Version)
	}
	if got = f.sweep(10); len(got) != 1 || got[0].ID != a.ID {
		f.Fatalf("got %+v, want %s", got, a.ID)
	}
	f.same(got[0], f.get(a.ID))
	if got = f.sweep(10); len(got) != 0 {
		f.Errorf("nothing is due, got %+v", got)
	}
}

func sweepPushes(f *fixture) {
	in := f.taken()
	for n := range 6 {
		f.dueNow(in)
		got := f.sweep(10)
		if len(got) != 1 {
			f.Fatalf("look %d: got %d", n, len(got))
		}
		if by := got[0].DueAt.Sub(got[0].ReadAt); (by - intents.PushBy(n)).Abs() > slack {
			f.Errorf("look %d: pushed by %v, want %v", n, by, intents.PushBy(n))
		}
	}
	f.stands(f.get(in.ID), intents.Authorized, 2, "")
}

func sweepCountsAnew(f *fixture) {
	in := f.taken()
	for range 3 {
		f.dueNow(in)
		f.sweep(10)
	}
	in = f.complete(f.claim(f.keyed(in)), intents.Result{After: soon})
	got := f.sweep(10)
	if len(got) != 1 || (got[0].DueAt.Sub(got[0].ReadAt)-intents.Grace).Abs() > slack {
		f.Errorf("first look at v%d: got %+v, want a push by %v", in.Version, got, intents.Grace)
	}
}

func sweepExpired(f *fixture) {
	past := func(in *intents.Intent) { in.ExpiresAt = time.Now().Add(-time.Minute) }
	in := f.taken(past)
	held := f.taken()
	f.dueNow(in)
	f.dueNow(held)
	if got := f.sweep(10); len(got) != 1 || got[0].ID != held.ID {
		f.Errorf("published %+v", got)
	}
	f.stands(f.get(in.ID), intents.Failed, 3, intents.ReasonExpired)
}

func sweepOthers(f *fixture) {
	review := f.get(f.reviewed().Intent.ID)
	confirming := f.confirming()
	f.dueNow(review)
	f.dueNow(confirming)
	if got := f.sweep(10); len(got) != 0 {
		f.Errorf("published %+v", got)
	}
	for _, before := range []intents.Intent{review, confirming} {
		in := f.get(before.ID)
		f.stands(in, before.State, before.Version, before.Reason)
		if !in.DueAt.After(in.ReadAt) {
			f.Errorf("%s is due at %v still", in.State, in.DueAt)
		}
	}
}

// sweepPaused: nothing of a paused route is published, but what expires there expires.
func sweepPaused(f *fixture) {
	in := f.taken()
	old := f.taken(func(in *intents.Intent) { in.ExpiresAt = time.Now().Add(-time.Minute) })
	f.dueNow(in)
	f.dueNow(old)
	f.must(f.SetPaused(f.ctx, f.route, true, "tester"))
	if got := f.sweep(1); len(got) != 0 { // one: what is only paused must not stand in front
		f.Errorf("published %+v", got)
	}
	f.stands(f.get(old.ID), intents.Failed, 3, intents.ReasonExpired)
	f.must(f.SetPaused(f.ctx, f.route, false, "tester"))
	if got := f.sweep(10); len(got) != 1 || got[0].ID != in.ID {
		f.Errorf("resumed: published %+v", got)
	}
}

// sweepRace: the sweeper reads rows as under way and must not write over what is settled meanwhile.
func sweepRace(f *fixture) {
	for range 50 {
		cl := f.lapsed(f.keyed(f.taken()))
		f.dueNow(cl.Intent)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = f.Sweep(f.ctx, f.route, 10) })
		wg.Go(func() {
			if _, err := f.Complete(f.ctx, cl, intents.Result{Verdict: intents.Done, Ref: "r"}); err != nil {
				f.Errorf("complete: %v", err)
			}
		})
		wg.Wait()
		in := f.get(cl.Intent.ID)
		f.stands(in, intents.Settled, 4, "")
		if !in.DueAt.IsZero() || in.Ref != "r" {
			f.Fatalf("swept over: %+v", in)
		}
	}
}

func waiting(f *fixture) {
	for range 4 {
		f.dueNow(f.taken())
	}
	ins := f.sweep(10)
	if len(ins) != 4 {
		f.Fatalf("published %d, want 4", len(ins))
	}
	f.claim(f.keyed(ins[0]))                 // moved
	f.must(f.Park(f.ctx, ins[1], time.Hour)) // looked at
	f.dueNow(ins[2])                         // due again
	ins = append(ins, f.get(ins[2].ID))      // nothing changed since, but it is due now
	got, err := f.Waiting(f.ctx, append(ins, f.intent()))
	f.must(err)
	if len(got) != 1 || got[0].ID != ins[3].ID {
		f.Errorf("waiting: got %+v, want %s alone", got, ins[3].ID)
	}
}
