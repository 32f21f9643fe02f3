package intents_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nsqrelayer/relayer/intents"
)

// noon is the database's time in the tests of decisions.
func noon() time.Time { return time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC) }

// row is an intent as it stands in a state on its plain path: claimed a minute ago, the claim over for a second.
func row(state intents.State, change ...func(*intents.Intent)) intents.Intent {
	in := intents.Intent{Key: 1, ID: "pi_1", Route: "r", Account: "a", Asset: "EUR", Amount: intents.NewAmount(100),
		State: state, Version: 7, ChangedAt: noon().Add(-time.Minute), DueAt: noon().Add(time.Hour)}
	if state.Holds() {
		in.Slot, in.Stored = intents.Slot{ID: 1, Kind: intents.Key, Scope: "s", Name: in.ID}, 1
		in.Cost, in.Seen, in.Calls = intents.NewAmount(10), true, 1
		in.FirstClaimedAt, in.AgainUntil = noon().Add(-time.Minute), intents.Always.Until(noon())
	}
	switch state {
	case intents.Settling:
		in.ClaimID, in.ClaimUntil, in.Silent = "c1", noon().Add(-time.Second), 1
	case intents.Confirming:
		in.Ref, in.WatchAt = "ref", noon()
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

func counterSlot(stored int) func(*intents.Intent) {
	return func(in *intents.Intent) {
		in.Slot, in.Stored = intents.Slot{ID: 9, Kind: intents.Counter, Scope: "s", Number: 4}, stored
	}
}

// lawful checks what holds for every change: without a new version only timers move, with one it is an edge and an event.
func lawful(t interface {
	Helper()
	Errorf(string, ...any)
}, c intents.Change) {
	t.Helper()
	b, a := c.Before, c.After
	if !c.Moves() {
		b.DueAt, b.TryAt, b.WatchAt, b.Cost = a.DueAt, a.TryAt, a.WatchAt, a.Cost
		if d := cmp.Diff(b, a); d != "" || c.Pending().Sign() != 0 || c.Captures() || c.Slot != intents.SlotKeeps {
			t.Errorf("a change without a version moves more than timers: %s", d)
		}
		if c.Event.Kind == intents.Changed || c.Event.Kind != 0 && c.Event.Version != b.Version {
			t.Errorf("event %+v of a change without a version", c.Event)
		}
		return
	}
	e := c.Event
	if a.Version != b.Version+1 || !intents.CanMove(b.State, a.State) {
		t.Errorf("%s v%d to %s v%d is no edge", b.State, b.Version, a.State, a.Version)
	}
	if e.Kind != intents.Changed || e.Version != a.Version || e.N != 0 || e.From != b.State || e.To != a.State || e.Reason != a.Reason || !e.At.Equal(a.ChangedAt) {
		t.Errorf("event %+v does not tell of %s v%d to %s v%d", e, b.State, b.Version, a.State, a.Version)
	}
	if a.State.Final() != (a.DueAt.IsZero() && a.State != intents.Created) || a.State.Final() && (!a.WatchAt.IsZero() || !a.TryAt.IsZero()) {
		t.Errorf("%s is due %v, watched %v, tried %v", a.State, a.DueAt, a.WatchAt, a.TryAt)
	}
	if a.State != intents.Settling && a.ClaimID != "" {
		t.Errorf("%s keeps claim %s", a.State, a.ClaimID)
	}
	if !a.Held().Equal(b.Held().Add(c.Pending())) || a.Held().Sign() < 0 {
		t.Errorf("held %s, then %s: pending grows by %s", b.Held(), a.Held(), c.Pending())
	}
}

// asked is a claim with bytes for a key slot, costing 10.
func asked(in intents.Intent) intents.Claim {
	return intents.Claim{Intent: in, Plan: intents.Plan{Slot: intents.Key, Scope: "s", Cost: intents.NewAmount(10), Again: intents.For(time.Hour), Seen: true},
		Attempt: &intents.Attempt{No: 1, Kind: intents.First, Slot: intents.Slot{Name: "given"}}, ID: "c2", Owner: "w1", Term: time.Minute}
}

func TestAdmitFirst(t *testing.T) {
	later := noon().Add(time.Minute)
	for name, tt := range map[string]struct {
		in    func(*intents.Intent)
		claim func(*intents.Claim)
		facts func(*intents.Facts)
		why   intents.Why // empty: claimed
		to    intents.State
		due   time.Time // of an intent that waits; zero: as it was
	}{
		"claimed":                {to: intents.Settling},
		"other version":          {claim: func(c *intents.Claim) { c.Intent.Version++ }, why: intents.WhyMoved},
		"other state":            {claim: func(c *intents.Claim) { c.Intent.State = intents.Created }, why: intents.WhyMoved},
		"other route":            {claim: func(c *intents.Claim) { c.Intent.Route = "x" }, why: intents.WhyMoved},
		"other key":              {claim: func(c *intents.Claim) { c.Intent.Key++ }, why: intents.WhyMoved},
		"expired now":            {in: func(in *intents.Intent) { in.ExpiresAt = noon() }, why: intents.WhyExpired, to: intents.Failed},
		"expires in a second":    {in: func(in *intents.Intent) { in.ExpiresAt = noon().Add(time.Second) }, to: intents.Settling},
		"due now":                {in: func(in *intents.Intent) { in.TryAt = noon() }, to: intents.Settling},
		"not due":                {in: func(in *intents.Intent) { in.TryAt = later }, why: intents.WhyNotDue, due: later},
		"paused":                 {facts: func(f *intents.Facts) { f.Paused = true }, why: intents.WhyPaused, due: noon()},
		"lane":                   {facts: func(f *intents.Facts) { f.LaneBusy = true }, why: intents.WhyLane, due: noon().Add(5 * time.Second)},
		"just covered":           {facts: func(f *intents.Facts) { f.Free = intents.NewAmount(110) }, to: intents.Settling},
		"one short":              {facts: func(f *intents.Facts) { f.Free = intents.NewAmount(109) }, why: intents.WhyFunds, to: intents.Failed},
		"not enforced":           {facts: func(f *intents.Facts) { f.Free, f.Enforced = intents.NewAmount(-5), false }, to: intents.Settling},
		"one short, waits":       {claim: func(c *intents.Claim) { c.Wait = true }, facts: func(f *intents.Facts) { f.Free = intents.NewAmount(109) }, why: intents.WhyFunds, due: later},
		"counter":                {claim: func(c *intents.Claim) { c.Plan.Slot, c.Attempt = intents.Counter, nil }, to: intents.Settling},
		"counter without room":   {claim: func(c *intents.Claim) { c.Plan.Slot = intents.Counter }, facts: func(f *intents.Facts) { f.Signer.Ahead = 1 }, why: intents.WhyNoSlot},
		"counter, frozen":        {claim: func(c *intents.Claim) { c.Plan.Slot = intents.Counter }, facts: func(f *intents.Facts) { f.Signer.Frozen = "why" }, why: intents.WhyFrozen, due: noon().Add(intents.FrozenLook)},
		"key is never frozen":    {facts: func(f *intents.Facts) { f.Signer.Frozen = "why" }, to: intents.Settling},
		"key asks for no room":   {facts: func(f *intents.Facts) { f.Signer.Ahead = 1 }, to: intents.Settling},
		"expiry before pause":    {in: func(in *intents.Intent) { in.ExpiresAt = noon() }, facts: func(f *intents.Facts) { f.Paused = true }, why: intents.WhyExpired, to: intents.Failed},
		"pause before bad funds": {facts: func(f *intents.Facts) { f.Paused, f.Free = true, intents.Amount{} }, why: intents.WhyPaused, due: noon()},
		"lane before bad funds":  {facts: func(f *intents.Facts) { f.LaneBusy, f.Free = true, intents.Amount{} }, why: intents.WhyLane, due: noon().Add(5 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			in := row(intents.Authorized)
			if tt.in != nil {
				tt.in(&in)
			}
			c, f := asked(in), intents.Facts{Now: noon(), Enforced: true, Free: intents.NewAmount(1000), Signer: &intents.Signer{Window: 1}}
			if tt.claim != nil {
				tt.claim(&c)
			}
			if tt.facts != nil {
				tt.facts(&f)
			}
			ch, err := intents.Admit(in, c, f)
			lawful(t, ch)
			wantWhy(t, err, tt.why)
			wantWhere(t, ch, tt.to, tt.due)
		})
	}
}

// wantWhy wants a claim to be refused for a reason, or had.
func wantWhy(t *testing.T, err error, why intents.Why) {
	t.Helper()
	no, ok := errors.AsType[*intents.NotClaimedError](err)
	if ok != (why != "") || ok && no.Why != why || !ok && err != nil {
		t.Fatalf("got error %v, want %q", err, why)
	}
}

// wantWhere wants a change to lead to a state, or (0) to stay and to be due at a time.
func wantWhere(t *testing.T, ch intents.Change, to intents.State, due time.Time) {
	t.Helper()
	if to == 0 {
		to = ch.Before.State
		if ch.Moves() {
			t.Errorf("moves to %s", ch.After.State)
		}
	} else if !ch.Moves() {
		t.Errorf("does not move")
	}
	if due.IsZero() && !ch.After.State.Final() {
		due = ch.Before.DueAt
	}
	if ch.After.State != to || !ch.After.DueAt.Equal(due) {
		t.Errorf("got %s due %v, want %s due %v", ch.After.State, ch.After.DueAt, to, due)
	}
}

func TestAdmitOtherStates(t *testing.T) {
	for _, s := range append(intents.States(), 99) {
		if s == intents.Authorized || s == intents.Settling {
			continue
		}
		in := row(s)
		ch, err := intents.Admit(in, asked(in), intents.Facts{Now: noon(), Signer: &intents.Signer{Window: 1}})
		if wantWhy(t, err, intents.WhyMoved); !ch.Empty() {
			t.Errorf("%s: a claim writes %+v", s, ch)
		}
	}
}

func TestAdmitTakeover(t *testing.T) {
	until := noon().Add(time.Second)
	for name, tt := range map[string]struct {
		in    func(*intents.Intent)
		facts intents.Facts
		why   intents.Why
		to    intents.State
		due   time.Time
	}{
		"claim is over":              {to: intents.Settling},
		"claim is over now":          {in: func(in *intents.Intent) { in.ClaimUntil = noon() }, to: intents.Settling},
		"claim runs":                 {in: func(in *intents.Intent) { in.ClaimUntil = until }, why: intents.WhyRunning, due: until},
		"claim was ended":            {in: func(in *intents.Intent) { in.ClaimID, in.ClaimUntil = "", until }, to: intents.Settling},
		"four silent":                {in: func(in *intents.Intent) { in.Silent = 4 }, to: intents.Settling},
		"five silent":                {in: func(in *intents.Intent) { in.Silent = 5 }, why: intents.WhySilent, to: intents.NeedsReview, due: noon().Add(intents.MostPush)},
		"not due":                    {in: func(in *intents.Intent) { in.TryAt = until }, why: intents.WhyNotDue, due: until},
		"paused":                     {facts: intents.Facts{Paused: true}, why: intents.WhyPaused, due: noon()},
		"never again":                {in: func(in *intents.Intent) { in.AgainUntil = time.Time{} }, why: intents.WhyAgain, due: noon().Add(intents.MostPush)},
		"again until now":            {in: func(in *intents.Intent) { in.AgainUntil = noon() }, why: intents.WhyAgain, due: noon().Add(intents.MostPush)},
		"again for a second":         {in: func(in *intents.Intent) { in.AgainUntil = until }, to: intents.Settling},
		"never again, but no bytes":  {in: func(in *intents.Intent) { in.AgainUntil, in.Stored = time.Time{}, 0 }, to: intents.Settling},
		"expired, but bytes exist":   {in: func(in *intents.Intent) { in.ExpiresAt = noon().Add(-time.Hour) }, to: intents.Settling},
		"expired, no bytes":          {in: bare(-time.Hour), why: intents.WhyExpired, to: intents.Failed},
		"expires now, no bytes":      {in: bare(0), why: intents.WhyExpired, to: intents.Failed},
		"expires later, no bytes":    {in: bare(time.Second), to: intents.Settling},
		"never expires, no bytes":    {in: counterSlot(0), to: intents.Settling},
		"expiry before the next try": {in: both(bare(0), func(in *intents.Intent) { in.TryAt = until }), why: intents.WhyExpired, to: intents.Failed},
		"expiry before pause":        {in: bare(0), facts: intents.Facts{Paused: true}, why: intents.WhyExpired, to: intents.Failed},
		"claim runs before expiry":   {in: both(bare(0), func(in *intents.Intent) { in.ClaimUntil = until }), why: intents.WhyRunning, due: until},
		"silence before expiry":      {in: both(bare(0), func(in *intents.Intent) { in.Silent = 5 }), why: intents.WhySilent, to: intents.NeedsReview, due: noon().Add(intents.MostPush)},
		"has its lane and funds":     {facts: intents.Facts{LaneBusy: true, Enforced: true}, to: intents.Settling},
	} {
		t.Run(name, func(t *testing.T) {
			in := row(intents.Settling)
			if tt.in != nil {
				tt.in(&in)
			}
			f := tt.facts
			f.Now = noon()
			ch, err := intents.Admit(in, asked(in), f)
			lawful(t, ch)
			wantWhy(t, err, tt.why)
			wantWhere(t, ch, tt.to, tt.due)
		})
	}
}

// bare is a claimed number without bytes, expiring some time from now.
func bare(expires time.Duration) func(*intents.Intent) {
	return both(counterSlot(0), func(in *intents.Intent) { in.ExpiresAt = noon().Add(expires) })
}

func both(a, b func(*intents.Intent)) func(*intents.Intent) {
	return func(in *intents.Intent) { a(in); b(in) }
}

// TestAdmitTakeoverExpires: an intent that expired before bytes existed fails; its hold goes, its number is to be filled.
func TestAdmitTakeoverExpires(t *testing.T) {
	in := row(intents.Settling, bare(0))
	ch, err := intents.Admit(in, asked(in), intents.Facts{Now: noon()})
	lawful(t, ch)
	wantWhy(t, err, intents.WhyExpired)
	if a := ch.After; a.State != intents.Failed || a.Reason != intents.ReasonExpired || a.Slot != in.Slot || ch.Slot != intents.SlotFill || ch.Pending().String() != "-110" {
		t.Errorf("got %s %q, slot %v, slot end %d, pending %s", a.State, a.Reason, a.Slot, ch.Slot, ch.Pending())
	}
	if ch.Event.Actor != "w1" {
		t.Errorf("event %+v", ch.Event)
	}
}

// TestAdmitLeavesToTheObserver: bytes that must not be sent again are looked for at once.
func TestAdmitLeavesToTheObserver(t *testing.T) {
	in := row(intents.Settling, never, unseen)
	ch, _ := intents.Admit(in, asked(in), intents.Facts{Now: noon()})
	if lawful(t, ch); !ch.After.WatchAt.Equal(noon()) || ch.Empty() {
		t.Errorf("watched %v, want now", ch.After.WatchAt)
	}
}

// TestAdmitClaim looks at the row a claim leaves.
func TestAdmitClaim(t *testing.T) {
	facts := intents.Facts{Now: noon(), Signer: &intents.Signer{Window: 1}}
	in := row(intents.Authorized)
	ch, err := intents.Admit(in, asked(in), facts)
	if err != nil {
		t.Fatal(err)
	}
	a := ch.After
	want := intents.Slot{ID: in.Key, Kind: intents.Key, Scope: "s", Name: in.ID}
	if a.Slot != want || a.Stored != 1 || a.ClaimID != "c2" || !a.ClaimUntil.Equal(noon().Add(time.Minute)) || a.Calls != 1 || a.Silent != 1 || !a.Seen {
		t.Errorf("claimed: %+v", a)
	}
	if !a.FirstClaimedAt.Equal(noon()) || !a.AgainUntil.Equal(noon().Add(time.Hour)) || ch.Pending().String() != "110" || ch.Event.ClaimID != "c2" || ch.Event.Actor != "w1" {
		t.Errorf("claimed: %+v, event %+v", a, ch.Event)
	}

	over, err := intents.Admit(row(intents.Settling), asked(row(intents.Settling)), facts)
	if err != nil {
		t.Fatal(err)
	}
	b := over.After
	if b.Calls != 2 || b.Silent != 2 || b.ClaimID != "c2" || b.Stored != 1 || over.Pending().Sign() != 0 || b.FirstClaimedAt.Equal(noon()) {
		t.Errorf("taken over: %+v", b)
	}
}

// TestAdmitSlots: who brings bytes, who gets a number, and what an intent that was let go keeps.
func TestAdmitSlots(t *testing.T) {
	facts := intents.Facts{Now: noon(), Signer: &intents.Signer{Window: 1}}
	claim := func(in intents.Intent, kind intents.SlotKind, bytes bool) (intents.Intent, error) {
		c := asked(in)
		c.Plan.Slot = kind
		if !bytes {
			c.Attempt = nil
		}
		ch, err := intents.Admit(in, c, facts)
		return ch.After, err
	}
	if in, err := claim(row(intents.Authorized), intents.Given, true); err != nil || in.Slot.Name != "given" || in.Slot.Kind != intents.Given || in.Stored != 1 {
		t.Errorf("given: %+v, %v", in.Slot, err)
	}
	if in, err := claim(row(intents.Authorized), intents.Counter, false); err != nil || in.Slot != (intents.Slot{}) || in.Stored != 0 || in.Calls != 1 {
		t.Errorf("counter: the store gives the number, got %+v, %v", in.Slot, err)
	}
	_, err := claim(row(intents.Authorized), intents.Key, false)
	if _, ok := errors.AsType[*intents.InvalidError](err); !ok {
		t.Errorf("key without bytes: got %v, want an invalid error", err)
	}
	letGo := row(intents.Authorized, func(in *intents.Intent) {
		in.Stored, in.Slot = 1, intents.Slot{ID: 1, Kind: intents.Key, Scope: "old", Name: "pi_1"}
	})
	if in, err := claim(letGo, intents.Key, false); err != nil || in.Slot != letGo.Slot || in.Stored != 1 || in.Calls != 1 {
		t.Errorf("let go and claimed again: %+v, %v", in, err)
	}
	noBytes := row(intents.Settling, counterSlot(0))
	if in, err := claim(noBytes, intents.Counter, false); err != nil || in.Slot != noBytes.Slot || in.Calls != 1 || in.Silent != 2 {
		t.Errorf("taken over before bytes existed: %+v, %v", in, err)
	}
}
