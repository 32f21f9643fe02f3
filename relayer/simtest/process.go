package simtest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nsqrelayer/relayer/relayer"
)

// process is one life of one relayer: the engine as cmd/relayer wires it, on its own queues to the database.
type process struct {
	s      *sim
	name   string // machine and life: p1.2
	rows   rows
	face   face
	queues queues
	clock  *clock
	dead   atomic.Bool

	worker   *relayer.Worker
	sweeper  *relayer.Sweeper
	observer *relayer.Observer
	probe    *relayer.Probe

	life, loops context.Context // to the end of the process; to the begin of its drain
	kill, drain context.CancelFunc
	work        context.Context // to the drain's deadline
	cut         context.CancelFunc
	running     sync.WaitGroup

	frozen   bool
	draining bool
	paused   atomic.Bool // by its probe
	busy     map[string]*delivery
}

// newProcess makes a process that does nothing yet.
func newProcess(s *sim, name string) *process {
	p := &process{s: s, name: name, busy: map[string]*delivery{}, clock: newClock(s.rand)}
	p.face = face{p}
	p.rows = s.broken.rows(s.db)
	p.life, p.kill = context.WithCancel(context.Background())
	p.loops, p.drain = context.WithCancel(p.life)
	p.work, p.cut = context.WithCancel(p.life)
	p.openQueues()
	p.wire()
	s.processes = append(s.processes, p)
	return p
}

func (p *process) wire() {
	cfg := p.s.cfg
	cfg.Owner, cfg.Now = p.name, p.clock.now
	cfg = p.s.broken.config(cfg)
	throttle := relayer.NewThrottle(p.s.scene.throttle)
	var way relayer.Sender = out{p}
	if p.s.scene.kind == chained {
		way = counting{out{p}}
	}
	p.probe = relayer.NewProbe(p.face, p, nil)
	var err error
	if p.worker, err = relayer.NewWorker(cfg, p.face, p.face, way, throttle, p.probe); err != nil {
		panic(err) // the configuration is ours
	}
	p.sweeper = relayer.NewSweeper(cfg, p.face, p)
	p.observer = relayer.NewObserver(cfg, p.face, p.face, p.face, way, throttle)
}

// Pause is what the probe asks of the consumer.
func (p *process) Pause(string) { p.paused.Store(true) }

// Resume is the end of it.
func (p *process) Resume() { p.paused.Store(false) }

// start runs the loops.
func (p *process) start() {
	for name, run := range map[string]func(context.Context){"sweep": p.sweeper.Run, "observe": p.observer.Run} {
		ctx := p.actor(name, nil).in(p.loops)
		p.running.Go(func() { run(ctx) })
	}
	ctx := p.actor("probe", nil).in(p.life)
	p.running.Go(func() { p.probe.Run(ctx) })
}

func (p *process) actor(name string, d *delivery) *actor {
	return &actor{name: p.name + "/" + name, of: p, d: d}
}

// What may go wrong when a message is published or answered.
const (
	publishFails fault = "publish fails"
	publishLost  fault = "publish unanswered"
	answerLost   fault = "answer to nsqd lost"
)

// Publish puts a message into the queue.
func (p *process) Publish(ctx context.Context, _ string, body []byte) error {
	a := actorOf(ctx)
	v, err := p.s.hall.pass(ctx, &gate{by: a.name, call: "publish", what: string(body), of: p, menu: []fault{publishFails, publishLost}})
	if err != nil || v.fault == publishFails {
		return errAsk
	}
	p.s.queue.publish(body)
	if v.fault == publishLost {
		return errAsk
	}
	return nil
}

// delivery is one message in one process.
type delivery struct {
	m      *message
	n      int
	asked  time.Time // when it last asked for a claim
	claims int       // how often it asked
	wrote  bool      // it wrote a claim
	given  bool      // it was given back
}

// handle starts one delivery.
func (p *process) handle(d *delivery, until time.Time) {
	a := p.actor(fmt.Sprintf("d%d", d.n), d)
	p.busy[a.name] = d
	work := a.in(p.work)
	lease, end := context.WithDeadline(a.in(p.loops), until)
	if p.s.broken.early {
		p.s.answer(d, relayer.Finish(), p, until)
	}
	p.running.Go(func() {
		defer end()
		got := p.worker.Handle(work, lease, relayer.Delivery{ID: d.m.id, Topic: p.s.cfg.Topic, Body: d.m.body,
			Published: d.m.published.Add(p.s.scene.nsqSkew), Until: until})
		got = p.s.broken.answer(d, got)
		v, _ := p.s.hall.pass(work, &gate{by: a.name, call: "dispose", what: got.String(), of: p, menu: []fault{answerLost}, sure: true})
		delete(p.busy, a.name)
		if v.fault == answerLost {
			got = relayer.Leave()
		}
		p.s.answer(d, got, p, until)
	})
}

// has says whether one of its deliveries is of a message that says the same.
func (p *process) has(body []byte) bool {
	for _, d := range p.busy {
		if bytes.Equal(d.m.body, body) {
			return true
		}
	}
	return false
}

// sends says whether one of its deliveries has a claim.
func (p *process) sends() bool {
	for _, d := range p.busy {
		if d.wrote {
			return true
		}
	}
	return false
}

// die ends a process at once. Whoever stands at a gate does not get on. A commit may have been on its way.
func (p *process) die(fate func() fault) {
	p.dead.Store(true)
	for _, g := range p.s.hall.standing() {
		if g.of != p {
			continue
		}
		v := verdict{dead: true}
		if g.call == "commit" {
			v.fault = fate()
		}
		p.s.hall.let(g, v)
	}
	p.kill()
	go p.queues.close()
}

// freeze has the process stand still, and its monotonic clock too where its machine sleeps.
func (p *process) freeze() {
	p.frozen = true
	if p.s.scene.sleeps {
		p.clock.fallAsleep()
	}
}

// thaw has it go on.
func (p *process) thaw() {
	if p.frozen && p.s.scene.sleeps {
		p.clock.wakeUp()
	}
	p.frozen = false
}

// stop begins a drain: no new deliveries, leases and loops end; at the deadline work does.
func (p *process) stop() {
	p.draining = true
	p.drain()
	time.AfterFunc(p.s.cfg.DrainTimeout, p.cut)
}
