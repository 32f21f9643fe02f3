package evm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// TestEndpointWeights: reads go by turns, as the weights say.
func TestEndpointWeights(t *testing.T) {
	t.Parallel()
	a, b := newStand(t, quiet()), newStand(t, quiet())
	cfg := config(t, "")
	cfg.Endpoints = []evm.Endpoint{{URL: a.URL, Weight: 3}, {URL: b.URL}}
	cfg.Weight = 25
	s := open(t, cfg)
	for n := range 40 {
		if p, err := s.Plan(t.Context(), payment(n)); err != nil || p.Weight != 25 {
			t.Fatalf("Plan = %+v, %v; want weight 25", p, err)
		}
	}
	if x, y := a.calls("eth_chainId"), b.calls("eth_chainId"); x != 30 || y != 10 {
		t.Errorf("%d and %d reads, want 30 and 10", x, y)
	}
}

// TestEndpointsFail: reads go on at the next node, whatever is wrong with the first.
func TestEndpointsFail(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*stand){
		"500":      func(st *stand) { st.turn(500) },
		"429":      func(st *stand) { st.turn(429) },
		"401":      func(st *stand) { st.turn(401) },
		"404":      func(st *stand) { st.turn(404) },
		"nonsense": func(st *stand) { st.set("eth_getBalance", `{`) },
		"json-429": func(st *stand) { st.set("eth_getBalance", `error:{"code":429,"message":"slow down"}`) },
		"syncing":  func(st *stand) { st.set("eth_getBlockByNumber", `error:{"code":-32000,"message":"header not found"}`) },
		"case 75":  func(st *stand) { st.set("eth_chainId", `"0x1"`) },
		"no chain": func(st *stand) { st.set("eth_chainId", `null`) },
		"hangs":    func(st *stand) { st.wait = make(chan struct{}) },
	} {
		bad, good := newStand(t, quiet()), newStand(t, quiet())
		spoil(bad)
		cfg := config(t, "")
		cfg.Endpoints = []evm.Endpoint{{URL: bad.URL, Weight: 1000}, {URL: good.URL}}
		if name == "hangs" {
			cfg.Timeout = 2 * time.Second // of which it gets the half
		}
		if _, err := open(t, cfg).Plan(t.Context(), payment(0)); err != nil {
			t.Errorf("%s: Plan = %v", name, err)
		}
		if bad.http() != 1 || good.http() != 1 {
			t.Errorf("%s: %d and %d calls, want one each", name, bad.http(), good.http())
		}
	}
}

// TestEndpointRefuses: a revert is an answer, not a reason to ask the next.
func TestEndpointRefuses(t *testing.T) {
	t.Parallel()
	node := quiet()
	node["eth_estimateGas"] = `error:{"code":3,"message":"execution reverted"}`
	a, b := newStand(t, node), newStand(t, node)
	if _, err := among(t, a.URL, b.URL).Plan(t.Context(), payment(0)); !isRefused(err) {
		t.Errorf("Plan = %v, want it refused", err)
	}
	if a.http()+b.http() != 1 {
		t.Errorf("%d calls, want 1", a.http()+b.http())
	}
}

// TestEndpointDead: one of two real endpoints is dead; everything works, and it is hardly called. Then it is back.
func TestEndpointDead(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	front := lying(t, c.URL, "html-502=100%", 0)
	s := among(t, front.URL, c.URL)
	for n := range 20 {
		in, a := prepared(t, s, n)
		submit(t, s, a)
		if n == 19 {
			c.Mine()
			c.Mine()
			if o := observe(t, s, watch(in, a)); o.Fact != intents.Final {
				t.Errorf("%v, want settled", o.Fact)
			}
		}
	}
	if calls := front.Calls()["eth_chainId"]; calls > 10 {
		t.Errorf("the dead endpoint was called %d times", calls)
	}
	turn(t, front, "")
	_, a := prepared(t, s, 20)
	eventually(t, "a probe brings it back, and sends go to the first again", func() bool {
		_ = s.Probe(t.Context())
		submit(t, s, a)
		return front.Calls()["eth_sendRawTransaction"] > 0
	})
	for n := range 20 {
		if got := effects(t, c, n); got != 1 {
			t.Errorf("payment %d has %d effects", n, got)
		}
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("never: %s", what)
		}
	}
}

// TestNoEndpoint: when all are dead it is not now, and the throttle is left alone.
func TestNoEndpoint(t *testing.T) {
	t.Parallel()
	a, b := newStand(t, quiet()), newStand(t, quiet())
	s := among(t, a.URL, b.URL)
	_, at := prepared(t, s, 0)
	a.Close()
	b.Close()
	for range 5 {
		if _, err := s.Plan(t.Context(), payment(1)); err == nil || isLimited(err) || isRefused(err) || strings.Contains(err.Error(), "SECRETKEY") {
			t.Errorf("Plan = %v, want: not now, without calm", err)
		}
		if r := s.Submit(t.Context(), at); r.Verdict != intents.NotSent || r.Calm != 0 || !json.Valid(r.Evidence) || strings.Contains(string(r.Evidence), "SECRETKEY") {
			t.Errorf("Submit = %v, calm %v; want not sent, no calm: %s", r.Verdict, r.Calm, r.Evidence)
		}
	}
	if r := s.Submit(t.Context(), at); !strings.Contains(string(r.Evidence), "no endpoint") || r.After <= 0 {
		t.Errorf("with all out: after %v: %s", r.After, r.Evidence)
	}
	if _, err := s.Observe(t.Context(), []intents.Watch{watch(payment(0), at)}); err == nil || isLimited(err) {
		t.Errorf("Observe = %v, want: look later", err)
	}
}

// TestSubmitOthers has what two endpoints make of one send.
func TestSubmitOthers(t *testing.T) {
	t.Parallel()
	const known, low = `error:{"code":-32000,"message":"already known"}`, `error:{"code":-32603,"message":"Transaction nonce too low"}`
	const full, odd = `error:{"code":-32000,"message":"txpool is full"}`, `error:{"code":-32603,"message":"internal error"}`
	const many, gas = `error:{"code":429,"message":"slow down"}`, `error:{"code":-32000,"message":"intrinsic gas too low"}`
	for _, tt := range []struct {
		first, second string // "dead": nobody listens
		want          intents.Verdict
		calls         int // at the second
	}{
		{known, known, accepted, 0}, {full, known, accepted, 1}, {odd, known, accepted, 1}, {many, known, accepted, 1},
		{gas, known, accepted, 1}, {`"0x1234"`, known, accepted, 1}, {"dead", known, accepted, 1}, {"null", known, accepted, 1},
		{low, known, unknown, 0},
		{full, full, notSent, 1}, {full, many, notSent, 1}, {"dead", full, notSent, 1},
		{odd, full, unknown, 1}, {full, odd, unknown, 1}, {"null", "dead", unknown, 0}, {full, low, unknown, 1},
	} {
		a := newStand(t, quiet())
		b := newStand(t, quiet())
		s := among(t, a.URL, b.URL)
		_, at := prepared(t, s, 0)
		for st, answer := range map[*stand]string{a: tt.first, b: tt.second} {
			if answer == "dead" {
				st.Close()
			}
			st.set("eth_sendRawTransaction", answer)
		}
		r := s.Submit(t.Context(), at)
		if r.Verdict != tt.want || (r.Ref == at.Name) != (tt.want == accepted) || !json.Valid(r.Evidence) || strings.Contains(string(r.Evidence), "SECRETKEY") {
			t.Errorf("%s, then %s = %v, ref %q; want %v: %s", tt.first, tt.second, r.Verdict, r.Ref, tt.want, r.Evidence)
		}
		if x, y := a.calls("eth_sendRawTransaction"), b.calls("eth_sendRawTransaction"); x > 1 || y != tt.calls {
			t.Errorf("%s, then %s: %d and %d calls, want at most 1 and %d", tt.first, tt.second, x, y, tt.calls)
		}
		if r.Calm != 0 {
			t.Errorf("%s, then %s: calm %v", tt.first, tt.second, r.Calm)
		}
	}
}

// TestSubmitHangs: an endpoint that hangs leaves time for the next.
func TestSubmitHangs(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	front := lying(t, c.URL, "accept-timeout=100%", 0)
	cfg := config(t, "")
	cfg.Endpoints = []evm.Endpoint{{URL: front.URL}, {URL: c.URL}}
	cfg.Timeout = 4 * time.Second
	s := open(t, cfg)
	_, a := prepared(t, s, 0)
	r := s.Submit(t.Context(), a)
	if r.Verdict != accepted || front.Calls()["eth_sendRawTransaction"] != 1 {
		t.Errorf("Submit = %v: %s", r.Verdict, r.Evidence)
	}
	var e struct {
		Calls []struct{ Call, Error string }
	}
	if err := json.Unmarshal(r.Evidence, &e); err != nil || len(e.Calls) != 2 || e.Calls[0].Error == "" || e.Calls[1].Error != "" {
		t.Errorf("evidence %s, want both calls", r.Evidence)
	}
	c.Mine()
	if n := effects(t, c, 0); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

// TestLagging: what a node behind does not see is asked of others. The two chains begin alike; one has more blocks.
func TestLagging(t *testing.T) {
	t.Parallel()
	ahead, behind := startChain(t, nil), startChain(t, nil)
	s := among(t, behind.URL, ahead.URL)
	in, a := prepared(t, open(t, config(t, ahead.URL)), 0)
	submit(t, open(t, config(t, ahead.URL)), a)
	for range 3 {
		ahead.Mine()
	}
	for range 2 { // so that both are known, whoever is asked first
		if err := s.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 6 {
		if o := observe(t, s, watch(in, a)); o.Fact != intents.Final || o.Ref != a.Name {
			t.Errorf("%v, want settled, whoever is asked first: %s", o.Fact, o.Evidence)
		}
	}
	for range 60 { // a second or more each
		ahead.Mine()
	}
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	front := lying(t, behind.URL, "", 0)
	s = among(t, front.URL, ahead.URL)
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := front.Calls()["eth_chainId"]
	for n := range 5 {
		if _, err := s.Plan(t.Context(), payment(n)); err != nil {
			t.Error(err)
		}
	}
	if after := front.Calls()["eth_chainId"]; after != before {
		t.Errorf("%d reads went to the node that lags", after-before)
	}
}

// TestOwnHead: depth is counted with the head of the node that shows the receipt, not with the highest.
func TestOwnHead(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	s := open(t, config(t, c.URL))
	in, a := prepared(t, s, 0)
	submit(t, s, a)
	c.Mine()
	both := among(t, newStand(t, quiet()).URL, c.URL) // the first is at block 100, without receipts
	included := 0
	for range 4 { // each is asked first twice
		switch o := observe(t, both, watch(in, a)); o.Fact {
		case intents.Included:
			included++
		case intents.NotSeen:
		default:
			t.Errorf("%v of what is one block deep where it is seen: %s", o.Fact, o.Evidence)
		}
	}
	if included == 0 {
		t.Error("never included")
	}
}

// TestCheckHighest: where nodes differ about the next nonce the highest counts.
func TestCheckHighest(t *testing.T) {
	t.Parallel()
	low, high, other := quiet(), quiet(), quiet()
	high["eth_getTransactionCount"], other["eth_getTransactionCount"], other["eth_chainId"] = `"0x9"`, `"0x50"`, `"0x1"`
	s := among(t, newStand(t, low).URL, newStand(t, other).URL, newStand(t, high).URL, deadURL(t))
	if next, err := nextOf(t, s); next != 9 || err != nil {
		t.Errorf("Check = %d, %v; want 9, of those of our chain", next, err)
	}
}

// TestRunProbes: the loop finds a node that came back.
func TestRunProbes(t *testing.T) {
	t.Parallel()
	a := newStand(t, quiet())
	a.turn(500)
	cfg := config(t, a.URL)
	cfg.ProbeEvery = 10 * time.Millisecond
	s := open(t, cfg)
	var loops sync.WaitGroup
	defer loops.Wait()
	ctx, cancel := contextOf(t)
	defer cancel()
	loops.Go(func() { s.Run(ctx) })
	eventually(t, "it is out", func() bool {
		_, err := s.Plan(t.Context(), payment(0))
		return err != nil && strings.Contains(err.Error(), "no endpoint")
	})
	a.turn(200)
	eventually(t, "it is back", func() bool {
		_, err := s.Plan(t.Context(), payment(0))
		return err == nil
	})
}

// TestEndpointsConcurrent is for the race detector: everything at once over endpoints that lie.
func TestEndpointsConcurrent(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	const spec = "accept-reset=5%,wrong-hash=5%,null-receipt=20%,null-tx=10%,half-reply=2%,html-502=2%"
	s := among(t, lying(t, c.URL, spec, 3).URL, lying(t, c.URL, spec, 3).URL, deadURL(t))
	const most = 24
	var next atomic.Int64
	var work, probes sync.WaitGroup
	ctx, cancel := contextOf(t)
	probes.Go(func() {
		for ctx.Err() == nil {
			_ = s.Probe(ctx)
			c.Mine()
		}
	})
	for range 8 {
		work.Go(func() {
			for n := next.Add(1); n <= most; n = next.Add(1) {
				settle(t, s, int(n-1))
			}
		})
	}
	work.Wait()
	cancel()
	probes.Wait()
	for n := range most {
		if got := effects(t, c, n); got != 1 {
			t.Errorf("payment %d has %d effects, want 1", n, got)
		}
	}
}

// settle brings the n-th payment to its end, as the engine would: the same bytes until they are seen.
func settle(t *testing.T, s *evm.Sender, n int) {
	in := payment(n)
	var a intents.Attempt
	eventually(t, "it is prepared", func() bool {
		p, err := s.Plan(t.Context(), in)
		if err != nil {
			return false
		}
		in.State, in.Cost, in.Slot = intents.Settling, p.Cost, slot(s, int64(n))
		a, err = s.Prepare(t.Context(), in, in.Slot, intents.First, nil)
		return err == nil
	})
	sent := false
	eventually(t, fmt.Sprintf("payment %d settles", n), func() bool {
		sent = sent || s.Submit(t.Context(), a).Verdict == accepted
		os, err := s.Observe(t.Context(), []intents.Watch{watch(in, a)})
		return err == nil && os[0].Fact == intents.Final
	})
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}
