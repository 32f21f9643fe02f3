package storetest

import (
	"errors"
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
		{"takeover/expired before bytes exist", takeoverExpired},
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

// takeoverExpiry: once bytes may have left, it is seen to its end.
func takeoverExpiry(f *fixture) {
	cl := f.claimedTooLate(f.keyed)
	f.stands(f.claim(f.keyed(cl.Intent)).Intent, intents.Settling, 4, "")
	f.signer(3, 8)
	cl = f.claimedTooLate(f.counted, func(cl intents.Claimed) { f.attach(cl.Slot(), 1, "tx") })
	f.stands(f.claim(f.counted(cl.Intent)).Intent, intents.Settling, 4, "")
	f.sums(0, 200)
}

// takeoverExpired: nothing has left, and nothing will: it fails, its hold goes, and its number is to be filled.
func takeoverExpired(f *fixture) {
	f.signer(3, 8)
	cl := f.claimedTooLate(f.counted)
	f.sums(0, 100)
	f.refused(f.counted(cl.Intent), intents.WhyExpired)
	in := f.get(cl.Intent.ID)
	f.stands(in, intents.Failed, 4, intents.ReasonExpired)
	if !in.DueAt.IsZero() || !in.WatchAt.IsZero() || in.ClaimID != "" {
		f.Errorf("expired: %+v", in)
	}
	f.sums(0, 0)
	if ws := f.fillers(f.route); len(ws) != 1 || ws[0].Slot != cl.Slot() || len(ws[0].Attempts) != 0 {
		f.Errorf("fillers: got %+v, want %v", ws, cl.Slot())
	}
	if s := f.readSigner(); s.Open != 1 || s.Next != 4 {
		f.Errorf("signer: got %+v", s)
	}
	f.closed(intents.Attempt{Slot: cl.Slot(), No: 1, Kind: intents.First, Bytes: []byte("tx"), Name: "tx"})
	f.refused(f.counted(cl.Intent), intents.WhyMoved)
}

// claimedTooLate claims an intent, does something with it and waits until both claim and intent have run out. Where the
// store is too slow to claim it in time, the next one has more time.
func (f *fixture) claimedTooLate(ask func(intents.Intent) intents.Claim, then ...func(intents.Claimed)) intents.Claimed {
	f.Helper()
	for life := 200 * time.Millisecond; ; life *= 4 {
		c := ask(f.taken(func(in *intents.Intent) { in.ExpiresAt = time.Now().Add(life) }))
		c.Term = 0
		cl, err := f.Claim(f.ctx, c)
		if no, ok := errors.AsType[*intents.NotClaimedError](err); ok && no.Why == intents.WhyExpired && life < time.Minute {
			continue
		}
		f.must(err)
		for _, do := range then {
			do(cl)
		}
		f.until("it is past its expiry", func() bool { got := f.get(cl.Intent.ID); return got.Expired(got.ReadAt) })
		return cl
	}
}
