package storetest

import (
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func listTests() []test {
	return []test{
		{"list/filters", listFilters},
		{"list/pages, newest first", listPages},
		{"list/fifty by default", listDefault},
		{"list/by every state", listStates},
		{"count/by state", countStates},
	}
}

func (f *fixture) list(flt intents.Filter) []string {
	f.Helper()
	ins, err := f.List(f.ctx, flt)
	f.must(err)
	ids := []string{}
	for _, in := range ins {
		ids = append(ids, in.ID)
	}
	return ids
}

func listFilters(f *fixture) {
	a := f.taken(inLane("l"))
	b := f.taken(func(in *intents.Intent) { in.Asset = "USD" })
	c := f.taken(func(in *intents.Intent) { in.Route, in.Account = f.route+"2", f.account+"2" })
	d := f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.Done, Ref: f.tag + ".ref"})
	f.claim(f.keyed(b))
	f.until("the clock has moved on", func() bool { return f.get(d.ID).ReadAt.After(d.CreatedAt) })
	for name, tt := range map[string]struct {
		flt  intents.Filter
		want []string
	}{
		"route":   {intents.Filter{Route: f.route}, []string{d.ID, b.ID, a.ID}},
		"account": {intents.Filter{Account: f.account + "2"}, []string{c.ID}},
		"asset":   {intents.Filter{Account: f.account, Asset: "USD"}, []string{b.ID}},
		"lane":    {intents.Filter{Route: f.route, Lane: "l"}, []string{a.ID}},
		"ref":     {intents.Filter{Ref: f.tag + ".ref"}, []string{d.ID}},
		"state":   {intents.Filter{Route: f.route, States: []intents.State{intents.Settled}}, []string{d.ID}},
		"states":  {intents.Filter{Route: f.route, States: []intents.State{intents.Settling, intents.Authorized}}, []string{b.ID, a.ID}},
		"since":   {intents.Filter{Route: f.route, Since: b.CreatedAt}, []string{d.ID, b.ID}},
		"until":   {intents.Filter{Route: f.route, Until: b.CreatedAt}, []string{a.ID}},
		"before":  {intents.Filter{Route: f.route, Before: d.Key}, []string{b.ID, a.ID}},
		"limit":   {intents.Filter{Route: f.route, Limit: 1}, []string{d.ID}},
		"none":    {intents.Filter{Route: f.route, Since: time.Now().Add(24 * time.Hour)}, []string{}},
	} {
		if got := f.list(tt.flt); !slices.Equal(got, tt.want) {
			f.Errorf("by %s: got %v, want %v", name, got, tt.want)
		}
	}
}

func listPages(f *fixture) {
	var want, got []string
	for range 7 {
		want = append(want, f.taken().ID)
	}
	slices.Reverse(want)
	flt := intents.Filter{Route: f.route, Limit: 3}
	for range 4 {
		ins, err := f.List(f.ctx, flt)
		f.must(err)
		for _, in := range ins {
			got = append(got, in.ID)
			flt.Before = in.Key
		}
	}
	if !slices.Equal(got, want) {
		f.Errorf("got %v, want %v", got, want)
	}
}

func listDefault(f *fixture) {
	for range intents.DefaultLimit + 1 {
		f.taken()
	}
	if got := f.list(intents.Filter{Route: f.route}); len(got) != intents.DefaultLimit {
		f.Errorf("got %d, want %d", len(got), intents.DefaultLimit)
	}
}

func countStates(f *fixture) {
	f.taken()
	f.taken()
	f.claim(f.keyed(f.taken()))
	f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.Done})
	f.taken(func(in *intents.Intent) { in.Route += "2" })
	n, err := f.Count(f.ctx, f.route)
	f.must(err)
	if len(n) != 3 || n[intents.Authorized] != 2 || n[intents.Settling] != 1 || n[intents.Settled] != 1 {
		f.Errorf("count: got %v", n)
	}
	all, err := f.Count(f.ctx, "")
	f.must(err)
	if all[intents.Authorized] < 3 {
		f.Errorf("count of all routes: got %v", all)
	}
}

// listStates: a store may find some states by another way than others. What did not go as asked always has a reason.
func listStates(f *fixture) {
	created, err := f.Create(f.ctx, f.intent(), false, "tester")
	f.must(err)
	canceled, err := f.Cancel(f.ctx, f.taken().ID, "ann")
	f.must(err)
	made := []intents.Intent{created, f.taken(), f.claim(f.keyed(f.taken())).Intent,
		f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.Accepted}), f.settled(),
		f.complete(f.claim(f.keyed(f.taken())), intents.Result{Verdict: intents.Declined}), canceled,
		f.complete(f.claim(f.never(f.taken())), intents.Result{Verdict: intents.Unknown})}
	for i, a := range made {
		if amiss := a.State >= intents.Failed; a.State != intents.States()[i] || amiss != (a.Reason != "") {
			f.Errorf("%s is %s %q, want %s", a.ID, a.State, a.Reason, intents.States()[i])
		}
		for _, b := range made {
			want := slices.Compact([]string{a.ID, b.ID})
			got := f.list(intents.Filter{Route: f.route, States: []intents.State{a.State, b.State}})
			if slices.Sort(want); len(got) != len(want) || !slices.Equal(slices.Sorted(slices.Values(got)), want) {
				f.Errorf("%s and %s: got %v, want %v", a.State, b.State, got, want)
			}
		}
	}
}
