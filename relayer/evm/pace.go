package evm

import (
	"cmp"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// pace remembers of open slots what no store knows: since which block their last attempt waits, and when it was last in
// sight. Only the process that observes keeps it. One that takes over knows nothing: bytes out of sight then count as out
// of sight since the intent last changed, and blocks are counted anew, so a bump comes late rather than early.
type pace struct {
	mu     sync.Mutex
	by     map[string]*step // by slot
	pruned time.Time
}

// step is the pace of one slot.
type step struct {
	attempts int       // it had; when another comes all starts anew
	since    uint64    // head when the last attempt was first looked at, or a higher one was last wanted
	seen     time.Time // when a node last knew one of its attempts, or we asked for one to be sent
	asked    time.Time // when we asked for one to be sent
	again    int       // how often, since it was in sight
	used     time.Time
}

// paceKept is how long the pace of a slot is kept that nobody asks for: in review one is looked at every five minutes.
const paceKept = time.Hour

// at gives the step of a slot with so many attempts. One that is new was last seen at born.
func (p *pace) at(slot string, attempts int, head uint64, born, now time.Time) *step {
	st := p.by[slot]
	switch {
	case st == nil:
		if p.by == nil {
			p.by = make(map[string]*step)
		}
		st = &step{attempts: attempts, since: head, seen: born}
		p.by[slot] = st
	case st.attempts != attempts:
		*st = step{attempts: attempts, since: head, seen: now}
	}
	st.used = now
	return st
}

// prune forgets what was not asked for in a long time.
func (p *pace) prune(now time.Time) {
	if now.Sub(p.pruned) < paceKept/10 {
		return
	}
	p.pruned = now
	for slot, st := range p.by {
		if now.Sub(st.used) > paceKept {
			delete(p.by, slot)
		}
	}
}

// mostResends is how many slots are sent again after one look, the lowest numbers first: a pool that was emptied takes
// them in order, and an observer has only so much time. The others come with the next look.
const mostResends = 100

// press says of each watch what its slot needs from us: its first bytes, a higher fee, or the same bytes again. It writes
// that into what was seen. It is for the end of a look: what it asks for it counts.
func (s *Sender) press(ws []intents.Watch, g glance, now time.Time) {
	s.pace.mu.Lock()
	defer s.pace.mu.Unlock()
	s.pace.prune(now)
	resends := 0
	for _, i := range byNumber(ws) {
		w := ws[i]
		w.Attempts = own(w.Attempts)
		switch o := &g.seen[i]; {
		case o.Gone, o.Fact != intents.NotSeen && o.Fact != intents.Pending:
			delete(s.pace.by, w.Slot.String()) // in a block: after a reorg it starts anew
		case len(w.Attempts) > 0 && pressed(w.Intent) && resends < mostResends:
			s.pressOne(w, g.where[i], o, g.views[i], now)
			if o.Resend {
				resends++
			}
		case len(ws[i].Attempts) == 0 && w.Intent.ID == "" && w.Slot.Kind == intents.Counter && s.signs(w.Slot.Scope):
			o.Want, o.After = intents.Fill, fillWait
		}
	}
}

// own are the attempts that are ours to send.
func own(as []intents.Attempt) []intents.Attempt {
	return slices.DeleteFunc(slices.Clone(as), func(a intents.Attempt) bool { return a.Kind > intents.Fill })
}

// pressed says whether anything may be sent for an intent in its state. A filler's is zero.
func pressed(in intents.Intent) bool {
	switch in.State {
	case intents.Settling:
		return !in.Claimed(in.ReadAt) // who has the claim sends
	case intents.Confirming:
		return true
	}
	return in.ID == ""
}

// presence is what a look at all attempts of a slot came to: one is known, or all are certainly not, or neither.
type presence struct{ known, gone bool }

func presenceOf(looks []*look) presence {
	p := presence{gone: true}
	for _, l := range looks {
		p.known = p.known || l.tx != nil
		p.gone = p.gone && l.gone
		if l.receipt.mined() { // and yet not taken for what it says: nothing is to be done about that here
			return presence{}
		}
	}
	return p
}

// pressOne decides for a slot with bytes that no block has. A number that some block has used already is left alone; that
// no block has used it is believed only of a node as high as the best.
func (s *Sender) pressOne(w intents.Watch, p presence, o *intents.Observation, v view, now time.Time) {
	st := s.pace.at(w.Slot.String(), len(w.Attempts), v.best, born(w.Intent, now), now)
	number := uint64(w.Slot.Number)
	next, told := v.next[w.Slot.Scope]
	late := told && !v.behind() && next == number && !s.cfg.NoBump && v.head >= st.since+s.cfg.BumpAfter && (p.known || p.gone && st.again > 0)
	wait := min(s.cfg.ResendAfter<<min(st.again, 8), intents.MostRetry)
	switch {
	case p.known && !late, told && next > number:
		st.again, st.seen = 0, now
	case late && s.mayBump(w):
		o.Want, st.since = higher(w.Attempts), v.head
	case p.gone && now.Sub(st.seen) >= wait, late && p.known && now.Sub(st.asked) >= s.cfg.ResendAfter: // no higher fee is allowed
		o.Resend, o.No, o.After = true, w.Attempts[len(w.Attempts)-1].No, lookWait
		st.again, st.seen, st.asked = st.again+1, now, now
	}
}

// born is when an intent's bytes were last in sight for all we know: a filler's never were.
func born(in intents.Intent, now time.Time) time.Time {
	if in.ID == "" {
		return time.Time{}
	}
	return now.Add(-in.ReadAt.Sub(in.ChangedAt))
}

// mayBump says whether a further attempt may pay enough to replace the others.
func (s *Sender) mayBump(w intents.Watch) bool {
	if s.cfg.NoBump || len(w.Attempts) > s.cfg.MaxBumps || !s.signs(w.Slot.Scope) {
		return false
	}
	txs, err := transactions(w.Attempts)
	if err != nil {
		return false
	}
	none := fees{new(big.Int), new(big.Int)}
	_, err = none.above(txs, s.cfg.BumpPercent, s.limit(w.Intent, txs[0].Gas()))
	return err == nil
}

// higher is the kind of attempt that goes above the last one: a cancel stays a cancel.
func higher(as []intents.Attempt) intents.Kind {
	if last := as[len(as)-1].Kind; last == intents.Cancel || last == intents.Fill {
		return last
	}
	return intents.Bump
}

// byNumber gives the indexes of watches, lowest numbers first.
func byNumber(ws []intents.Watch) []int {
	order := make([]int, len(ws))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ws[a].Slot.Number, ws[b].Slot.Number) })
	return order
}
