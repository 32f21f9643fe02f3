package storetest

import (
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func takeoverTests() []test {
	return []test{
		{"takeover/a claim that has ended", takeoverEnded},
		{"takeover/waits for the end", takeoverWaits},
		{"takeover/sixth silent claim", takeoverSilent},
		{"takeover/a word starts the count again", takeoverWord},
		{"takeover/must not be sent again", takeoverNever},
		{"takeover/not before the next try", takeoverTry},
		{"takeover/paused", takeoverPaused},
		{"takeover/expiry no longer counts", takeoverExpiry},
	}
}

func takeoverEnded(f *fixture) {
	in := f.taken()
	cl := f.lapsed(f.keyed(in))
	c := f.keyed(cl.Intent)
	c.Attempt = nil // the bytes stored first are the only ones sent
	over := f.claim(c)
	f.stands(over.Intent, intents.Settling, 4, "")
	if got := over.Intent; got.ClaimID == cl.Intent.ClaimID || got.Slot != cl.Intent.Slot || got.Calls != 2 || got.Silent != 2 || !got.FirstClaimedAt.Equal(cl.Intent.FirstClaimedAt) {
		f.Errorf("taken over: %+v", got)
	}
	f.wantBytes(over.Attempts, "bytes of "+in.ID)
	f.sums(0, 100)
}

func takeoverWaits(f *fixture) {
	c := f.keyed(f.taken())
	c.Term = 50 * time.Millisecond
	cl := f.claim(c)
	f.until("the claim has ended", func() bool {
		in := f.get(cl.Intent.ID)
		over, err := f.Claim(f.ctx, f.keyed(in))
		if err == nil && over.Intent.ChangedAt.Before(cl.Intent.ClaimUntil) {
			f.Fatalf("taken over at %v, the claim runs until %v", over.Intent.ChangedAt, cl.Intent.ClaimUntil)
		}
		return err == nil
	})
}

func takeoverSilent(f *fixture) {
	in := f.taken()
	for range intents.MostSilent {
		in = f.lapsed(f.keyed(in)).Intent
	}
	f.refused(f.keyed(in), intents.WhySilent)
	got := f.get(in.ID)
	f.stands(got, intents.NeedsReview, 8, intents.ReasonSilent)
	if got.WatchAt.IsZero() || got.DueAt.IsZero() || got.ClaimID != "" {
		f.Errorf("in review: %+v", got)
	}
	f.sums(0, 100)
}

func takeoverWord(f *fixture) {
	in := f.taken()
	var cl intents.Claimed
	for range intents.MostSilent {
		cl = f.lapsed(f.keyed(in))
		in = cl.Intent
	}
	in = f.complete(cl, intents.Result{After: soon})
	if in.Silent != 0 {
		f.Errorf("silent is %d after a word", in.Silent)
	}
	f.stands(f.claim(f.keyed(in)).Intent, intents.Settling, 9, "")
}

func takeoverNever(f *fixture) {
	in := f.taken()
	c := f.keyed(in)
	c.Plan.Again = intents.Never
	cl := f.lapsed(c)
	f.refused(f.keyed(cl.Intent), intents.WhyAgain)
	f.stands(f.get(in.ID), intents.Settling, 3, "")
	ws, err := f.Watches(f.ctx, f.route, 10) // the observer's turn
	f.must(err)
	if len(ws) != 1 || ws[0].Intent.ID != in.ID {
		f.Errorf("watches: got %+v, want %s", ws, in.ID)
	}
	c = f.keyed(f.taken())
	c.Plan.Again = intents.For(soon)
	f.refused(f.keyed(f.lapsed(c).Intent), intents.WhyAgain)
	c = f.keyed(f.taken())
	c.Plan.Again = intents.For(time.Hour)
	f.claim(f.keyed(f.lapsed(c).Intent))
}

func takeoverTry(f *fixture) {
	cl := f.claim(f.keyed(f.taken()))
	in := f.complete(cl, intents.Result{After: time.Minute})
	no := f.refused(f.keyed(in), intents.WhyNotDue)
	if want := in.ChangedAt.Add(time.Minute); !no.Until.Equal(want) || !in.DueAt.Equal(want) || !in.TryAt.Equal(want) {
		f.Errorf("until %v, due %v, try %v, want %v", no.Until, in.DueAt, in.TryAt, want)
	}
}

func takeoverPaused(f *fixture) {
	cl := f.lapsed(f.keyed(f.taken()))
	f.must(f.SetPaused(f.ctx, f.route, true, "tester"))
	f.refused(f.keyed(cl.Intent), intents.WhyPaused)
	got := f.get(cl.Intent.ID)
	f.stands(got, intents.Settling, 3, "")
	if got.DueAt.After(got.ReadAt) || !got.Paused {
		f.Errorf("due %v, paused %t", got.DueAt, got.Paused)
	}
	f.must(f.SetPaused(f.ctx, f.route, false, "tester"))
	f.claim(f.keyed(got))
}

// takeoverExpiry: what was claimed once is seen to its end.
func takeoverExpiry(f *fixture) {
	in := f.taken(func(in *intents.Intent) { in.ExpiresAt = time.Now().Add(2 * time.Second) })
	cl, err := f.Claim(f.ctx, func() intents.Claim { c := f.keyed(in); c.Term = 0; return c }())
	if err != nil {
		f.Skipf("too slow to claim within 2 s: %v", err)
	}
	f.until("it is past its expiry", func() bool { got := f.get(in.ID); return got.Expired(got.ReadAt) })
	f.claim(f.keyed(cl.Intent))
}
