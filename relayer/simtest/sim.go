package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsqrelayer/relayer/relayer"
)

// Outcome is what one seed came to.
type Outcome struct {
	Violation string         // what was wrong first; empty: nothing
	Trace     []string       // what happened, in order
	Faults    map[string]int // what went wrong on purpose, and how often
	Decided   map[string]int // what became of persons' orders
	Steps     int            // gates opened and other choices made
	Ended     map[string]int // intents by state and reason
	Lasted    time.Duration  // by the bubble's clock
}

// Run plays a seed in a bubble of its own. The same seed has the same outcome, its trace to the letter.
func Run(t *testing.T, seed uint64) Outcome { return run(t, seed, broken{}) }

func run(t *testing.T, seed uint64, b broken) (out Outcome) {
	synctest.Test(t, func(*testing.T) { out = newSim(seed, b).play() })
	return out
}

// sim is one run. Everything in it is touched by one goroutine at a time: by the one in [sim.play], or by the one whose
// gate was opened last.
type sim struct {
	rand      *rand.Rand
	scene     *scene
	cfg       relayer.Config
	broken    broken
	hall      *hall
	db        *database
	recipient recipient
	queue     *queue
	monitor   *monitor
	operator  *process
	machines  []*machine
	processes []*process // all that ever lived

	wire        []*drifting     // bytes on their way whom nobody waits for
	letters     map[string]bool // bodies that became dead letters
	newer       map[string]bool // intents that show a state of a newer version
	routePaused bool
	calm        bool      // nothing goes wrong any more
	mute        time.Time // until then the recipient answers no call

	events     []*event
	trace      []string
	faults     map[string]int
	decided    map[string]int
	left       int // faults that may still happen
	steps      int
	deliveries int
	made       int
	orders     int
	visits     atomic.Int64 // people who will give an order, or do
	ranks      uint64       // what ranks are drawn by
}

// machine has one process at a time.
type machine struct {
	name  string
	lives int
	p     *process // nil: down
}

// event is something that happens at a time whoever is quiet.
type event struct {
	at   time.Time
	what string
	do   func()
}

func newSim(seed uint64, b broken) *sim {
	s := &sim{rand: rand.New(rand.NewPCG(seed, 0x5e1a7e5)), broken: b, hall: newHall(), letters: map[string]bool{}, newer: map[string]bool{},
		faults: map[string]int{}, decided: map[string]int{}}
	s.scene = newScene(s.rand)
	s.left = s.scene.faults
	s.cfg = engine(s.scene)
	s.recipient = newRecipient(s.scene.kind, time.Now)
	s.monitor = newMonitor(s)
	s.db = newDatabase(s)
	s.queue = &queue{s: s}
	s.operator = newProcess(s, "op")
	return s
}

// between draws a time.
func (s *sim) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.rand.Int64N(int64(most-least)))
}

// after has something happen later.
func (s *sim) after(d time.Duration, what string, do func()) {
	s.events = append(s.events, &event{time.Now().Add(d), what, do})
	slices.SortStableFunc(s.events, func(a, b *event) int { return a.at.Compare(b.at) })
}

// note adds a line to the trace.
func (s *sim) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf("%11.6f  ", time.Since(epoch).Seconds())+fmt.Sprintf(format, args...))
}

// ids are those of all payments, and what a store that forgets makes of them.
func (s *sim) ids() []string {
	out := make([]string, len(s.scene.payments))
	for i, p := range s.scene.payments {
		out[i] = p.in.ID
	}
	return out
}

func (s *sim) payment(id string) *payment {
	for _, p := range s.scene.payments {
		if p.in.ID == id {
			return p
		}
	}
	panic("no payment " + id)
}

// claimed notes that a delivery wrote a claim, now or by a commit that was long on its way.
func (s *sim) claimed(d *delivery) {
	d.wrote = true
	s.monitor.wants(!d.given, "I5: the claim of a delivery that gave %s back has landed", d.m.id)
}

// answer carries out what a process says about its message, if it may still say anything.
func (s *sim) answer(d *delivery, out relayer.Disposition, p *process, until time.Time) {
	now := time.Now()
	if !s.queue.owns(d) || !now.Before(until.Add(capMargin)) {
		return
	}
	s.monitor.disposed(d, out)
	s.queue.settle(d, out, now)
}
