package storetest

import (
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func deskTests() []test {
	return []test{
		{"park/says when to look again", park},
		{"park/moved", parkMoved},
		{"refuse/fails it", refuse},
		{"refuse/moved", refuseMoved},
		{"ping/can be written to", ping},
	}
}

func park(f *fixture) {
	in := f.taken()
	for _, wait := range []time.Duration{time.Hour, 0, -time.Second, time.Hour} {
		f.must(f.Park(f.ctx, in, wait))
		got := f.get(in.ID)
		if at := got.ReadAt.Add(max(wait, 0)); got.DueAt.After(at) || at.Sub(got.DueAt) > time.Minute || got.Version != in.Version {
			f.Errorf("parked for %v: due %v, now %v", wait, got.DueAt, got.ReadAt)
		}
	}
	cl := f.lapsed(f.keyed(in))
	f.must(f.Park(f.ctx, cl.Intent, time.Hour))
	f.stands(f.get(in.ID), intents.Settling, 3, "")
}

func parkMoved(f *fixture) {
	in := f.taken()
	done := f.complete(f.claim(f.keyed(in)), intents.Result{Verdict: intents.Done})
	for _, read := range []intents.Intent{in, done} {
		if err := f.Park(f.ctx, read, time.Hour); !errors.Is(err, intents.ErrMoved) {
			f.Errorf("park at v%d: got %v, want ErrMoved", read.Version, err)
		}
	}
	f.same(done, f.get(in.ID))
}

func refuse(f *fixture) {
	in, err := f.Refuse(f.ctx, f.taken(), intents.ReasonRefused, []byte(`{"why":"no such asset"}`))
	f.must(err)
	f.stands(in, intents.Failed, 3, intents.ReasonRefused)
	events, err := f.Events(f.ctx, in.ID)
	f.must(err)
	if last := events[len(events)-1]; last.Reason != intents.ReasonRefused || !sameJSON(last.Detail, []byte(`{"why":"no such asset"}`)) {
		f.Errorf("event: %+v", last)
	}
	in, err = f.Refuse(f.ctx, f.taken(), intents.ReasonExpired, nil)
	f.must(err)
	f.stands(in, intents.Failed, 3, intents.ReasonExpired)
}

func refuseMoved(f *fixture) {
	in := f.taken()
	cl := f.claim(f.keyed(in))
	for _, read := range []intents.Intent{in, cl.Intent} {
		if _, err := f.Refuse(f.ctx, read, intents.ReasonRefused, nil); !errors.Is(err, intents.ErrMoved) {
			f.Errorf("refuse at v%d: got %v, want ErrMoved", read.Version, err)
		}
	}
	f.same(cl.Intent, f.get(in.ID))
}

func ping(f *fixture) {
	f.must(f.Ping(f.ctx))
}
