package storetest

import (
	"errors"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func claimTests() []test {
	return []test{
		{"claim/key slot", claimKey},
		{"claim/key slot without bytes", claimNoBytes},
		{"claim/makes an id", claimMakesID},
		{"claim/as it was read", claimMoved},
		{"claim/unknown", claimUnknown},
		{"claim/one that runs", claimRunning},
		{"claim/expired", claimExpired},
		{"claim/not due", claimNotDue},
		{"claim/scheduled in the past", claimScheduled},
		{"claim/the first bytes stay", claimFirstBytes},
		{"claim/given slot", claimGiven},
	}
}

func claimKey(f *fixture) {
	in := f.taken()
	c := f.keyed(in)
	c.Plan.Cost = intents.NewAmount(7)
	cl := f.claim(c)
	got := cl.Intent
	f.stands(got, intents.Settling, 3, "")
	if got.Slot.Kind != intents.Key || got.Slot.Scope != f.scope || got.Slot.Name != in.ID || cl.Slot() != got.Slot {
		f.Errorf("slot: got %+v", got.Slot)
	}
	if got.ClaimID != c.ID || !got.Claimed(got.ReadAt) || got.Calls != 1 || got.Silent != 1 || got.Stored != 1 || !got.Seen {
		f.Errorf("claim: got %+v", got)
	}
	if !got.ClaimUntil.Equal(got.ChangedAt.Add(c.Term)) || !got.FirstClaimedAt.Equal(got.ChangedAt) || got.AgainUntil.Year() != 9999 {
		f.Errorf("claim until %v, first claimed %v, again until %v", got.ClaimUntil, got.FirstClaimedAt, got.AgainUntil)
	}
	f.wantBytes(cl.Attempts, "bytes of "+in.ID)
	f.sums(0, 107)
	f.same(got, f.get(in.ID))
	as, err := f.Attempts(f.ctx, in.ID)
	f.must(err)
	f.wantBytes(as, "bytes of "+in.ID)
}

// wantBytes wants attempts 1, 2 … to be these bytes.
func (f *fixture) wantBytes(as []intents.Attempt, want ...string) {
	f.Helper()
	if len(as) != len(want) {
		f.Fatalf("got %d attempts, want %d: %+v", len(as), len(want), as)
	}
	for i, a := range as {
		if string(a.Bytes) != want[i] || a.No != i+1 || a.Name == "" || a.Kind == 0 {
			f.Errorf("attempt %d: got %+v, want bytes %q", i+1, a, want[i])
		}
	}
}

func claimNoBytes(f *fixture) {
	in := f.taken()
	c := f.keyed(in)
	c.Attempt = nil
	_, err := f.Claim(f.ctx, c)
	if _, ok := errors.AsType[*intents.InvalidError](err); !ok {
		f.Errorf("got %v, want an invalid error", err)
	}
	f.same(in, f.get(in.ID))
}

func claimMakesID(f *fixture) {
	c := f.keyed(f.taken())
	c.ID = ""
	d := f.keyed(f.taken())
	d.ID = ""
	a, b := f.claim(c).Intent.ClaimID, f.claim(d).Intent.ClaimID
	if a == "" || a == b {
		f.Errorf("claim ids: got %q and %q", a, b)
	}
}

// claimMoved: key, route, state and version are compared.
func claimMoved(f *fixture) {
	in := f.taken()
	for field, change := range map[string]func(*intents.Intent){
		"version": func(in *intents.Intent) { in.Version++ },
		"state":   func(in *intents.Intent) { in.State = intents.Settling },
		"route":   func(in *intents.Intent) { in.Route += "x" },
	} {
		c := f.keyed(in)
		change(&c.Intent)
		f.Logf("other %s", field)
		f.refused(c, intents.WhyMoved)
	}
	f.same(in, f.get(in.ID))
	done := f.complete(f.claim(f.keyed(in)), intents.Result{Verdict: intents.Done})
	f.refused(f.keyed(done), intents.WhyMoved)
}

func claimUnknown(f *fixture) {
	in := f.intent()
	in.Key, in.State, in.Version = 1<<60, intents.Authorized, 2
	f.refused(f.keyed(in), intents.WhyMoved)
}

func claimRunning(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	no := f.refused(f.keyed(cl.Intent), intents.WhyRunning)
	if !no.Until.Equal(cl.Intent.ClaimUntil) {
		f.Errorf("until %v, want the end of the claim %v", no.Until, cl.Intent.ClaimUntil)
	}
	if got := f.get(cl.Intent.ID); !got.DueAt.Equal(cl.Intent.ClaimUntil) || got.Version != 3 || got.ClaimID != cl.Intent.ClaimID {
		f.Errorf("the refused claim left %+v", got)
	}
}

func claimExpired(f *fixture) {
	in := f.taken(func(in *intents.Intent) { in.ExpiresAt = time.Now().Add(-time.Hour) })
	f.refused(f.keyed(in), intents.WhyExpired)
	f.stands(f.get(in.ID), intents.Failed, 3, intents.ReasonExpired)
	f.sums(0, 0)
}

func claimNotDue(f *fixture) {
	in := f.taken(func(in *intents.Intent) { in.NotBefore = time.Now().Add(time.Hour) })
	no := f.refused(f.keyed(in), intents.WhyNotDue)
	if got := f.get(in.ID); !no.Until.Equal(in.NotBefore) || !got.DueAt.Equal(in.NotBefore) || got.Version != 2 {
		f.Errorf("until %v, due %v, want %v", no.Until, got.DueAt, in.NotBefore)
	}
}

func claimScheduled(f *fixture) {
	in := f.taken(func(in *intents.Intent) {
		in.NotBefore, in.ExpiresAt = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	})
	f.stands(f.claim(f.keyed(in)).Intent, intents.Settling, 3, "")
}

// claimFirstBytes: let go and claimed again, an intent is sent with the bytes stored first, whatever was prepared now.
func claimFirstBytes(f *fixture) {
	in := f.taken()
	cl := f.claim(f.keyed(in))
	free := f.complete(cl, intents.Result{Verdict: intents.NotSent, After: soon})
	c := f.keyed(free)
	c.Attempt.Bytes = []byte("other bytes")
	again := f.claim(c)
	f.wantBytes(again.Attempts, "bytes of "+in.ID)
	if again.Intent.Slot != cl.Intent.Slot || again.Intent.Stored != 1 || again.Intent.Calls != 1 {
		f.Errorf("claimed again: %+v", again.Intent)
	}
}

func claimGiven(f *fixture) {
	in := f.taken()
	c := f.keyed(in)
	c.Plan.Slot = intents.Given
	c.Attempt.Slot.Name, c.Attempt.Name = "blockhash", "signature"
	c.Attempt.Expiry = intents.Expiry{Kind: intents.Height, At: 1<<62 + 1}
	cl := f.claim(c)
	if s := cl.Slot(); s.Kind != intents.Given || s.Name != "blockhash" || s.Scope != f.scope {
		f.Errorf("slot: got %+v", s)
	}
	f.wantBytes(cl.Attempts, "bytes of "+in.ID)
	if a := cl.Attempts[0]; a.Name != "signature" || a.Expiry != c.Attempt.Expiry || a.Kind != intents.First || a.Slot != cl.Slot() {
		f.Errorf("attempt: got %+v", a)
	}
}
