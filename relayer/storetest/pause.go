package storetest

import "github.com/nsqrelayer/relayer/intents"

func pauseTests() []test {
	return []test{
		{"pause/nothing is claimed", pauseClaims},
		{"pause/results are written", pauseResults},
		{"pause/what waited is due at once", pauseResume},
		{"pause/switches are listed", pauseList},
	}
}

func pauseClaims(f *fixture) {
	in := f.taken()
	other := f.taken(func(in *intents.Intent) { in.Route += "2" })
	f.must(f.SetPaused(f.ctx, f.route, true, "tester"))
	f.refused(f.keyed(in), intents.WhyPaused)
	if got := f.get(in.ID); !got.Paused || got.Version != 2 {
		f.Errorf("paused %t, v%d", got.Paused, got.Version)
	}
	if !f.take(ref(in)).Paused || f.get(other.ID).Paused {
		f.Errorf("the switch belongs to the route")
	}
	f.claim(f.keyed(other))
	f.taken() // intake goes on
}

func pauseResults(f *fixture) {
	a, b := f.claim(f.keyed(f.taken())), f.claim(f.keyed(f.taken()))
	f.must(f.SetPaused(f.ctx, f.route, true, "tester"))
	f.stands(f.complete(a, intents.Result{Verdict: intents.Done}), intents.Settled, 4, "")
	f.stands(f.complete(b, intents.Result{}), intents.Settling, 4, "")
}

func pauseResume(f *fixture) {
	in := f.taken()
	f.must(f.SetPaused(f.ctx, f.route, true, "tester"))
	f.refused(f.keyed(in), intents.WhyPaused)
	if got := f.sweep(10); len(got) != 0 {
		f.Errorf("published while paused: %+v", got)
	}
	f.must(f.SetPaused(f.ctx, f.route, false, "tester"))
	got := f.sweep(10)
	if len(got) != 1 || got[0].ID != in.ID || got[0].Paused {
		f.Fatalf("resumed: published %+v", got)
	}
	f.claim(f.keyed(got[0]))
}

func pauseList(f *fixture) {
	f.must(f.SetPaused(f.ctx, f.route, true, "ann"))
	f.must(f.SetPaused(f.ctx, f.route+"2", false, "bob"))
	f.must(f.SetPaused(f.ctx, f.route, true, "ann")) // case 38
	all, err := f.Routes(f.ctx)
	f.must(err)
	found := 0
	for _, r := range all {
		switch r.Route {
		case f.route:
			found++
			if !r.Paused || r.By != "ann" || r.At.IsZero() {
				f.Errorf("got %+v", r)
			}
		case f.route + "2":
			found++
			if r.Paused || r.By != "bob" {
				f.Errorf("got %+v", r)
			}
		}
	}
	if found != 2 {
		f.Errorf("found %d switches of 2", found)
	}
}
