package storetest

import (
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

func takeTests() []test {
	return []test{
		{"take/full creates and authorizes", takeFull},
		{"take/reference reads", takeReference},
		{"take/reference to an unknown intent", takeUnknown},
		{"take/full again is the same intent (case 38)", takeAgain},
		{"take/full does not authorize what waits in created", takeCreated},
		{"take/other content (case 10)", takeOtherContent},
		{"take/other contents at once (case 10)", takeOtherContentAtOnce},
		{"take/other route", takeOtherRoute},
		{"take/amount beyond 64 bits (case 6)", takeBig},
		{"take/longest fields (case 16)", takeLong},
		{"take/claims to stand elsewhere", takeForged},
		{"take/times to the microsecond", takeTimes},
	}
}

func takeFull(f *fixture) {
	asked := f.intent(func(in *intents.Intent) {
		in.Metadata = map[string]string{"order": "7", "größe": "ü"}
		in.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	})
	in := f.take(full(asked))
	f.stands(in, intents.Authorized, 2, "")
	if in.Key == 0 || in.CreatedAt.IsZero() || in.ReadAt.IsZero() || in.Paused {
		f.Errorf("key, created_at, read_at, paused: got %d, %v, %v, %t", in.Key, in.CreatedAt, in.ReadAt, in.Paused)
	}
	if in.Hash() != asked.Hash() || in.ID != asked.ID || in.Traceparent != asked.Traceparent || !maps.Equal(in.Metadata, asked.Metadata) {
		f.Errorf("stored %+v, want what was asked: %+v", in, asked)
	}
	if want := in.CreatedAt.Add(intents.Grace); !in.DueAt.Equal(want) || !in.TryAt.IsZero() || !in.WatchAt.IsZero() {
		f.Errorf("due %v, try %v, watch %v; want due %v and no more", in.DueAt, in.TryAt, in.WatchAt, want)
	}
}

func takeReference(f *fixture) {
	in := f.taken()
	f.same(in, f.take(ref(in)))
	f.same(in, f.get(in.ID))
}

func takeUnknown(f *fixture) {
	in := f.intent()
	if _, err := f.Take(f.ctx, ref(in)); !errors.Is(err, intents.ErrNotFound) {
		f.Errorf("take: got %v, want ErrNotFound", err)
	}
	if _, err := f.Get(f.ctx, in.ID); !errors.Is(err, intents.ErrNotFound) {
		f.Errorf("get: got %v, want ErrNotFound", err)
	}
}

func takeAgain(f *fixture) {
	asked := f.intent(func(in *intents.Intent) { in.Metadata = map[string]string{"a": "1", "b": "2"} })
	first := f.take(full(asked))
	asked.Traceparent = "00-ffffffffffffffffffffffffffffffff-00f067aa0ba902b7-01" // not content
	f.same(first, f.take(full(asked)))
	f.stands(f.get(asked.ID), intents.Authorized, 2, "")
}

func takeCreated(f *fixture) {
	asked := f.intent()
	made, err := f.Create(f.ctx, asked, false, "tester")
	f.must(err)
	f.stands(made, intents.Created, 1, "")
	f.same(made, f.take(full(asked)))
	f.same(made, f.take(ref(asked)))
}

// takeOtherContent: a settled intent stays what it is, whatever comes under its id.
func takeOtherContent(f *fixture) {
	in := f.taken()
	done := f.complete(f.claim(f.keyed(in)), intents.Result{Verdict: intents.Done, Ref: "x"})
	for field, change := range map[string]func(*intents.Intent){
		"amount":      func(in *intents.Intent) { in.Amount = intents.NewAmount(2000) },
		"destination": func(in *intents.Intent) { in.Destination = "dest-2" },
		"account":     func(in *intents.Intent) { in.Account += "x" },
		"asset":       func(in *intents.Intent) { in.Asset = "USD" },
		"lane":        func(in *intents.Intent) { in.Lane = "l" },
		"metadata":    func(in *intents.Intent) { in.Metadata = map[string]string{"a": "b"} },
		"expires_at":  func(in *intents.Intent) { in.ExpiresAt = in.CreatedAt.Add(time.Hour) },
	} {
		other := in
		change(&other)
		_, err := f.Take(f.ctx, full(other))
		no, ok := errors.AsType[*intents.ConflictError](err)
		if !ok || no.Why != "content" || no.ID != in.ID || no.Have != in.Hash().String() || no.Got != other.Hash().String() {
			f.Errorf("other %s: got %v, want a conflict that names both hashes", field, err)
		}
		if _, err := f.Create(f.ctx, other, true, "tester"); !isConflict(err, "content") {
			f.Errorf("create with other %s: got %v, want a conflict of content", field, err)
		}
	}
	f.same(done, f.get(in.ID))
}

func isConflict(err error, why string) bool {
	no, ok := errors.AsType[*intents.ConflictError](err)
	return ok && no.Why == why
}

// takeOtherContentAtOnce: of two contents under one new id exactly one becomes the intent; the other is a conflict each time.
func takeOtherContentAtOnce(f *fixture) {
	for range 20 {
		a := f.intent()
		b := a
		b.Amount = intents.NewAmount(200)
		errs := [8]error{}
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = f.Take(f.ctx, full([]intents.Intent{a, b}[i%2])) })
		}
		wg.Wait()
		won := 0
		if f.get(a.ID).Amount.Equal(b.Amount) {
			won = 1
		}
		for i, err := range errs {
			if i%2 == won && err != nil || i%2 != won && !isConflict(err, "content") {
				f.Errorf("content %d won, %d got %v", won, i%2, err)
			}
		}
		f.stands(f.get(a.ID), intents.Authorized, 2, "")
	}
}

func takeOtherRoute(f *fixture) {
	in := f.taken()
	for _, m := range []intents.Message{full(in), ref(in)} {
		m.Route += "x"
		m.Intent.Route = m.Route
		_, err := f.Take(f.ctx, m)
		no, ok := errors.AsType[*intents.ConflictError](err)
		if !ok || no.Why != "route" || no.Have != in.Route || no.Got != m.Route {
			f.Errorf("take, full %t: got %v, want a conflict of route that names both", m.Full, err)
		}
	}
	in.Route += "x"
	if _, err := f.Create(f.ctx, in, true, "tester"); !isConflict(err, "route") {
		f.Errorf("create: got %v, want a conflict of route", err)
	}
}

// takeBig: wei amounts do not fit 64 bits, sums even less.
func takeBig(f *fixture) {
	for _, digits := range []string{"33066915805160912602", "18446744073709551616", "1", strings.Repeat("9", intents.MaxAmountDigits-1)} {
		amount, err := intents.ParseAmount(digits)
		f.must(err)
		in := f.taken(func(in *intents.Intent) { in.Amount, in.Account = amount, f.name("acct") })
		_, err = f.Credit(f.ctx, intents.Entry{Account: in.Account, Asset: in.Asset, Amount: amount, Ref: "credit"})
		f.must(err)
		cl := f.claim(f.keyed(in))
		as, err := f.Accounts(f.ctx, in.Account)
		f.must(err)
		if got := f.get(in.ID).Amount.String(); got != digits || as[0].Pending.String() != digits {
			f.Errorf("amount: got %s, pending %s, want %s", got, as[0].Pending, digits)
		}
		f.complete(cl, intents.Result{Verdict: intents.Done})
		if as, _ := f.Accounts(f.ctx, in.Account); as[0].Posted.Sign() != 0 || as[0].Pending.Sign() != 0 {
			f.Errorf("after %s came and went: posted %s, pending %s", digits, as[0].Posted, as[0].Pending)
		}
	}
}

// takeLong: what a message may carry at most can be stored and found.
func takeLong(f *fixture) {
	long := func(n int) string { return strings.Repeat("ß", n/2) }
	in := f.taken(func(in *intents.Intent) {
		in.ID += strings.Repeat("x", 64-len(in.ID))
		in.Account, in.Lane = f.tag+long(200), f.tag+long(200)
		in.Destination, in.Asset = long(512), long(64)
		in.Metadata = map[string]string{long(64): long(4096), "empty": ""}
	})
	f.complete(f.claim(f.keyed(in)), intents.Result{Verdict: intents.Done, Ref: long(512)})
	got, err := f.List(f.ctx, intents.Filter{Lane: in.Lane, Account: in.Account, Asset: in.Asset, Ref: long(512)})
	f.must(err)
	if len(got) != 1 || got[0].ID != in.ID || got[0].Hash() != in.Hash() {
		f.Errorf("list found %d of one", len(got))
	}
}

// takeForged: where an intent stands is never taken from a message.
func takeForged(f *fixture) {
	asked := f.intent()
	forged := asked
	forged.Key, forged.State, forged.Version, forged.Ref, forged.Reason = 7, intents.Settled, 9, "ref", intents.ReasonOperator
	forged.Cost, forged.Stored, forged.Calls, forged.Silent, forged.ClaimID = intents.NewAmount(5), 3, 3, 3, "claim"
	forged.Slot = intents.Slot{ID: 1, Kind: intents.Counter, Scope: "s", Number: 1}
	forged.WatchAt, forged.TryAt = time.Now(), time.Now().Add(time.Hour)
	in := f.take(full(forged))
	f.stands(in, intents.Authorized, 2, "")
	if in.Ref != "" || in.Stored != 0 || in.Calls != 0 || in.Silent != 0 || in.ClaimID != "" || in.Slot != (intents.Slot{}) || !in.WatchAt.IsZero() || !in.TryAt.IsZero() {
		f.Errorf("stored from a message: %+v", in)
	}
	if got := f.claim(f.keyed(in)); got.Intent.Stored != 1 {
		f.Errorf("claim: stored is %d", got.Intent.Stored)
	}
}

// takeTimes: the database keeps microseconds; the hash is taken over those too, so the same body again is the same content.
func takeTimes(f *fixture) {
	asked := f.intent(func(in *intents.Intent) {
		in.NotBefore = time.Date(2031, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600))
		in.ExpiresAt = time.Date(2032, 12, 31, 23, 59, 59, 999999999, time.UTC)
	})
	in := f.take(full(asked))
	f.same(in, f.take(full(asked)))
	if !in.NotBefore.Equal(asked.NotBefore.Truncate(time.Microsecond)) || !in.ExpiresAt.Equal(asked.ExpiresAt.Truncate(time.Microsecond)) {
		f.Errorf("times: got %v, %v", in.NotBefore, in.ExpiresAt)
	}
	if !in.TryAt.Equal(in.NotBefore) || !in.DueAt.Equal(in.NotBefore) { // scheduled: due when it may run
		f.Errorf("try %v, due %v; want both at %v", in.TryAt, in.DueAt, in.NotBefore)
	}
}
