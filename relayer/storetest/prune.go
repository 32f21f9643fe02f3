package storetest

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func pruneTests() []test {
	return []test{
		{"prune/a tombstone stays, and answers for the id", pruneTombstone},
		{"prune/what is open stays", pruneOpen},
		{"prune/what ended too late, or on another route, stays", pruneYoung},
		{"prune/a number to be filled stays with its intent", pruneFiller},
		{"prune/what nobody has looked at stays", pruneAlarm},
		{"prune/who comes late finds nothing to change", pruneLate},
		{"prune/only counted, or only so many", pruneLimit},
		{"prune/numbers go on", pruneNumbers},
		{"prune/two at once", pruneRace},
	}
}

// aged chooses all of the test that is final.
func (f *fixture) aged() intents.Prune {
	return intents.Prune{Before: time.Now().Add(24 * time.Hour), Route: f.route}
}

// prune prunes and wants so many to have gone, and these to have stayed.
func (f *fixture) prune(p intents.Prune, gone int, kept map[intents.Kept]int) intents.Pruned {
	f.Helper()
	told := 0
	done, err := f.Prune(f.ctx, p, func(more int) { told += more })
	f.must(err)
	if done.Total() != gone || told != gone || !maps.Equal(done.Kept, kept) {
		f.Fatalf("pruned %v, told %d, kept %v; want %d, kept %v", done.Intents, told, done.Kept, gone, kept)
	}
	return done
}

// settled carries out an intent.
func (f *fixture) settled(change ...func(*intents.Intent)) intents.Intent {
	f.Helper()
	return f.complete(f.claim(f.keyed(f.taken(change...))), intents.Result{Verdict: intents.Done, Ref: f.tag + ".ref"})
}

// tombstone wants only that to be left of an intent.
func (f *fixture) tombstone(in intents.Intent) {
	f.Helper()
	got := f.get(in.ID)
	want := intents.Tombstone(in, got.PrunedAt)
	if want.ReadAt = got.ReadAt; plain(got) != plain(want) || got.PrunedAt.IsZero() {
		f.Errorf("left of it: %+v, want %+v", got, want)
	}
	events, err := f.Events(f.ctx, in.ID)
	f.must(err)
	attempts, err := f.Attempts(f.ctx, in.ID)
	f.must(err)
	if len(events)+len(attempts) > 0 {
		f.Errorf("events %v, attempts %v", events, attempts)
	}
}

func pruneTombstone(f *fixture) {
	asked := f.intent(func(in *intents.Intent) {
		in.Metadata, in.NotBefore = map[string]string{"größe": "ü"}, time.Now().Add(-time.Hour)
	})
	in := f.complete(f.claim(f.keyed(f.take(full(asked)))), intents.Result{Verdict: intents.Done, Ref: "0xref"})
	done := f.prune(f.aged(), 1, nil)
	if done.Intents[intents.Settled] != 1 {
		f.Errorf("by how they ended: %v", done.Intents)
	}
	f.tombstone(in)
	for name, m := range map[string]intents.Message{"full": full(asked), "reference": ref(asked)} {
		if got := f.take(m); got.State != intents.Settled || got.Version != in.Version || got.Ref != "0xref" || got.Key != in.Key || !got.CreatedAt.Equal(in.CreatedAt) {
			f.Errorf("%s again: %+v", name, got)
		}
	}
	if got, err := f.Create(f.ctx, asked, true, "tester"); err != nil || got.State != intents.Settled {
		f.Errorf("created again: %+v, %v", got, err)
	}
	f.buried(asked)
	f.sums(-100, 0)
	if ids := f.list(intents.Filter{Route: f.route}); len(ids) > 0 {
		f.Errorf("listed: %v", ids)
	}
	f.prune(f.aged(), 0, nil)
}

// buried wants an id that was pruned not to be had for anything else.
func (f *fixture) buried(asked intents.Intent) {
	f.Helper()
	other := asked
	other.Amount = intents.NewAmount(7)
	moved := ref(asked)
	moved.Route += "x"
	for why, m := range map[string]intents.Message{"content": full(other), "route": moved} {
		got, err := f.Take(f.ctx, m)
		if no, ok := errors.AsType[*intents.ConflictError](err); !ok || no.Why != why || no.Have == no.Got {
			f.Errorf("another %s: %+v, %v", why, got, err)
		}
	}
	if _, err := f.Create(f.ctx, other, true, "tester"); word(err) == "<nil>" {
		f.Error("created with another content")
	}
}

func pruneOpen(f *fixture) {
	f.signer(0, 8)
	created, err := f.Create(f.ctx, f.intent(), false, "tester")
	f.must(err)
	all := []intents.Intent{created, f.taken(), f.claim(f.keyed(f.taken())).Intent,
		f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.Accepted, Ref: "r"}),
		f.complete(f.claim(f.never(f.taken())), intents.Result{Verdict: intents.Unknown})}
	f.stands(all[4], intents.NeedsReview, 4, intents.ReasonUnknown)
	f.prune(f.aged(), 0, nil)
	for _, in := range all {
		f.same(in, f.get(in.ID))
	}
}

// never asks for a claim whose bytes may be sent once, and are never seen.
func (f *fixture) never(in intents.Intent) intents.Claim {
	c := f.keyed(in)
	c.Plan.Again, c.Plan.Seen = intents.Never, false
	return c
}

func pruneYoung(f *fixture) {
	old := f.settled()
	f.until("the clock has moved on", func() bool { return f.get(old.ID).ReadAt.After(old.ChangedAt) })
	waits := f.taken()
	young, other := f.settled(), f.settled(func(in *intents.Intent) { in.Route += ".other" })
	late := f.complete(f.claim(f.keyed(waits)), intents.Result{Verdict: intents.Done})
	p := f.aged()
	p.Before = young.ChangedAt
	f.prune(p, 1, nil)
	f.tombstone(old)
	for _, in := range []intents.Intent{young, other, late} {
		f.same(in, f.get(in.ID))
	}
}

// pruneFiller: an intent that failed before it had bytes leaves a number to be filled.
func pruneFiller(f *fixture) {
	f.signer(0, 8)
	failed := f.complete(f.counter(), intents.Result{Verdict: intents.Declined})
	f.stands(failed, intents.Failed, 4, intents.ReasonRefused)
	f.prune(f.aged(), 0, map[intents.Kept]int{intents.KeptSlot: 1})
	f.same(failed, f.get(failed.ID))
	ws, err := f.Watches(f.ctx, f.route, 10)
	f.must(err)
	if len(ws) != 1 {
		f.Fatalf("to be filled: %+v", ws)
	}
	_, err = f.Record(f.ctx, ws, []intents.Observation{{Slot: ws[0].Slot, Fact: intents.Final}}, intents.Patience{})
	f.must(err)
	f.prune(f.aged(), 1, nil)
	f.tombstone(failed)
}

func pruneAlarm(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	failed := f.complete(cl, intents.Result{Verdict: intents.Declined})
	f.same(failed, f.complete(cl, intents.Result{Verdict: intents.Done, Evidence: []byte(`{"status":200}`)}))
	if !f.noted(failed.ID, intents.Contradicted, `{"status":200}`) {
		f.Fatal("no alarm")
	}
	if done := f.prune(f.aged(), 0, map[intents.Kept]int{intents.KeptAlarm: 1}); !slices.Equal(done.Alarms, []string{failed.ID}) {
		f.Errorf("told of: %v", done.Alarms)
	}
	f.same(failed, f.get(failed.ID))
	f.must(f.Note(f.ctx, failed.ID, "ann", []byte(`{"note":"paid back"}`)))
	f.prune(f.aged(), 1, nil)
	f.tombstone(failed)
}

func pruneLate(f *fixture) {
	f.signer(0, 8)
	cl := f.counter()
	f.attach(cl.Slot(), 1, "tx")
	in := f.record(cl.Intent, intents.Observation{Fact: intents.Final, No: 1}, intents.Patience{})
	f.stands(in, intents.Settled, 4, "")
	f.prune(f.aged(), 1, nil)
	f.tombstone(in)
	seen, err := f.Record(f.ctx, []intents.Watch{{Intent: in, Slot: cl.Slot()}}, []intents.Observation{{Slot: cl.Slot(), Fact: intents.Reverted, No: 1}}, intents.Patience{})
	if err != nil || len(seen) != 1 || seen[0].ID != "" {
		f.Errorf("seen: %+v, %v", seen, err)
	}
	only := func(_ any, err error) error { return err }
	_, again, order := f.Resolve(f.ctx, in.ID, intents.Order{Verb: intents.Settle, Version: 4, Actor: "ann", Reason: "r", Ref: "r"})
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"complete":  {only(f.Complete(f.ctx, cl, intents.Result{Verdict: intents.Done})), intents.ErrNotFound.Error()},
		"attach":    {only(f.Attach(f.ctx, intents.Attempt{Slot: cl.Slot(), No: 2, Kind: intents.Bump, Bytes: []byte("b")})), intents.ErrSlotClosed.Error()},
		"park":      {f.Park(f.ctx, in, 0), intents.ErrMoved.Error()},
		"refuse":    {only(f.Refuse(f.ctx, in, intents.ReasonRefused, nil)), intents.ErrMoved.Error()},
		"claim":     {only(f.Claim(f.ctx, f.keyed(in))), "not claimed: " + string(intents.WhyMoved)},
		"cancel":    {only(f.Cancel(f.ctx, in.ID, "ann")), "pruned, settled"},
		"authorize": {only(f.Authorize(f.ctx, in.ID, "ann")), "pruned, settled"},
		"note":      {f.Note(f.ctx, in.ID, "ann", []byte(`{}`)), "pruned, settled"},
		"resolve":   {order, "pruned, settled"},
	} {
		if got := word(tt.err); got != tt.want {
			f.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	if again {
		f.Error("the order was not carried out before")
	}
	f.tombstone(in)
}

func pruneLimit(f *fixture) {
	var all []intents.Intent
	for range 3 {
		all = append(all, f.settled())
	}
	canceled, err := f.Cancel(f.ctx, f.taken().ID, "ann")
	f.must(err)
	p := f.aged()
	p.DryRun = true
	if done := f.prune(p, 4, nil); done.Intents[intents.Canceled] != 1 || done.Intents[intents.Settled] != 3 {
		f.Errorf("counted %v", done.Intents)
	}
	for _, in := range all {
		f.same(in, f.get(in.ID))
	}
	p = f.aged()
	p.Limit = 2
	f.prune(p, 2, nil)
	f.tombstone(all[0])
	f.tombstone(all[1])
	f.same(all[2], f.get(all[2].ID))
	f.same(canceled, f.get(canceled.ID))
}

// pruneNumbers: the audit at the test's end wants a signer's numbers in a row.
func pruneNumbers(f *fixture) {
	f.signer(5, 8)
	done := func() intents.Intent {
		cl := f.counter()
		f.attach(cl.Slot(), 1, "tx")
		return f.record(cl.Intent, intents.Observation{Fact: intents.Final, No: 1}, intents.Patience{})
	}
	done()
	done()
	open := f.counter()
	f.attach(open.Slot(), 1, "tx")
	done()
	f.prune(f.aged(), 3, nil)
	f.wantLines(f.inspected(intents.CheckNumbers, intents.Audit{}))
	if s := f.readSigner(); s.Next != 9 || s.Open != 1 {
		f.Errorf("signer: %+v", s)
	}
	if as := f.watch(open.Intent).Attempts; len(as) != 1 {
		f.Errorf("of what is open: %+v", as)
	}
	f.stands(f.record(open.Intent, intents.Observation{Fact: intents.Final, No: 1}, intents.Patience{}), intents.Settled, 4, "")
	f.prune(f.aged(), 1, nil)
	if n := f.counter().Slot().Number; n != 9 {
		f.Errorf("the next number is %d, want 9", n)
	}
}

func pruneRace(f *fixture) {
	f.signer(0, 64)
	var all []intents.Intent
	for range 20 {
		cl := f.counter()
		f.attach(cl.Slot(), 1, "tx")
		all = append(all, f.record(cl.Intent, intents.Observation{Fact: intents.Final, No: 1}, intents.Patience{}), f.settled())
	}
	var both sync.WaitGroup
	gone := make([]int, 3)
	for i := range gone {
		both.Go(func() {
			done, err := f.Prune(f.ctx, f.aged(), nil)
			if err != nil {
				f.Errorf("prune: %v", err)
			}
			gone[i] = done.Total()
		})
	}
	both.Wait()
	if sum := gone[0] + gone[1] + gone[2]; sum != len(all) {
		f.Errorf("pruned %v, want %d in all", gone, len(all))
	}
	for _, in := range all {
		f.tombstone(in)
	}
}
