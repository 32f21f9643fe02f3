package evm_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
	"github.com/nsqrelayer/relayer/relayer/evm"
	"github.com/nsqrelayer/relayer/relayer/memstore"
)

// shop is the engine with a sender on a real chain, over the model store, whose clock can be moved on.
type shop struct {
	*testing.T
	store    *memstore.Store
	ahead    atomic.Int64 // of the clock
	worker   *relayer.Worker
	observer *relayer.Observer
}

func newShop(t *testing.T, s *evm.Sender) *shop {
	sh := &shop{T: t}
	sh.store = memstore.New(memstore.Config{Now: func() time.Time { return time.Now().Add(time.Duration(sh.ahead.Load())) }})
	if _, err := sh.store.OpenSigner(t.Context(), intents.Signer{Scope: s.Scopes()[0], Window: 16}); err != nil {
		t.Fatal(err)
	}
	cfg := relayer.Config{Route: "payouts", Topic: "intents.payouts", Owner: "w1", Concurrency: 1}
	throttle := relayer.NewThrottle(relayer.ThrottleConfig{PerSecond: relayer.Unlimited, InFlight: 1})
	var err error
	sh.worker, err = relayer.NewWorker(cfg, sh.store, sh.store, s, throttle, relayer.NewProbe(sh.store, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	sh.observer = relayer.NewObserver(cfg, sh.store, sh.store, sh.store, s, throttle)
	return sh
}

// pay stores an intent, has it worked, and gives what became of it.
func (sh *shop) pay(in intents.Intent) intents.Intent {
	sh.Helper()
	if _, err := sh.store.Create(sh.Context(), in, true, "test"); err != nil {
		sh.Fatal(err)
	}
	body, err := intents.EncodeReference(in.ID)
	if err != nil {
		sh.Fatal(err)
	}
	now := time.Now()
	sh.worker.Handle(sh.Context(), sh.Context(), relayer.Delivery{ID: in.ID, Topic: "intents.payouts", Body: body, Published: now})
	return sh.get(in.ID)
}

func (sh *shop) get(id string) intents.Intent {
	sh.Helper()
	in, err := sh.store.Get(sh.Context(), id)
	if err != nil {
		sh.Fatal(err)
	}
	return in
}

// later looks at everything after a while.
func (sh *shop) later(d time.Duration) {
	sh.Helper()
	sh.ahead.Add(int64(d))
	if _, err := sh.observer.Observe(sh.Context()); err != nil {
		sh.Fatal(err)
	}
}

// TestTokenEngine is cases 79 and 80 for tokens, through the engine: what the token moves settles, what it does not move
// goes to a person after confirm-after and no earlier, what it refuses beforehand takes no number.
func TestTokenEngine(t *testing.T) {
	t.Parallel()
	c, cfg := withTokens(t)
	sh := newShop(t, open(t, cfg))
	block := tokens("USDC", 2, 100)
	block.Destination = blocked
	good, lie := sh.pay(tokens("USDC", 0, 700)), sh.pay(tokens("LIE", 1, 100))
	if in := sh.pay(block); in.State != intents.Failed || in.Reason != intents.ReasonRefused || in.Slot.Kind != intents.NoSlot {
		t.Errorf("case 80: %v (%s) in slot %v, want it refused without a number", in.State, in.Reason, in.Slot)
	}
	next := sh.pay(tokens("USDC", 3, 300))
	for n, in := range []intents.Intent{good, lie, next} {
		if in.State != intents.Confirming || in.Slot.Number != int64(n) || in.Held().Cmp(in.Amount) != 0 {
			t.Errorf("%s: %v in slot %v, holds %v; want confirming in %d, holding the amount", in.ID, in.State, in.Slot, in.Held(), n)
		}
	}
	c.Mine()
	c.Mine()
	sh.later(time.Minute)
	for _, in := range []intents.Intent{good, next} {
		if in := sh.get(in.ID); in.State != intents.Settled {
			t.Errorf("%s: %v, want settled", in.ID, in.State)
		}
	}
	sh.later(50 * time.Minute)
	if in := sh.get(lie.ID); in.State != intents.Confirming {
		t.Errorf("case 79: before confirm-after %v, want confirming", in.State)
	}
	sh.later(time.Hour)
	in := sh.get(lie.ID)
	if in.State != intents.NeedsReview || in.Held().Cmp(in.Amount) != 0 {
		t.Errorf("case 79: %v (%s), holds %v; want review, holding the amount", in.State, in.Reason, in.Held())
	}
	all, err := sh.store.Events(t.Context(), lie.ID)
	if err != nil {
		t.Fatal(err)
	}
	if last := all[len(all)-1]; last.To != intents.NeedsReview || !strings.Contains(string(last.Detail), "shows no transfer") {
		t.Errorf("case 79: the last event is %v with %s, want the evidence", last.To, last.Detail)
	}
}
