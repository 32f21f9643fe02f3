package evm_test

import (
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/internal/devstack/chain"
	"github.com/nsqrelayer/relayer/relayer/evm"
)

// cheap pays a tip under what the simulated miner takes, 0.001 gwei, though its pool keeps it: go-ethereum, miner.DefaultConfig.
func cheap(cfg evm.Config) evm.Config {
	cfg.Tip = big.NewInt(1)
	return cfg
}

// stuck has so many payments in the pool that no block takes.
func stuck(t *testing.T, cfg evm.Config, most int) []intents.Watch {
	t.Helper()
	s := open(t, cheap(cfg))
	var ws []intents.Watch
	for n := range most {
		in, a := prepared(t, s, n)
		submit(t, s, a)
		ws = append(ws, watch(in, a))
	}
	return ws
}

// looksAt observes all, and says who wants what.
func looksAt(t *testing.T, s *evm.Sender, ws []intents.Watch) []intents.Observation {
	t.Helper()
	os, err := s.Observe(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	return os
}

// dropPool empties the chain's pool: a reorg of the next block loses what waited for it.
func dropPool(t *testing.T, c *chain.Chain) {
	t.Helper()
	if err := c.Reorg(t.Context(), 0, true); err != nil {
		t.Fatal(err)
	}
}

func TestBumpLowestOnly(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	cfg := config(t, c.URL)
	cfg.BumpAfter = 2
	ws := stuck(t, cfg, 3)
	s := open(t, cfg)
	for blocks := range 6 {
		os := looksAt(t, s, ws)
		for i, o := range os {
			want := intents.Kind(0)
			if i == 0 && blocks > 0 && blocks%2 == 0 {
				want = intents.Bump
			}
			if o.Want != want || o.Resend || o.Fact != intents.Pending {
				t.Errorf("after %d blocks number %d: %v, want %v, resend %v; want pending, %v", blocks, i, o.Fact, o.Want, o.Resend, want)
			}
		}
		if again := looksAt(t, s, ws); again[0].Want != 0 {
			t.Errorf("after %d blocks, looked at again without a new one: want %v", blocks, again[0].Want)
		}
		c.Mine()
	}
}

// TestBumpLands: the bump is mined instead of the first attempt, which then never can be.
func TestBumpLands(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	cfg := config(t, c.URL)
	cfg.BumpAfter = 1
	w := stuck(t, cfg, 1)[0]
	s := open(t, cfg)
	looksAt(t, s, []intents.Watch{w})
	c.Mine()
	if o := observe(t, s, w); o.Want != intents.Bump {
		t.Fatalf("want %v of %v, want a bump", o.Want, o.Fact)
	}
	bump, err := s.Prepare(t.Context(), w.Intent, w.Slot, intents.Bump, w.Attempts)
	if err != nil {
		t.Fatal(err)
	}
	submit(t, s, bump)
	c.Mine()
	c.Mine()
	w.Attempts = append(w.Attempts, bump)
	if o := observe(t, s, w); o.Fact != intents.Final || o.Ref != bump.Name || o.No != 2 {
		t.Errorf("%v of attempt %d, %s; want settled by the bump", o.Fact, o.No, o.Ref)
	}
	if r := s.Submit(t.Context(), w.Attempts[0]); r.Verdict == intents.Accepted {
		t.Errorf("the first attempt, late: %v, want its number used", r.Verdict)
	}
	c.Mine()
	if n := effects(t, c, 0); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

// TestBumpEnds: after so many, above the cap, and where there is no pool, the same bytes go on.
func TestBumpEnds(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	plain := config(t, c.URL)
	plain.BumpAfter = 1
	w := stuck(t, plain, 1)[0]
	held := w
	held.Intent.Cost = intents.AmountOf(new(big.Int).Mul(decode(t, w.Attempts[0]).GasFeeCap(), big.NewInt(21000)))
	second := w
	bump, err := open(t, cheap(plain)).Prepare(t.Context(), w.Intent, w.Slot, intents.Bump, w.Attempts)
	if err != nil {
		t.Fatal(err)
	}
	second.Attempts = []intents.Attempt{w.Attempts[0], bump}
	for name, tt := range map[string]struct {
		change func(*evm.Config)
		w      intents.Watch
		want   intents.Kind
		resend bool
	}{
		"may":          {func(*evm.Config) {}, w, intents.Bump, false},
		"two of one":   {func(c *evm.Config) { c.MaxBumps = 1 }, second, 0, true},
		"one of one":   {func(c *evm.Config) { c.MaxBumps = 1 }, w, intents.Bump, false},
		"above hold":   {func(*evm.Config) {}, held, 0, true},
		"above cap":    {func(c *evm.Config) { c.MaxFeePerGas = decode(t, w.Attempts[0]).GasFeeCap() }, w, 0, true},
		"without pool": {func(c *evm.Config) { c.NoBump = true }, w, 0, false}, // the sequencer has it
	} {
		cfg := plain
		tt.change(&cfg)
		s := open(t, cfg)
		observe(t, s, tt.w)
		c.Mine()
		o := observe(t, s, tt.w)
		if o.Want != tt.want || o.Resend != tt.resend || o.Fact != intents.Pending {
			t.Errorf("%s: %v, want %v, resend %v; want %v, %v", name, o.Fact, o.Want, o.Resend, tt.want, tt.resend)
		}
		if again := observe(t, s, tt.w); again.Want != 0 || again.Resend {
			t.Errorf("%s: looked at again without a new block: want %v, resend %v", name, again.Want, again.Resend)
		}
	}
}

// TestBumpKeepsKind: what goes above a cancel or a filler is another of them.
func TestBumpKeepsKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []intents.Kind{intents.Cancel, intents.Fill} {
		c := startChain(t, nil)
		cfg := config(t, c.URL)
		cfg.BumpAfter = 1
		w := intents.Watch{Slot: slot(open(t, cfg), 0)}
		if kind == intents.Cancel {
			w.Intent, w.Attempts = payment(0), stuck(t, cfg, 1)[0].Attempts
			w.Intent.State, w.Intent.Slot = intents.Confirming, w.Slot
		}
		first, err := open(t, cheap(cfg)).Prepare(t.Context(), w.Intent, w.Slot, kind, w.Attempts)
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, cfg)
		submit(t, s, first)
		first.Kind, first.No = kind, len(w.Attempts)+1
		w.Attempts = append(w.Attempts, first)
		observe(t, s, w)
		c.Mine()
		if o := observe(t, s, w); o.Want != kind {
			t.Fatalf("above a %v: want %v", kind, o.Want)
		}
		above, err := s.Prepare(t.Context(), w.Intent, w.Slot, kind, w.Attempts)
		if err != nil {
			t.Fatal(err)
		}
		submit(t, s, above)
		above.Kind = kind
		w.Attempts = append(w.Attempts, above)
		c.Mine()
		c.Mine()
		want := map[intents.Kind]intents.Fact{intents.Cancel: intents.Reverted, intents.Fill: intents.Final}[kind]
		if o := observe(t, s, w); o.Fact != want || o.No != len(w.Attempts) {
			t.Errorf("%v above a %v: %v of %d, want %v of %d", kind, kind, o.Fact, o.No, want, len(w.Attempts))
		}
	}
}

// TestResend is case 70: dropped from the pool, the same bytes are asked for again, ever more slowly, until they are seen.
func TestResend(t *testing.T) {
	t.Parallel()
	c := startChain(t, nil)
	cfg := config(t, c.URL)
	cfg.ResendAfter = 50 * time.Millisecond
	s := open(t, cfg)
	in, a := prepared(t, s, 0)
	submit(t, s, a)
	w := watch(in, a)
	if o := observe(t, s, w); o.Resend || o.Fact != intents.Pending {
		t.Fatalf("case 70: in the pool: %v, resend %v", o.Fact, o.Resend)
	}
	dropPool(t, c)
	type span struct{ from, to time.Time } // within which it was asked for
	asked := []span{{from: time.Now()}}
	await(t, func() bool {
		from := time.Now()
		o := observe(t, s, w)
		if o.Fact != intents.NotSeen || o.Want != 0 {
			t.Fatalf("case 70: out of the pool: %v, want %v; want not seen and no more", o.Fact, o.Want)
		}
		if o.Resend {
			asked = append(asked, span{from, time.Now()})
			if o.No != 1 {
				t.Errorf("case 70: resend of attempt %d, want 1", o.No)
			}
		}
		return len(asked) == 4
	})
	for i, wait := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond} {
		if got := asked[i+1].to.Sub(asked[i].from); got < wait {
			t.Errorf("case 70: asked for the %d. time after %s, want %s at least", i+1, got, wait)
		}
	}
	submit(t, s, a)
	c.Mine()
	c.Mine()
	if o := observe(t, s, w); o.Fact != intents.Final || o.Ref != a.Name {
		t.Errorf("case 70: in the end %v, want settled by the first bytes", o.Fact)
	}
}

// await waits for a condition.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("not within a minute")
		}
	}
}

// TestResendKnowsTheState: only what may be sent is asked for, and a new process goes by when the intent last changed.
func TestResendKnowsTheState(t *testing.T) {
	t.Parallel()
	node := scripted(t, quiet()) // knows no transaction
	now := time.Now()
	in, a := prepared(t, open(t, config(t, node)), 7)
	for name, tt := range map[string]struct {
		change func(*intents.Intent)
		want   bool
	}{
		"settling, claim over":    {func(in *intents.Intent) { in.State = intents.Settling }, true},
		"settling, claim running": {func(in *intents.Intent) { in.ClaimID, in.ClaimUntil = "c", now.Add(time.Minute) }, false},
		"settling, claim run out": {func(in *intents.Intent) { in.ClaimID, in.ClaimUntil = "c", now.Add(-time.Second) }, true},
		"confirming":              {func(in *intents.Intent) { in.State = intents.Confirming }, true},
		"confirming since now":    {func(in *intents.Intent) { in.State, in.ChangedAt = intents.Confirming, now }, false},
		"in review":               {func(in *intents.Intent) { in.State = intents.NeedsReview }, false},
	} {
		in := in
		in.ReadAt, in.ChangedAt = now, now.Add(-31*time.Second)
		tt.change(&in)
		s := open(t, config(t, node))
		if o := observe(t, s, watch(in, a)); o.Resend != tt.want || o.Want != 0 || o.Fact != intents.NotSeen {
			t.Errorf("%s: %v, resend %v, want %v; want resend %v", name, o.Fact, o.Resend, o.Want, tt.want)
		}
	}
}

// TestResendNeedsCertainty: an answer that was no answer does not make bytes gone.
func TestResendNeedsCertainty(t *testing.T) {
	t.Parallel()
	const busy = `error:{"code":-32000,"message":"transaction indexing is in progress"}`
	in, a := prepared(t, open(t, config(t, scripted(t, quiet()))), 7)
	other := a
	other.No, other.Name = 2, "0x"+"00000000000000000000000000000000000000000000000000000000000000aa"
	in.State, in.ReadAt, in.ChangedAt = intents.Confirming, time.Now(), time.Now().Add(-time.Hour)
	for name, tt := range map[string]struct {
		method string
		want   bool
	}{"all told": {"", true}, "no receipt told": {"eth_getTransactionReceipt", false}, "no transaction told": {"eth_getTransactionByHash", false}} {
		f := newFront(t, scripted(t, quiet()))
		f.says(func(c call) string {
			if c.Method == tt.method && string(c.Params[0]) == strconv.Quote(a.Name) {
				return busy
			}
			return ""
		})
		if o := observe(t, open(t, config(t, f.URL)), watch(in, a, other)); o.Resend != tt.want {
			t.Errorf("%s: resend %v, want %v", name, o.Resend, tt.want)
		}
	}
}

// TestResendInOrder: after a pool was emptied the lowest numbers go first, and not all of them at once.
func TestResendInOrder(t *testing.T) {
	t.Parallel()
	const most = 150
	script := quiet()
	script["eth_getTransactionCount"] = `"0x1"`
	s := open(t, config(t, scripted(t, script)))
	in, a := prepared(t, s, 0)
	in.State, in.ReadAt, in.ChangedAt = intents.Confirming, time.Now(), time.Now().Add(-time.Hour)
	ws := make([]intents.Watch, most)
	for i := range ws {
		ws[i] = watch(in, a)
		ws[i].Slot.Number = int64(most - i)
	}
	for round, want := range []func(n int64) bool{
		func(n int64) bool { return n <= 100 }, func(n int64) bool { return n > 100 }, func(int64) bool { return false },
	} {
		for i, o := range looksAt(t, s, ws) {
			if n := ws[i].Slot.Number; o.Resend != want(n) {
				t.Errorf("look %d, number %d: resend %v", round, n, o.Resend)
			}
		}
	}
}
