package simtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// monitor compares what the database says with what is true, at every commit and every call. It sees all that no process
// can see: the recipient, the bytes on the wire, the clock of the database.
type monitor struct {
	s      *sim
	last   map[string]intents.Intent
	sent   map[string][]payload // by intent: all bytes that ever left
	first  map[string]time.Time // when an intent was first claimed since it was last authorized
	ran    map[string]stint     // the claim that was last had, by intent
	failed string               // the first thing that was wrong
}

func newMonitor(s *sim) *monitor {
	return &monitor{s: s, last: map[string]intents.Intent{}, sent: map[string][]payload{}, first: map[string]time.Time{},
		ran: map[string]stint{}}
}

// wants notes a violation unless it is right. Only the first one counts: what follows from it proves nothing.
func (m *monitor) wants(right bool, format string, args ...any) {
	if !right && m.failed == "" {
		m.failed = fmt.Sprintf(format, args...)
		m.s.note("VIOLATION: %s", m.failed)
	}
}

// look compares every intent with what it was.
func (m *monitor) look(call string) {
	for _, id := range m.s.ids() {
		in, err := m.s.db.Get(context.Background(), id)
		if err != nil {
			continue
		}
		if was := m.last[id]; in.Version != was.Version {
			m.s.note("%s: %s v%d -> %s v%d %s (%s)", id, was.State, was.Version, in.State, in.Version, in.Reason, call)
			m.moved(was, in)
		}
		m.last[id] = in
	}
}

// moved judges one change of an intent.
func (m *monitor) moved(was, in intents.Intent) {
	id := in.ID
	n, beyond := m.s.recipient.effects(base(id))
	m.wants(!was.State.Final() || was.State == intents.Failed && in.State == intents.Settled, "I3: %s left %s for %s", id, was.State, in.State)
	switch in.State {
	case intents.Settled:
		m.wants(n == 1 && beyond || n == 0 && m.foreign(in), "I3: %s is settled, and was paid %d times (beyond recall: %v)", id, n, beyond)
	case intents.Failed, intents.Canceled:
		m.dead(in, n)
	case intents.Authorized:
		if was.State.Holds() {
			m.dead(in, n)
			m.buried(was, in)
			delete(m.first, id)
		}
	case intents.Confirming:
		m.wants(len(m.sent[base(id)]) > 0, "I3: %s is confirming, and nothing was ever sent", id)
	case intents.NeedsReview:
		m.reviewed(was, in)
	case intents.Settling:
		if in.ClaimID != "" && in.ClaimID != was.ClaimID {
			m.claimed(was, in)
		}
	case intents.Created:
	}
}

// dead wants nothing to have happened, and no bytes anywhere by which it still could: law A.
func (m *monitor) dead(in intents.Intent, n int) {
	m.wants(n == 0, "I1: %s is %s (%s), and was paid %d times", in.ID, in.State, in.Reason, n)
	if p, alive := m.alive(base(in.ID), ""); alive {
		m.wants(false, "law A: %s is %s (%s), and bytes may yet take effect: %s", in.ID, in.State, in.Reason, p.bytes())
	}
}

// buried wants every attempt of a slot to be dead that an intent has lost: stored bytes may leave at any later moment.
func (m *monitor) buried(was, in intents.Intent) {
	if in.Slot.Kind != intents.NoSlot {
		return
	}
	for _, a := range m.s.db.kept[was.Slot.ID] {
		m.wants(!parse(a.Bytes).pays() || !m.s.recipient.could(parse(a.Bytes)), "law B: %s lost its slot, in which bytes may live: %s", in.ID, a.Bytes)
	}
}

// alive finds bytes of an intent that the recipient has or that are on the wire, in another slot than the given one, and
// by which it may still be paid.
func (m *monitor) alive(id, slot string) (payload, bool) {
	for _, p := range slices.Concat(m.s.recipient.holds(), m.s.onWire()) {
		if p.id == id && p.slot != slot && m.s.recipient.could(p) {
			return p, true
		}
	}
	return payload{}, false
}

// reviewed: there is a reason, and patience had run out where that is the reason.
func (m *monitor) reviewed(was, in intents.Intent) {
	now, cfg := in.ChangedAt, m.s.cfg
	m.wants(in.Reason != "", "%s is in review without a reason", in.ID)
	switch in.Reason {
	case intents.ReasonAbandoned:
		m.wants(now.Sub(m.first[in.ID]) >= cfg.ReviewAfter, "review too early: %s after %s", in.ID, now.Sub(m.first[in.ID]))
	case intents.ReasonUnseen:
		m.wants(now.Sub(was.ChangedAt) >= cfg.ConfirmAfter, "review too early: %s after %s", in.ID, now.Sub(was.ChangedAt))
	case intents.ReasonSilent:
		m.wants(was.Silent >= intents.MostSilent, "review too early: %s after %d silent claims", in.ID, was.Silent)
	}
}

// claimed: no other claim ran, the route was not paused, the intent had not expired, its lane was free, its account had it.
func (m *monitor) claimed(was, in intents.Intent) {
	now, pay := in.ChangedAt, m.s.payment(base(in.ID))
	m.wants(m.over(was), "%s was claimed while claim %s ran until %s", in.ID, was.ClaimID, was.ClaimUntil)
	m.ran[in.ID] = stint{m.s.db.clock(), m.s.db.jumps}
	m.wants(!m.s.routePaused, "%s was claimed in a paused route", in.ID)
	m.wants(in.Version == was.Version+1, "%s: claim took version %d to %d", in.ID, was.Version, in.Version)
	if was.State != intents.Settling {
		m.wants(!pay.in.Expired(now), "%s was claimed after its expiry", in.ID)
		m.first[in.ID] = now
		m.lane(pay)
		m.wants(m.held() <= m.s.scene.funds, "held and captured is %d, of %d credited", m.held(), m.s.scene.funds)
	}
}

// stint is when a claim was had, by the database's clock, and how often that had jumped.
type stint struct {
	at    time.Time
	jumps int
}

// over says whether the claim on a row has ended: by a result, or by its time. A clock that jumped meanwhile ends it sooner.
func (m *monitor) over(was intents.Intent) bool {
	last := m.ran[was.ID]
	return was.ClaimID == "" || last.jumps != m.s.db.jumps || m.s.db.clock().Sub(last.at) >= m.s.cfg.Term()
}

// lane wants no other intent of a lane under way.
func (m *monitor) lane(pay *payment) {
	for _, o := range m.s.scene.payments {
		if o != pay && o.in.Lane == pay.in.Lane && o.in.Lane != "" {
			m.wants(!m.last[o.in.ID].State.Holds(), "%s runs beside %s in lane %s", pay.in.ID, o.in.ID, o.in.Lane)
		}
	}
}

// held is what all accounts have paid and hold.
func (m *monitor) held() int64 {
	var sum int64
	for _, id := range m.s.ids() {
		in, err := m.s.db.Get(context.Background(), id)
		if err != nil {
			continue
		}
		amount := in.Held()
		if in.State == intents.Settled {
			amount = in.Amount
		}
		sum += amount.Big().Int64()
	}
	return sum
}

// leaves judges bytes that leave by a call that was made at a time: they are stored, by a claim that still ran if a worker
// sends them, and every other slot that the intent had is dead: I4.
func (m *monitor) leaves(by *actor, called time.Time, a intents.Attempt) {
	b := parse(a.Bytes)
	if d := by.d; d != nil {
		ran := called.Sub(d.asked)
		m.wants(d.wrote, "%s sends %s without a claim", by.name, b.id)
		m.wants(ran < m.believed(), "%s sends %s after its claim ran %s", by.name, b.id, ran)
	}
	m.wants(m.stored(a), "bytes leave that are not stored: %s", a.Bytes)
	if !b.pays() {
		return
	}
	m.strange(b)
	p, alive := m.alive(b.id, b.slot)
	m.wants(!alive || !m.s.recipient.could(b), "I4: %s is sent in slot %s while %s may take effect", b.id, b.slot, p.bytes())
	for _, p := range m.sent[b.id] {
		m.wants(p.slot == b.slot || !m.s.recipient.did(p) || !m.s.recipient.could(b), "I4: %s is sent in slot %s, and was paid in %s", b.id, b.slot, p.slot)
	}
	m.sent[b.id] = append(m.sent[b.id], b)
}

// strange wants nothing to leave of an intent that a stranger may have paid in a slot which the intent had.
func (m *monitor) strange(b payload) {
	c, ok := m.s.recipient.(*chain)
	if !ok {
		return
	}
	for _, p := range m.sent[b.id] {
		f, ok := c.stranger(p.number)
		m.wants(!ok || p.slot == b.slot || !f.Pays(m.last[b.id]), "I1: %s is sent in slot %s, and a stranger paid it in %s", b.id, b.slot, p.slot)
	}
}

// ownMargin is how long before its end an owner stops believing in its claim, as design.md has it.
const ownMargin = 5 * time.Second

// believed is how long an owner may think that its claim runs, by the slowest clock.
func (m *monitor) believed() time.Duration {
	return time.Duration(float64(m.s.cfg.Term()-ownMargin) / (1 - mostRate))
}

// stored says whether these very bytes are those of an attempt in the database.
func (m *monitor) stored(a intents.Attempt) bool {
	for _, at := range m.s.db.kept[a.Slot.ID] {
		if bytes.Equal(at.Bytes, a.Bytes) {
			return true
		}
	}
	return false
}

// paid judges an effect.
func (m *monitor) paid(id string) {
	n, _ := m.s.recipient.effects(id)
	m.wants(n <= 1, "I1: %s was paid %d times", id, n)
}

// disposed judges what a process says about its message: I2, I5, I6.
func (m *monitor) disposed(d *delivery, out relayer.Disposition) {
	_, again := out.Requeued()
	m.wants(!again || !d.wrote, "I5: %s is given back by a delivery that wrote a claim", d.m.id)
	d.given = again
	if !out.Finished() {
		return
	}
	msg, err := intents.Decode(d.m.body)
	in, ok := m.last[msg.ID]
	_, pruned := m.s.db.tombs[msg.ID]
	switch {
	case m.s.letters[string(d.m.body)] || pruned:
	case err != nil || !ok:
		m.wants(false, "I2: %s is finished, and there is neither row nor dead letter: %s", d.m.id, d.m.body)
	case in.State == intents.Authorized || in.State == intents.Settling:
		m.wants(!in.DueAt.IsZero(), "I6: %s is finished, and %s is never due", d.m.id, in.ID)
	}
}

// end judges how everything ended.
func (m *monitor) end() {
	wrong, err := m.s.db.Audit(context.Background())
	m.wants(err == nil && len(wrong) == 0, "audit: %v %v", wrong, err)
	for _, p := range m.s.scene.payments {
		m.ended(p.in.ID)
	}
}

func (m *monitor) ended(id string) {
	in := m.last[id]
	n, beyond := m.s.recipient.effects(id)
	switch {
	case in.State == intents.Settled:
		m.wants(n == 1 && beyond || n == 0 && m.foreign(in), "I1: %s ended settled, and was paid %d times", id, n)
	case in.State == intents.NeedsReview:
		m.wants(n <= 1, "I1: %s stands in review, and was paid %d times", id, n)
	default:
		m.wants(n == 0, "I1: %s ended %s, and was paid %d times", id, in.State, n)
		m.wants(in.State.Final() || in.Version == 0 || m.s.behind(in), "%s did not end: it is %s", id, in.State)
	}
}
