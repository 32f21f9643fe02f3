package simtest

import (
	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// broken is where a test puts something in place of a part that has lost a guard. The zero value changes nothing.
type broken struct {
	onStart   func(s *sim)                                                          // before anything runs
	onRows    func(d *database) rows                                                // what processes have for the database
	onConfig  func(relayer.Config) relayer.Config                                   // of every process
	onPlan    func(intents.Plan) intents.Plan                                       // of the sender
	onResult  func(intents.Result) intents.Result                                   // of the sender
	onObserve func(w intents.Watch, os []intents.Observation) []intents.Observation // of the sender
	onAnswer  func(d *delivery, out relayer.Disposition) relayer.Disposition        // of a consumer
	onPause   func(s *sim, paused bool)                                             // of the route

	early    bool // a message is finished when it comes
	together bool // an intent may ride twice in a batch, and both see its row as it was
	plain    bool // a lost commit is read back without waiting for it
}

func (b broken) start(s *sim) {
	if b.onStart != nil {
		b.onStart(s)
	}
}

func (b broken) rows(d *database) rows {
	if b.onRows != nil {
		return b.onRows(d)
	}
	return d
}

func (b broken) config(c relayer.Config) relayer.Config {
	if b.onConfig != nil {
		return b.onConfig(c)
	}
	return c
}

func (b broken) plan(p intents.Plan) intents.Plan {
	if b.onPlan != nil {
		return b.onPlan(p)
	}
	return p
}

func (b broken) result(r intents.Result) intents.Result {
	if b.onResult != nil {
		return b.onResult(r)
	}
	return r
}

func (b broken) observe(w intents.Watch, os []intents.Observation) []intents.Observation {
	if b.onObserve != nil {
		return b.onObserve(w, os)
	}
	return os
}

func (b broken) answer(d *delivery, out relayer.Disposition) relayer.Disposition {
	if b.onAnswer != nil {
		return b.onAnswer(d, out)
	}
	return out
}

func (b broken) pause(s *sim, paused bool) {
	if b.onPause != nil {
		b.onPause(s, paused)
		return
	}
	_ = s.db.SetPaused(s.ctx(), route, paused, "operator") // the model store cannot fail
}
