package storetest

import (
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"pgregory.net/rapid"
)

// resolve has a person decide, now and then about a version that is over.
func (w *twin) resolve(rt *rapid.T) {
	id, stale := w.pick(rt).ID, rapid.IntRange(0, 5).Draw(rt, "stale") == 0
	o := intents.Order{Verb: rapid.SampledFrom([]intents.Verb{intents.Settle, intents.Fail, intents.Retry, intents.Retry}).Draw(rt, "verb"),
		Actor: "op", Reason: fmt.Sprint(w.unique() / 2), Ref: "r", Own: rapid.Bool().Draw(rt, "own"), MayPayTwice: rapid.Bool().Draw(rt, "twice")}
	seen := intents.Observation{No: rapid.IntRange(0, 1).Draw(rt, "no"), Of: rapid.IntRange(0, 2).Draw(rt, "of"),
		Fact: rapid.SampledFrom([]intents.Fact{intents.NotSeen, intents.Pending, intents.Dead, intents.Reverted}).Draw(rt, "fact")}
	w.both(rt, func(s *side) (string, error) {
		in, err := s.Get(s.ctx, id)
		if err != nil {
			return "", err
		}
		o.Version, o.Seen = in.Version, seen
		o.Seen.Slot = in.Slot
		if stale {
			o.Version--
		}
		in, again, err := s.Resolve(s.ctx, id, o)
		return fmt.Sprintf("%s again %t", face(in), again), err
	})
}

// reviews lists what is in review.
func (w *twin) reviews(rt *rapid.T) {
	most := rapid.IntRange(0, 3).Draw(rt, "most")
	w.both(rt, func(s *side) (string, error) {
		ins, err := s.Reviews(s.ctx, w.tag, most)
		return faces(ins), err
	})
}

// prune leaves tombstones of what has ended, or only counts it.
func (w *twin) prune(rt *rapid.T) {
	p := intents.Prune{Before: time.Now().Add(24 * time.Hour), Route: w.tag, Limit: rapid.IntRange(0, 2).Draw(rt, "limit"), DryRun: rapid.Bool().Draw(rt, "dry run")}
	w.both(rt, func(s *side) (string, error) {
		done, err := s.Prune(s.ctx, p, nil)
		return fmt.Sprint(done.Intents, done.Kept, done.Alarms), err
	})
}
