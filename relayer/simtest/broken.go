package simtest

import (
	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

// broken is where a test puts something in place of a part that has lost a guard. The zero value changes nothing.
type broken struct {
	onRows    func(s *sim) rows                                                     // before the database
	onConfig  func(relayer.Config) relayer.Config                                   // of every process
	onPlan    func(intents.Plan) intents.Plan                                       // of the sender
	onObserve func(w intents.Watch, os []intents.Observation) []intents.Observation // of the sender
	onAnswer  func(d *delivery, out relayer.Disposition) relayer.Disposition        // of a consumer
	onResolve func(s *sim, readBack func() any) any                                 // after a lost answer
	onPause   func(s *sim, paused bool) error                                       // of the route
}

func (b broken) rows(s *sim) rows {
	if b.onRows != nil {
		return b.onRows(s)
	}
	return s.db
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

func (b broken) resolve(s *sim, readBack func() any) any {
	if b.onResolve != nil {
		return b.onResolve(s, readBack)
	}
	return readBack()
}

func (b broken) pause(s *sim, paused bool) error {
	if b.onPause != nil {
		return b.onPause(s, paused)
	}
	return s.db.SetPaused(s.ctx(), route, paused, "operator")
}
