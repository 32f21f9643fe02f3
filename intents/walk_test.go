package intents_test

import (
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"pgregory.net/rapid"
)

// walker takes one intent through any decisions, as a store would write them.
type walker struct {
	in     intents.Intent
	now    time.Time
	claims []intents.Claimed // every claim that was ever had
	moves  int
	held   intents.Amount // what the account holds for it
	taken  int            // how often it was captured
}

// TestAnyWalk: whatever decisions come in whatever order, every change is an edge, versions rise by one, holds add up and
// an end is an end.
func TestAnyWalk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := &walker{now: noon()}
		for _, c := range intents.Open(row(intents.Created), rapid.Bool().Draw(rt, "authorize"), "ann", w.now) {
			w.write(rt, c)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"":          w.check,
			"wait":      func(rt *rapid.T) { w.now = w.now.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(rt, "by"))) },
			"admit":     w.admit,
			"conclude":  w.conclude,
			"witness":   w.witness,
			"displace":  w.displace,
			"attach":    w.attach,
			"resolve":   w.resolve,
			"authorize": func(rt *rapid.T) { w.try(rt)(intents.Authorize(w.in, "ann", w.now)) },
			"cancel":    func(rt *rapid.T) { w.try(rt)(intents.CancelIntent(w.in, "ann", w.now)) },
			"refuse":    func(rt *rapid.T) { w.try(rt)(intents.Refuse(w.in, w.in, intents.ReasonRefused, nil, "w", w.now)) },
			"park":      func(rt *rapid.T) { w.try(rt)(intents.Park(w.in, w.in, time.Minute, w.now)) },
			"doubt": func(rt *rapid.T) {
				w.write(rt, intents.Doubt(w.in, intents.Loss{NoticedAt: w.now}, intents.Recall{Actor: "ann"}, w.now))
			},
			"sweep": func(rt *rapid.T) {
				c, _ := intents.Sweep(w.in, rapid.IntRange(0, 9).Draw(rt, "look"), "s", w.now)
				w.write(rt, c)
			},
		})
	})
}

// try writes a change that was allowed, and wants one that was not to be empty.
func (w *walker) try(rt *rapid.T) func(intents.Change, error) {
	return func(c intents.Change, err error) {
		if err != nil && !c.Empty() {
			rt.Fatalf("refused with %v, and yet writes %+v", err, c.After)
		}
		w.write(rt, c)
	}
}

// write carries a change into the row, as [intents.Change] says.
func (w *walker) write(rt *rapid.T, c intents.Change) {
	lawful(rt, c)
	before := w.in
	if before.State.Final() && c.Moves() && !(before.State == intents.Failed && c.After.State == intents.Settled) {
		rt.Fatalf("%s moved to %s", before.State, c.After.State)
	}
	w.held = w.held.Add(c.Pending())
	if c.Captures() {
		w.taken++
	}
	if c.Moves() {
		w.in = c.After
		w.moves++
	}
	w.in.DueAt, w.in.TryAt, w.in.WatchAt = c.After.DueAt, c.After.TryAt, c.After.WatchAt
}

// check is what holds of every row.
func (w *walker) check(rt *rapid.T) {
	in := w.in
	if in.Version != w.moves || !w.held.Equal(in.Held()) || w.held.Sign() < 0 || w.taken > 1 || (w.taken == 1) != (in.State == intents.Settled) {
		rt.Fatalf("v%d after %d moves, held %s of %s, captured %d times in %s", in.Version, w.moves, w.held, in.Held(), w.taken, in.State)
	}
	if in.State == intents.Authorized && (in.ClaimID != "" || in.Calls != 0) { // law A
		rt.Fatalf("authorized, and someone may still send: %+v", in)
	}
	doubtful := in.State == intents.NeedsReview && (in.Reason == intents.ReasonOddity || in.Reason == intents.ReasonForeign || in.Reason == intents.ReasonForgotten)
	if in.State.Holds() && in.Slot.Kind == intents.NoSlot && !doubtful || in.Calls < 0 || in.Silent < 0 || in.Silent > intents.MostSilent {
		rt.Fatalf("%s: slot %v, calls %d, silent %d", in.State, in.Slot, in.Calls, in.Silent)
	}
	if !in.State.Final() && in.State != intents.Created && in.DueAt.IsZero() {
		rt.Fatalf("%s, and nobody will look", in.State)
	}
}

// admit asks for a claim, as the row stands or as it was read before.
func (w *walker) admit(rt *rapid.T) {
	c := asked(w.in)
	c.ID = rapid.StringMatching(`c[0-9]{6}`).Draw(rt, "id")
	c.Plan.Slot = rapid.SampledFrom([]intents.SlotKind{intents.Key, intents.Counter, intents.Given}).Draw(rt, "slot")
	c.Plan.Again = rapid.SampledFrom([]intents.Again{intents.Never, intents.For(time.Minute), intents.Always}).Draw(rt, "again")
	c.Plan.Seen, c.Wait = rapid.Bool().Draw(rt, "seen"), rapid.Bool().Draw(rt, "wait")
	if rapid.IntRange(0, 4).Draw(rt, "stale") == 0 {
		c.Intent.Version--
	}
	f := intents.Facts{Now: w.now, Paused: rare(rt, "paused"), LaneBusy: rare(rt, "lane"), Enforced: true, Free: intents.NewAmount(1000), Signer: &intents.Signer{Window: 1}}
	if rare(rt, "frozen") {
		f.Signer.Frozen = "why"
	}
	if rare(rt, "full") {
		f.Signer.Ahead = 1
	}
	if rare(rt, "broke") {
		f.Free = intents.Amount{}
	}
	ch, err := intents.Admit(w.in, c, f)
	if err == nil && ch.After.Slot.Kind == intents.NoSlot {
		ch.After.Slot = intents.Slot{ID: int64(w.moves), Kind: intents.Counter, Scope: "s", Number: int64(w.moves)}
	}
	w.write(rt, ch)
	if err == nil {
		w.claims = append(w.claims, intents.Claimed{Intent: w.in})
	}
}

func rare(rt *rapid.T, what string) bool { return rapid.IntRange(0, 7).Draw(rt, what) == 0 }

// conclude brings a result under any claim there ever was.
func (w *walker) conclude(rt *rapid.T) {
	if len(w.claims) == 0 {
		rt.SkipNow()
	}
	cl := w.claims[len(w.claims)-rapid.IntRange(1, len(w.claims)).Draw(rt, "ago")]
	r := intents.Result{Verdict: intents.Verdict(rapid.IntRange(0, 5).Draw(rt, "verdict")), Ref: "r", After: time.Duration(rapid.Int64Range(0, 1e12).Draw(rt, "after"))}
	before := w.in
	ch, err := intents.Conclude(w.in, cl.Intent.ClaimID, r, "w", w.now)
	w.write(rt, ch)
	fact := r.Verdict == intents.Accepted || r.Verdict == intents.Done
	if !fact && err == nil && before.ClaimID != cl.Intent.ClaimID {
		rt.Fatalf("%s under claim %q ended claim %q", r.Verdict, cl.Intent.ClaimID, before.ClaimID)
	}
}

func (w *walker) witness(rt *rapid.T) {
	o := intents.Observation{Slot: w.in.Slot, No: rapid.IntRange(0, 2).Draw(rt, "no"), Of: rapid.IntRange(0, 3).Draw(rt, "of"), Fact: intents.Fact(rapid.IntRange(0, 6).Draw(rt, "fact")), Gone: rare(rt, "gone")}
	p := intents.Patience{ReviewAfter: time.Minute, ConfirmAfter: time.Hour}
	a := named()
	a.Kind = rapid.SampledFrom([]intents.Kind{intents.First, intents.First, intents.Bump, intents.Cancel, intents.Alien}).Draw(rt, "kind")
	w.write(rt, intents.Witness(w.in, o, a, p, "o", w.now))
}

// displace lets a foreign transaction use the slot, or pay the intent.
func (w *walker) displace(rt *rapid.T) {
	f := &intents.Foreign{Hash: "0xf", Destination: w.in.Destination, Amount: w.in.Amount}
	if rapid.Bool().Draw(rt, "other") {
		f.Amount = intents.NewAmount(1)
	}
	if rapid.Bool().Draw(rt, "itself") {
		o := intents.Observation{Slot: w.in.Slot, Of: rapid.IntRange(0, 3).Draw(rt, "of"), Fact: intents.Dead, Foreign: f}
		w.write(rt, intents.Displace(w.in, o, rapid.Bool().Draw(rt, "matched"), rapid.Bool().Draw(rt, "again"), "o", w.now))
		return
	}
	c, _ := intents.Suspect(w.in, *f, w.now.Add(-time.Minute), rapid.Bool().Draw(rt, "again"), nil, "o", w.now)
	w.write(rt, c)
}

// resolve carries out a person's order, mostly about the version as it stands.
func (w *walker) resolve(rt *rapid.T) {
	before := w.in
	o := intents.Order{Verb: rapid.SampledFrom([]intents.Verb{intents.Settle, intents.Fail, intents.Retry}).Draw(rt, "verb"), Version: before.Version,
		Actor: "ann", Reason: "why", Ref: "r", Own: rapid.Bool().Draw(rt, "own"), Proved: rapid.Bool().Draw(rt, "proved"), MayPayTwice: rapid.Bool().Draw(rt, "twice")}
	if rare(rt, "stale") {
		o.Version--
	}
	o.Seen = intents.Observation{Slot: before.Slot, No: rapid.IntRange(0, 2).Draw(rt, "no"), Of: rapid.IntRange(0, 3).Draw(rt, "of"), Fact: intents.Fact(rapid.IntRange(0, 5).Draw(rt, "fact")), Gone: rare(rt, "gone")}
	ch, err := intents.Resolve(before, o, w.now)
	alive := before.State == intents.NeedsReview && before.Alive(o.Seen) // what failed was proved dead
	if err == nil && (o.Version != before.Version || ch.After.State.Final() && alive && !o.Own) {
		rt.Fatalf("%s of %s while its bytes may take effect, v%d of v%d", o.Verb, before.State, o.Version, before.Version)
	}
	if err == nil && o.Verb == intents.Retry && !o.MayPayTwice && (!before.MayResend(w.now) || ch.After.Slot != before.Slot) {
		rt.Fatalf("sent again although that may pay twice: %+v", before)
	}
	w.try(rt)(ch, err)
}

// attach stores bytes in the slot, if it has one.
func (w *walker) attach(rt *rapid.T) {
	if !w.in.State.Holds() || w.in.Slot.Kind != intents.Counter {
		rt.SkipNow()
	}
	w.in.Stored++
}
