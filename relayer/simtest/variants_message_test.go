package simtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

func messageVariants() []variant {
	return []variant{
		{"REQ after the claim", func() broken { return broken{onAnswer: giveBack} }},
		{"FIN before the commit", func() broken { return broken{early: true} }},
		{"body of a newer version finished", func() broken { return broken{onAnswer: finishNewer} }},
		before("dead letter not stored", func(d *database) rows { return &unburied{d} }),
		before("sweeper forgets what is under way", func(d *database) rows { return &lazy{d} }),
	}
}

// giveBack gives a message back that it does not finish.
func giveBack(_ *delivery, out relayer.Disposition) relayer.Disposition {
	if out == relayer.Leave() {
		return relayer.Requeue(time.Second)
	}
	return out
}

func finishNewer(d *delivery, out relayer.Disposition) relayer.Disposition {
	_, err := intents.Decode(d.m.body)
	if _, newer := errors.AsType[*intents.NewerError](err); newer {
		return relayer.Finish()
	}
	return out
}

// unburied says that a dead letter is stored.
type unburied struct{ *database }

func (*unburied) Bury(context.Context, intents.DeadLetter) error { return nil }

// lazy publishes only what was never claimed.
type lazy struct{ *database }

func (l *lazy) Sweep(ctx context.Context, route string, most int) ([]intents.Intent, error) {
	ins, err := l.database.Sweep(ctx, route, most)
	return slices.DeleteFunc(ins, func(in intents.Intent) bool { return in.State == intents.Settling }), err
}

func patienceVariants() []variant {
	return []variant{
		before("review too early", func(d *database) rows { return &impatient{d} }),
	}
}

// impatient hands an intent to a person as soon as it may not be sent again.
type impatient struct{ *database }

func (i *impatient) Record(ctx context.Context, ws []intents.Watch, os []intents.Observation, p intents.Patience) ([]intents.Intent, error) {
	p.ReviewAfter = time.Second
	return i.database.Record(ctx, ws, os, p)
}
