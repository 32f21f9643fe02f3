package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"pgregory.net/rapid"
)

// take brings a message: full or a reference, now and then with other content or on another route.
func (w *twin) take(rt *rapid.T) {
	m := full(w.pick(rt))
	m.Full = rapid.Bool().Draw(rt, "full")
	switch rapid.IntRange(0, 9).Draw(rt, "odd") {
	case 0:
		m.Intent.Amount = intents.NewAmount(11)
	case 1:
		m.Route += "x"
		m.Intent.Route = m.Route
		m.Full = false // a new intent belongs to the route of the run
	}
	w.both(rt, func(s *side) (string, error) { return s.keep(s.Take(s.ctx, m)) })
}

// keep remembers what was read.
func (s *side) keep(in intents.Intent, err error) (string, error) {
	if err != nil {
		return "", err
	}
	s.reads[in.ID] = in
	return face(in), nil
}

func (w *twin) create(rt *rapid.T) {
	in, authorize := w.pick(rt), rapid.Bool().Draw(rt, "authorize")
	w.both(rt, func(s *side) (string, error) { return s.keep(s.Create(s.ctx, in, authorize, "op")) })
}

func (w *twin) authorize(rt *rapid.T) {
	in := w.pick(rt)
	w.both(rt, func(s *side) (string, error) { return s.look(s.Authorize(s.ctx, in.ID, "op")) })
}

func (w *twin) cancel(rt *rapid.T) {
	in := w.pick(rt)
	w.both(rt, func(s *side) (string, error) { return s.look(s.Cancel(s.ctx, in.ID, "op")) })
}

// look shows an answer and forgets it.
func (s *side) look(in intents.Intent, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return face(in), nil
}

func (w *twin) read(rt *rapid.T) {
	in := w.pick(rt)
	w.both(rt, func(s *side) (string, error) { return s.keep(s.Get(s.ctx, in.ID)) })
}

// known draws an intent that was read, read again more often than not. One that is unknown was read as nothing.
func (w *twin) known(rt *rapid.T) string {
	id := w.pick(rt).ID
	if rapid.IntRange(0, 7).Draw(rt, "stale") > 0 {
		w.both(rt, func(s *side) (string, error) { return s.keep(s.Get(s.ctx, id)) })
	}
	return id
}

// claim asks for a claim that is over at once, or runs for an hour.
func (w *twin) claim(rt *rapid.T) {
	id, n := w.known(rt), w.unique()
	p := intents.Plan{Slot: w.kindOf(id), Scope: w.tag, Seen: rapid.Bool().Draw(rt, "seen"), Cost: intents.NewAmount(rapid.Int64Range(0, 1).Draw(rt, "cost")),
		Again: rapid.SampledFrom([]intents.Again{intents.Always, intents.For(time.Hour), intents.For(soon), intents.Never}).Draw(rt, "again")}
	c := intents.Claim{Plan: p, ID: fmt.Sprintf("claim %d", n), Owner: "worker", Term: rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(rt, "term"), Wait: rapid.Bool().Draw(rt, "wait")}
	if p.Slot != intents.Counter && rapid.IntRange(0, 9).Draw(rt, "bytes") > 0 {
		c.Attempt = &intents.Attempt{Slot: intents.Slot{Name: fmt.Sprint("slot ", n)}, No: 1, Kind: intents.First, Bytes: fmt.Append(nil, "bytes ", n), Name: fmt.Sprint("name ", n)}
	}
	w.both(rt, func(s *side) (string, error) {
		c.Intent = s.reads[id]
		s.asked = append(s.asked, c)
		return s.claimOnce(c)
	})
}

// claimOnce asks for a claim. One that waits for its lane is parked for long, so that time plays no part in the run.
func (s *side) claimOnce(c intents.Claim) (string, error) {
	cl, err := s.Claim(s.ctx, c)
	if no, ok := errors.AsType[*intents.NotClaimedError](err); ok && no.Why == intents.WhyLane {
		return "", errors.Join(err, s.Park(s.ctx, c.Intent, time.Hour))
	}
	if err != nil {
		return "", err
	}
	s.claims = append(s.claims, cl)
	lines := []string{face(cl.Intent)}
	for _, a := range cl.Attempts {
		lines = append(lines, attempt(a))
	}
	return strings.Join(lines, "\n"), nil
}

// reclaim asks for a claim again, with the very same words.
func (w *twin) reclaim(rt *rapid.T) {
	if len(w.sides[0].asked) == 0 {
		return
	}
	i := rapid.IntRange(1, len(w.sides[0].asked)).Draw(rt, "ago")
	w.both(rt, func(s *side) (string, error) { return s.claimOnce(s.asked[len(s.asked)-i]) })
}

// claimed draws how long ago a claim was had, the later the likelier; 0 when there is none.
func (w *twin) claimed(rt *rapid.T) int {
	n := len(w.sides[0].claims)
	return rapid.IntRange(min(n, 1), n).Draw(rt, "ago")
}

func (s *side) ago(i int) intents.Claimed { return s.claims[len(s.claims)-i] }

// counter draws a claim of a counter slot as claimed does.
func (w *twin) counter(rt *rapid.T) int {
	var found []int
	for i := range w.sides[1].claims {
		if w.sides[1].ago(i+1).Slot().Kind == intents.Counter {
			found = append(found, i+1)
		}
	}
	if len(found) == 0 {
		return 0
	}
	return rapid.SampledFrom(found).Draw(rt, "ago")
}

func (w *twin) attach(rt *rapid.T) {
	i, n := w.counter(rt), w.unique()
	a := intents.Attempt{No: rapid.IntRange(1, 2).Draw(rt, "no"), Bytes: fmt.Append(nil, "bytes ", n), Name: fmt.Sprint("name ", n)}
	a.Kind = rapid.SampledFrom([]intents.Kind{intents.First, intents.Bump, intents.Cancel}).Draw(rt, "kind")
	if i == 0 {
		return
	}
	w.both(rt, func(s *side) (string, error) {
		a := a
		a.Slot = s.ago(i).Slot()
		got, err := s.Attach(s.ctx, a)
		return attempt(got), err
	})
}

// complete writes the result of a claim, new or old.
func (w *twin) complete(rt *rapid.T) {
	i, n := w.claimed(rt), w.unique()
	r := intents.Result{Verdict: intents.Verdict(rapid.IntRange(0, 4).Draw(rt, "verdict")), Ref: fmt.Sprint("ref ", n), Evidence: fmt.Appendf(nil, `{"n":%d}`, n)}
	r.After = rapid.SampledFrom([]time.Duration{soon, time.Hour}).Draw(rt, "after")
	if i == 0 {
		return
	}
	w.both(rt, func(s *side) (string, error) {
		cl := s.ago(i)
		s.last = func() (string, error) { return s.look(s.Complete(s.ctx, cl, r)) }
		return s.last()
	})
}

// again writes the last result once more.
func (w *twin) again(rt *rapid.T) {
	if w.sides[0].last == nil {
		return
	}
	w.both(rt, func(s *side) (string, error) { return s.last() })
}

func (w *twin) refuse(rt *rapid.T) {
	id := w.known(rt)
	w.both(rt, func(s *side) (string, error) { return s.look(s.Refuse(s.ctx, s.reads[id], intents.ReasonRefused, nil)) })
}

func (w *twin) park(rt *rapid.T) {
	id, wait := w.known(rt), rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(rt, "wait")
	w.both(rt, func(s *side) (string, error) { return "", s.Park(s.ctx, s.reads[id], wait) })
}

// record writes an observation of the slot of a claim, new or old. Slots that are not counters are not proved dead: the
// next one would have the same name.
func (w *twin) record(rt *rapid.T) {
	i := w.claimed(rt)
	if rapid.Bool().Draw(rt, "counter") {
		i = w.counter(rt)
	}
	o := intents.Observation{No: rapid.IntRange(0, 2).Draw(rt, "no"), Of: rapid.IntRange(0, 3).Draw(rt, "of"), Fact: intents.Fact(rapid.IntRange(0, 5).Draw(rt, "fact")), Evidence: fmt.Appendf(nil, `{"n":%d}`, w.unique())}
	o.After = rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(rt, "after")
	p := intents.Patience{ReviewAfter: patience(rt, "review"), ConfirmAfter: patience(rt, "confirm")}
	if o.Fact == intents.Dead {
		o.Foreign = w.stranger(rt, w.unique())
	}
	if i == 0 || o.Fact == intents.Dead && w.sides[1].ago(i).Slot().Kind != intents.Counter {
		return
	}
	w.both(rt, func(s *side) (string, error) {
		cl, o := s.ago(i), o
		o.Slot = cl.Slot()
		got, err := s.Record(s.ctx, []intents.Watch{{Intent: cl.Intent, Slot: o.Slot}}, []intents.Observation{o}, p)
		if err != nil || len(got) != 1 || got[0].ID == "" {
			return fmt.Sprint(len(got)), err
		}
		return face(got[0]), nil
	})
}

func patience(rt *rapid.T, label string) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, soon, time.Hour}).Draw(rt, label)
}

func (w *twin) sweep(rt *rapid.T) {
	most := rapid.IntRange(1, 3).Draw(rt, "most")
	w.both(rt, func(s *side) (string, error) {
		ins, err := s.Sweep(s.ctx, w.tag, most)
		return faces(ins), err
	})
}

func (w *twin) pause(rt *rapid.T) {
	paused := rapid.Bool().Draw(rt, "paused")
	w.both(rt, func(s *side) (string, error) { return "", s.SetPaused(s.ctx, w.tag, paused, "op") })
}

func (w *twin) credit(rt *rapid.T) {
	e := intents.Entry{Account: fmt.Sprintf("%s.%d", w.tag, rapid.IntRange(0, 1).Draw(rt, "account")), Asset: "EUR",
		Amount: intents.NewAmount(rapid.Int64Range(5, 20).Draw(rt, "amount")), Ref: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "ref")}
	w.both(rt, func(s *side) (string, error) {
		a, err := s.Credit(s.ctx, e)
		return fmt.Sprintf("%+v", a), err
	})
}

// turn tells the chain's count, or has a person stop the signer or let it go on.
func (w *twin) turn(rt *rapid.T) {
	how, next := rapid.IntRange(0, 5).Draw(rt, "how"), rapid.Int64Range(0, 12).Draw(rt, "next")
	w.both(rt, func(s *side) (sg string, err error) {
		var got intents.Signer
		switch {
		case how == 0:
			got, err = s.Freeze(s.ctx, w.tag, "why", "op")
		case how < 4:
			got, err = s.Unfreeze(s.ctx, w.tag, "why", "op")
		default:
			got, err = s.See(s.ctx, w.tag, next)
		}
		return openness(got), err
	})
}

// stranger draws the foreign transaction that used a slot; now and then it pays just what the intents are about. Those of
// other runs, which a store may still have, have another destination.
func (w *twin) stranger(rt *rapid.T, n int) *intents.Foreign {
	f := &intents.Foreign{Hash: fmt.Sprint("0x", n), Bytes: []byte("foreign"), Destination: w.tag, Amount: intents.NewAmount(11)}
	switch rapid.IntRange(0, 9).Draw(rt, "foreign") {
	case 0:
		f.Amount = intents.NewAmount(10)
	case 1, 2, 3:
	default:
		return nil
	}
	return f
}

// signer opens the signer, or compares with the chain, which is seldom ahead.
func (w *twin) signer(rt *rapid.T) {
	next := int64(3)
	if len(w.sides[0].asked) > 0 && rapid.IntRange(0, 9).Draw(rt, "ahead") == 9 {
		next = 1000
	}
	w.both(rt, func(s *side) (string, error) {
		sg, err := s.OpenSigner(s.ctx, intents.Signer{Scope: w.tag, Next: next, Window: 2, Seen: next})
		return openness(sg), err
	})
}
