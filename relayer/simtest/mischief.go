package simtest

import (
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// prank is something that goes wrong and is no answer to a call.
type prank struct {
	name string
	do   func() bool // false: it could not be done
}

func (s *sim) pranks() []prank {
	return []prank{
		{"process killed", s.killOne}, {"process frozen", s.freezeOne}, {"process drained", s.drainOne},
		{"nsqd crashes", s.crashQueue}, {"nsqd restarts", s.restartQueue}, {"message twice", s.repeatMessage},
		{"message lost", s.loseMessage}, {"finished message again", s.reviveMessage}, {"strange body", s.strangeBody},
		{"recipient is mute", s.silence}, {"database clock jumps", s.jump}, {"process clock set", s.setClock}, {"route paused", s.pauseRoute}, {"state of a newer version", s.showNewer},
		{"operator cancels", s.cancelOne}, {"operator authorizes", s.authorizeOne}, {"operator prunes", s.pruneOne},
		{"stranger uses the key", s.intrude}, {"operator looks", s.lookOne}, {"operator sends again", s.sendAgain}, {"operator bumps", s.bumpOne},
		{"operator cancels in slot", s.dropOne},
	}
}

// mischief has one prank played; false if none was.
func (s *sim) mischief() bool {
	if s.left <= 0 {
		return false
	}
	all := s.pranks()
	if s.scene.kind == chained { // elsewhere these two cannot be played
		for range 3 {
			all = append(all, prank{"operator bumps", s.bumpOne}, prank{"operator cancels in slot", s.dropOne})
		}
	}
	for range 3 { // many can be played only now and then
		if p := all[s.rand.IntN(len(all))]; p.do() {
			s.fault(p.name)
			return true
		}
	}
	return false
}

// living picks a machine whose process runs; mostly one that has a claim, if there is any.
func (s *sim) living() *machine {
	var up, busy []*machine
	for _, m := range s.machines {
		if m.p == nil || m.p.draining {
			continue
		}
		up = append(up, m)
		if m.p.sends() {
			busy = append(busy, m)
		}
	}
	if len(busy) > 0 && s.chance(0.7) {
		up = busy
	}
	if len(up) == 0 {
		return nil
	}
	return up[s.rand.IntN(len(up))]
}

// boot starts a machine's next process, unless it has one.
func (s *sim) boot(m *machine) {
	if m.p != nil {
		return
	}
	m.lives++
	m.p = newProcess(s, fmt.Sprintf("%s.%d", m.name, m.lives))
	s.note("%s starts", m.p.name)
	m.p.start()
}

func (s *sim) killOne() bool {
	m := s.living()
	if m == nil {
		return false
	}
	s.down(m)
	s.after(s.between(time.Second, time.Minute), "", func() { s.boot(m) })
	return true
}

// down kills the process of a machine. A commit that it was making may be written all the same.
func (s *sim) down(m *machine) {
	s.note("%s is killed", m.p.name)
	m.p.die(func() fault {
		return []fault{"", lostLanded, lostOnWay, lostDropped}[s.rand.IntN(4)]
	})
	m.p = nil
}

func (s *sim) freezeOne() bool {
	m := s.living()
	if m == nil || m.p.frozen {
		return false
	}
	p, d := m.p, s.between(time.Second, 4*time.Minute)
	p.freeze()
	s.note("%s stands still for %s", p.name, d)
	s.after(d, p.name+" goes on", p.thaw)
	return true
}

// drainOne ends a process in good order; it is gone when its time is over.
func (s *sim) drainOne() bool {
	m := s.living()
	if m == nil {
		return false
	}
	p := m.p
	s.note("%s drains", p.name)
	p.stop()
	s.after(s.cfg.DrainTimeout+s.cfg.WriteGrace+s.cfg.StoreTimeout, "", func() {
		if m.p == p {
			s.down(m)
			s.boot(m)
		}
	})
	return true
}

func (s *sim) crashQueue() bool {
	s.note("nsqd crashes")
	if s.scene.forgetful {
		s.queue.lose(time.Now())
	}
	s.queue.release()
	s.lostConnections()
	return true
}

func (s *sim) restartQueue() bool {
	s.note("nsqd restarts")
	s.queue.release()
	s.lostConnections()
	return true
}

// lostConnections is what the consumers of all processes tell then.
func (s *sim) lostConnections() {
	for _, p := range s.processes {
		p.sweeper.Forget()
	}
}

func (s *sim) anyMessage() *message {
	if len(s.queue.messages) == 0 {
		return nil
	}
	return s.queue.messages[s.rand.IntN(len(s.queue.messages))]
}

func (s *sim) repeatMessage() bool {
	m := s.anyMessage()
	if m == nil {
		return false
	}
	s.queue.publish(m.body)
	return true
}

func (s *sim) loseMessage() bool {
	m := s.anyMessage()
	if m == nil {
		return false
	}
	s.note("%s is lost", m.id)
	s.queue.drop(m)
	return true
}

// reviveMessage is a queue that forgot that it was told to forget.
func (s *sim) reviveMessage() bool {
	s.publishAgain(s.anyPayment())
	return true
}

// strangeBody publishes what is no payment: junk, another content under a known id, a newer version, an unknown id.
func (s *sim) strangeBody() bool {
	p := s.anyPayment()
	other := p.in
	other.Destination = "elsewhere"
	changed, err := intents.Encode(other)
	if err != nil {
		return false
	}
	bodies := [][]byte{[]byte(`{"v":1,`), changed, []byte(`{"v":2,"what":"ever"}`), []byte(`{"v":1,"intent_id":"pi_unknown"}`), []byte("null")}
	s.queue.publish(bodies[s.rand.IntN(len(bodies))])
	return true
}

func (s *sim) anyPayment() *payment { return s.scene.payments[s.rand.IntN(len(s.scene.payments))] }

// silence has the recipient take what comes, and answer nothing for a while.
func (s *sim) silence() bool {
	if s.muted() {
		return false
	}
	d := s.between(5*time.Second, []time.Duration{time.Minute, 5 * time.Minute, 25 * time.Minute}[s.rand.IntN(3)])
	s.note("recipient is mute for %s", d)
	s.mute = time.Now().Add(d)
	return true
}

func (s *sim) muted() bool { return time.Now().Before(s.mute) }

// jump moves the database's clock, by less than what senders keep of a provider's retention.
func (s *sim) jump() bool {
	ahead := s.between(-mostSkew, mostSkew)
	if s.chance(0.5) { // past the end of a claim
		ahead = min(s.db.skew+s.between(s.cfg.Term(), 2*s.cfg.Term()), mostSkew)
	}
	s.db.turn(ahead)
	s.note("database clock: %s", s.db.skew)
	return true
}

// mostSkew is how far the database's clock is from the bubble's at most.
const mostSkew = 5 * time.Minute

func (s *sim) showNewer() bool {
	id := s.anyPayment().in.ID
	s.newer[id] = true
	s.after(s.between(time.Second, time.Minute), "", func() { delete(s.newer, id) })
	return true
}

// credit gives the account so much more.
func (s *sim) credit(amount int64) {
	s.scene.funds += amount
	e := intents.Entry{Account: "acct", Asset: "EUR", Amount: intents.NewAmount(amount), Ref: fmt.Sprint(s.scene.funds)}
	_, _ = s.db.Credit(s.ctx(), e) // the model store cannot fail
}

// quiet ends all faults, and has everything work again.
func (s *sim) quiet() {
	if s.muted() {
		s.after(time.Until(s.mute), "", s.quiet)
		return
	}
	s.note("all is calm")
	s.calm, s.newer = true, map[string]bool{}
	s.db.turn(0)
	s.db.settle()
	s.turn(false)
	for _, m := range s.machines {
		switch {
		case m.p == nil:
			s.boot(m)
		case m.p.draining:
		default:
			m.p.thaw()
		}
	}
	if s.scene.enforced {
		s.credit(unlimited)
	}
	for _, p := range s.scene.payments {
		_, _ = s.db.Authorize(s.ctx(), p.in.ID, "operator") // whoever waits goes
	}
	s.db.wrote("authorize")
	s.tend()
}
