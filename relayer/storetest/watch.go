package storetest

import (
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func watchTests() []test {
	return []test{
		{"watch/lists what is due, oldest first", watchDue},
		{"watch/not before its time, not after its end", watchNot},
	}
}

func watchDue(f *fixture) {
	f.signer(0, 8)
	var want []intents.Intent
	for range 3 {
		cl := f.claim(f.counted(f.taken()))
		f.attach(cl.Slot(), 1, "one")
		f.attach(cl.Slot(), 2, "two")
		want = append(want, f.complete(cl, intents.Result{After: soon}))
	}
	ws, err := f.Watches(f.ctx, f.route, 10)
	f.must(err)
	if len(ws) != len(want) {
		f.Fatalf("got %d watches, want %d", len(ws), len(want))
	}
	for i, w := range ws {
		f.same(want[i], w.Intent)
		if w.Slot != want[i].Slot || w.Intent.ReadAt.IsZero() {
			f.Errorf("slot: got %+v, want %+v", w.Slot, want[i].Slot)
		}
		f.wantBytes(w.Attempts, "one", "two")
	}
	if ws, err = f.Watches(f.ctx, f.route, 2); err != nil || len(ws) != 2 || ws[0].Intent.ID != want[0].ID {
		f.Errorf("two at most: got %d, %v", len(ws), err)
	}
	if ws, err = f.Watches(f.ctx, f.route+"2", 10); err != nil || len(ws) != 0 {
		f.Errorf("other route: got %d, %v", len(ws), err)
	}
}

func watchNot(f *fixture) {
	f.taken()
	f.claim(f.keyed(f.taken()))
	f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.Done})
	f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.NotSent, After: soon})
	f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.Accepted, After: time.Hour})
	f.reviewed()
	ws, err := f.Watches(f.ctx, f.route, 10)
	f.must(err)
	for _, w := range ws {
		f.Errorf("nobody must look at %s, %s", w.Intent.ID, w.Intent.State)
	}
}
