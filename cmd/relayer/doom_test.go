package main

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/nsqworker"
	"github.com/nsqrelayer/relayer/relayer"
)

// doomEnv says where a program of the tests kills itself: POINT ROUTE FILE.
const doomEnv = "RELAYER_TEST_DOOM"

// doomed is the program that kills itself at one boundary of one route, the first time it comes there.
func doomed(p parts, spec string) parts {
	var d doom
	if n, err := fmt.Sscan(spec, &d.point, &d.route, &d.file); n != 3 {
		panic(err)
	}
	d.of = map[int64]string{}
	p.seams.ledger = func(route string, l ledger) ledger {
		if route != d.route {
			return l
		}
		return &doomedLedger{l, &d}
	}
	p.seams.way = func(route string, w way) way {
		evm, isEVM := w.(evmWay)
		hook, isHook := w.(webhookWay)
		switch {
		case route != d.route:
		case isEVM:
			return &doomedEVM{evm, &d}
		case isHook:
			return &doomedHook{hook, &d}
		}
		return w
	}
	p.seams.handler = func(route string, h nsqworker.Handler) nsqworker.Handler {
		if route != d.route {
			return h
		}
		return &doomedHandler{h, &d}
	}
	return p
}

// doom is where and when it comes.
type doom struct {
	point, route, file string

	mu   sync.Mutex
	of   map[int64]string // intents by slot
	last string           // the intent whose message was answered last
}

// at kills the process when its point is reached, and leaves word of the intent it was about.
func (d *doom) at(point, intent string) {
	if point != d.point {
		return
	}
	d.mu.Lock() // for ever: the first one is it
	if err := os.WriteFile(d.file, []byte(intent), 0o600); err != nil {
		panic(err)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// owns notes whose slot it is: senders do not know.
func (d *doom) owns(in intents.Intent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of[in.Slot.ID] = in.ID
}

func (d *doom) owner(slot intents.Slot) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of[slot.ID]
}

// doomedHandler is K1 and K10: a message has come, or a message before it was answered.
type doomedHandler struct {
	nsqworker.Handler
	d *doom
}

func (h *doomedHandler) Handle(work, lease context.Context, m nsqworker.Delivery) nsqworker.Disposition {
	h.d.mu.Lock()
	last := h.d.last
	h.d.mu.Unlock()
	if last != "" {
		h.d.at("K10", last)
	}
	id := ""
	if msg, err := intents.Decode(m.Body); err == nil {
		id = msg.ID
	}
	h.d.at("K1", id)
	out := h.Handler.Handle(work, lease, m)
	h.d.mu.Lock()
	h.d.last = id
	h.d.mu.Unlock()
	return out
}

// doomedLedger is K2, K4, K7 and K9: something is committed.
type doomedLedger struct {
	ledger
	d *doom
}

func (l *doomedLedger) Take(ctx context.Context, m intents.Message) (intents.Intent, error) {
	in, err := l.ledger.Take(ctx, m)
	if err == nil {
		l.d.at("K2", in.ID)
	}
	return in, err
}

func (l *doomedLedger) Claim(ctx context.Context, c intents.Claim) (intents.Claimed, error) {
	got, err := l.ledger.Claim(ctx, c)
	if err == nil {
		l.d.owns(got.Intent)
		if got.Intent.Stored > 0 {
			l.d.at("K4", got.Intent.ID)
		}
	}
	return got, err
}

func (l *doomedLedger) Attach(ctx context.Context, a intents.Attempt) (intents.Attempt, error) {
	got, err := l.ledger.Attach(ctx, a)
	if err == nil {
		l.d.at("K4", l.d.owner(a.Slot))
	}
	return got, err
}

func (l *doomedLedger) Complete(ctx context.Context, c intents.Claimed, r intents.Result) (intents.Intent, error) {
	in, err := l.ledger.Complete(ctx, c, r)
	if err == nil && in.State == intents.Confirming {
		l.d.at("K7", in.ID)
	}
	return in, err
}

func (l *doomedLedger) Record(ctx context.Context, ws []intents.Watch, os []intents.Observation, p intents.Patience) ([]intents.Intent, error) {
	ins, err := l.ledger.Record(ctx, ws, os, p)
	for _, in := range ins {
		if in.State == intents.Settled {
			l.d.at("K9", in.ID)
		}
	}
	return ins, err
}

// sending is K3, K5, K6 and K8: the other side was asked, was sent to, has answered, has shown the effect.
func (d *doom) planned(in intents.Intent, err error) {
	if err == nil {
		d.at("K3", in.ID)
	}
}

func (d *doom) submit(ctx context.Context, s relayer.Sender, a intents.Attempt) intents.Result {
	id := d.owner(a.Slot)
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { d.at("K5", id) }})
	r := s.Submit(traced, a)
	if r.Verdict == intents.Accepted || r.Verdict == intents.Done {
		d.at("K6", id)
	}
	return r
}

func (d *doom) observed(ws []intents.Watch, os []intents.Observation) {
	for i, o := range os {
		if o.Fact == intents.Final && i < len(ws) {
			d.at("K8", ws[i].Intent.ID)
		}
	}
}

type doomedEVM struct {
	evmWay
	d *doom
}

func (w *doomedEVM) Plan(ctx context.Context, in intents.Intent) (intents.Plan, error) {
	p, err := w.evmWay.Plan(ctx, in)
	w.d.planned(in, err)
	return p, err
}

func (w *doomedEVM) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	return w.d.submit(ctx, w.evmWay, a)
}

func (w *doomedEVM) Observe(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	os, err := w.evmWay.Observe(ctx, ws)
	w.d.observed(ws, os)
	return os, err
}

type doomedHook struct {
	webhookWay
	d *doom
}

func (w *doomedHook) Plan(ctx context.Context, in intents.Intent) (intents.Plan, error) {
	p, err := w.webhookWay.Plan(ctx, in)
	w.d.planned(in, err)
	return p, err
}

func (w *doomedHook) Submit(ctx context.Context, a intents.Attempt) intents.Result {
	return w.d.submit(ctx, w.webhookWay, a)
}

func (w *doomedHook) Observe(ctx context.Context, ws []intents.Watch) ([]intents.Observation, error) {
	os, err := w.webhookWay.Observe(ctx, ws)
	w.d.observed(ws, os)
	return os, err
}

// doomable is main, doomed where the environment says so.
func doomable() {
	tied()
	resolving()
	p := realParts()
	if spec := strings.TrimSpace(os.Getenv(doomEnv)); spec != "" {
		p = doomed(p, spec)
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, p))
}
