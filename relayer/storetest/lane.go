package storetest

import (
	"github.com/nsqrelayer/relayer/intents"
)

func laneTests() []test {
	return []test{
		{"lane/one after the other, oldest first", laneOrder},
		{"lane/review keeps it", laneReview},
		{"lane/created does not stand in it", laneCreated},
		{"lane/other lane, other route, none", laneOthers},
		{"lane/may be claimed again by who has it", laneTakeover},
	}
}

func inLane(lane string) func(*intents.Intent) {
	return func(in *intents.Intent) { in.Lane = lane }
}

func laneOrder(f *fixture) {
	a, b := f.taken(inLane("l")), f.taken(inLane("l"))
	no := f.refused(f.keyed(b), intents.WhyLane)
	if got := f.get(b.ID); no.Until.IsZero() || !got.DueAt.Equal(no.Until) || got.Version != 2 {
		f.Errorf("until %v, due %v, v%d", no.Until, got.DueAt, got.Version)
	}
	cl := f.claim(f.keyed(a))
	f.refused(f.keyed(b), intents.WhyLane)
	f.complete(cl, intents.Result{Verdict: intents.Accepted, Ref: "r"})
	f.refused(f.keyed(b), intents.WhyLane)
	f.complete(cl, intents.Result{Verdict: intents.Done, Ref: "r"})
	f.claim(f.keyed(b))
}

func laneReview(f *fixture) {
	a, b := f.taken(inLane("l")), f.taken(inLane("l"))
	c := f.keyed(a)
	c.Plan.Again, c.Plan.Seen = intents.Never, false
	f.stands(f.complete(f.claim(c), intents.Result{}), intents.NeedsReview, 4, intents.ReasonUnknown)
	f.refused(f.keyed(b), intents.WhyLane)
}

// laneCreated: who may not be sent yet holds up nobody, and is held up once it may.
func laneCreated(f *fixture) {
	a, err := f.Create(f.ctx, f.intent(inLane("l")), false, "tester")
	f.must(err)
	b := f.taken(inLane("l"))
	cl := f.claim(f.keyed(b))
	a, err = f.Authorize(f.ctx, a.ID, "tester")
	f.must(err)
	f.refused(f.keyed(a), intents.WhyLane)
	f.complete(cl, intents.Result{Verdict: intents.Done})
	f.claim(f.keyed(a))
}

func laneOthers(f *fixture) {
	f.claim(f.keyed(f.taken(inLane("l"))))
	f.claim(f.keyed(f.taken(inLane("m"))))
	f.claim(f.keyed(f.taken(func(in *intents.Intent) { in.Lane, in.Route = "l", f.route+"2" })))
	f.claim(f.keyed(f.taken()))
	f.claim(f.keyed(f.taken()))
}

func laneTakeover(f *fixture) {
	a := f.taken(inLane("l"))
	f.taken(inLane("l"))
	cl := f.lapsed(f.keyed(a))
	f.stands(f.claim(f.keyed(cl.Intent)).Intent, intents.Settling, 4, "")
}
