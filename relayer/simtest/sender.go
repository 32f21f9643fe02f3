package simtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// What may go wrong on the way to the recipient and back.
const (
	cannotAsk   fault = "recipient does not answer"
	tooMany     fault = "recipient asks for fewer calls"
	notSent     fault = "no connection" // not a byte has left
	lostRequest fault = "request lost"
	lateRequest fault = "request late" // it arrives when nobody waits for it any more
	lostReply   fault = "reply lost"
	blowsUp     fault = "panic"
)

var errAsk = errors.New("no answer")

// out is the way out of one process: every call stops at a gate, and what it does to the recipient happens when that is
// opened.
type out struct{ p *process }

func (o out) stop(ctx context.Context, call, what string, menu ...fault) (verdict, error) {
	a := actorOf(ctx)
	v, err := a.of.s.hall.pass(ctx, &gate{by: a.name, call: call, what: what, of: a.of, menu: menu})
	if v.fault == blowsUp {
		panic("the sender blew up")
	}
	return v, err
}

func failed(v verdict, err error) error {
	switch {
	case err != nil:
		return err
	case v.fault == cannotAsk:
		return errAsk
	case v.fault == tooMany:
		return &intents.LimitedError{After: 3*time.Second + time.Duration(v.luck%uint64(time.Second)), Err: errAsk}
	}
	return nil
}

// Plan reads.
func (o out) Plan(ctx context.Context, in intents.Intent) (intents.Plan, error) {
	if err := failed(o.stop(ctx, "plan", in.ID, cannotAsk, tooMany, blowsUp)); err != nil {
		return intents.Plan{}, err
	}
	if in.Destination == nowhere {
		return intents.Plan{}, &intents.RefusedError{Why: "nobody lives there"}
	}
	return o.p.s.broken.plan(o.p.s.recipient.plan()), nil
}

// nowhere is a destination that is refused.
const nowhere = "nowhere"

// Prepare makes bytes that nobody else makes.
func (o out) Prepare(ctx context.Context, in intents.Intent, slot intents.Slot, kind intents.Kind, prior []intents.Attempt) (intents.Attempt, error) {
	if err := failed(o.stop(ctx, "prepare "+kind.String(), in.ID, cannotAsk, blowsUp)); err != nil {
		return intents.Attempt{}, err
	}
	o.p.s.made++
	return o.p.s.recipient.prepare(in, slot, kind, prior, fmt.Sprintf("%s.%d", o.p.name, o.p.s.made)), nil
}

// Submit sends. What the recipient makes of it and what its caller hears are two gates: between them others go on.
func (o out) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	return o.p.s.broken.result(o.submit(ctx, a))
}

func (o out) submit(ctx context.Context, a intents.Attempt) intents.Result {
	s, w, called := o.p.s, actorOf(ctx), time.Now()
	b := parse(a.Bytes)
	what := fmt.Sprintf("%s of %s", a.Name, b.id)
	v, err := o.stop(ctx, "submit", what, notSent, notSent, lostRequest, lateRequest, lateRequest, tooMany, blowsUp)
	switch {
	case err != nil: // cut: the bytes have not left, or are on their way
		s.adrift(&drifting{by: w, called: called, a: a})
		return intents.Result{}
	}
	s.monitor.leaves(w, called, a)
	switch {
	case v.fault == notSent:
		return intents.Result{Verdict: intents.NotSent, Evidence: []byte(`"connection refused"`)}
	case v.fault == tooMany:
		return intents.Result{Verdict: intents.NotSent, Calm: 4 * time.Second, After: 5 * time.Second}
	case v.fault == lostRequest:
		return intents.Result{Evidence: []byte(`"timeout"`)}
	case v.fault == lateRequest:
		s.drift(a, v.luck)
		return intents.Result{Evidence: []byte(`"timeout"`)}
	}
	r := s.arrive(a, v.luck)
	if s.muted() {
		return intents.Result{Evidence: []byte(`"timeout"`)}
	}
	if v, err = o.stop(ctx, "reply", what+": "+r.Verdict.String(), lostReply, lostReply, blowsUp); err != nil || v.fault == lostReply {
		return intents.Result{Evidence: []byte(`"connection reset"`)}
	}
	return r
}

// Observe asks about slots.
func (o out) Observe(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	if err := failed(o.stop(ctx, "observe", fmt.Sprint(len(ws)), cannotAsk, tooMany, blowsUp)); err != nil {
		return nil, err
	}
	var all []intents.Observation
	for _, w := range ws {
		all = append(all, o.p.s.broken.observe(w, o.p.s.recipient.observe(w))...)
	}
	return all, nil
}

// counting is the way out to a recipient whose slots are numbers.
type counting struct{ out }

// Numbers tells the next number.
func (c counting) Numbers(ctx context.Context) (map[string]int64, error) {
	if err := failed(c.stop(ctx, "numbers", "", cannotAsk)); err != nil {
		return nil, err
	}
	return map[string]int64{signer: c.p.s.recipient.next()}, nil
}

// Strangers finds who else used numbers.
func (c counting) Strangers(ctx context.Context, _ string, from, to int64) ([]intents.Foreign, error) {
	if err := failed(c.stop(ctx, "strangers", fmt.Sprintf("%d-%d", from, to), cannotAsk)); err != nil {
		return nil, err
	}
	return c.p.s.recipient.(*chain).between(from, to), nil
}

// Refer tells what a reference is.
func (c counting) Refer(ctx context.Context, in intents.Intent, ref string) (intents.Observation, error) {
	if err := failed(c.stop(ctx, "refer", ref, cannotAsk)); err != nil {
		return intents.Observation{}, err
	}
	return c.p.s.recipient.(*chain).refer(in, ref), nil
}
