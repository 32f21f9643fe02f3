package storetest

import (
	"github.com/nsqrelayer/relayer/intents"
)

func fundsTests() []test {
	return []test{
		{"funds/enforced account covers amount and cost", fundsCover},
		{"funds/too little fails", fundsFail},
		{"funds/too little waits", fundsWait},
		{"funds/held twice", fundsHeld},
		{"funds/released", fundsReleased},
		{"funds/account that is not enforced", fundsFree},
		{"funds/other asset", fundsOtherAsset},
	}
}

func costly(c intents.Claim, cost int64) intents.Claim {
	c.Plan.Cost = intents.NewAmount(cost)
	return c
}

func fundsCover(f *fixture) {
	f.credit(110)
	cl := f.claim(costly(f.keyed(f.taken()), 10))
	f.sums(110, 110)
	f.complete(cl, intents.Result{Verdict: intents.Done})
	f.sums(10, 0) // the cost was held, not taken
}

func fundsFail(f *fixture) {
	f.credit(109)
	in := f.taken()
	f.refused(costly(f.keyed(in), 10), intents.WhyFunds)
	f.stands(f.get(in.ID), intents.Failed, 3, intents.ReasonFunds)
	f.sums(109, 0)
}

func fundsWait(f *fixture) {
	f.credit(109)
	in := f.taken()
	c := costly(f.keyed(in), 10)
	c.Wait = true
	no := f.refused(c, intents.WhyFunds)
	got := f.get(in.ID)
	f.stands(got, intents.Authorized, 2, "")
	if no.Until.IsZero() || !got.DueAt.Equal(no.Until) || got.Held().Sign() != 0 {
		f.Errorf("until %v, due %v, held %s", no.Until, got.DueAt, got.Held())
	}
	f.credit(1)
	f.claim(costly(f.keyed(got), 10))
	f.sums(110, 110)
}

func fundsHeld(f *fixture) {
	f.credit(150)
	a, b := f.taken(), f.taken()
	f.claim(f.keyed(a))
	f.refused(f.keyed(b), intents.WhyFunds)
	f.sums(150, 100)
}

func fundsReleased(f *fixture) {
	f.credit(100)
	cl := f.claim(f.keyed(f.taken()))
	f.complete(cl, intents.Result{Verdict: intents.Declined})
	f.sums(100, 0)
	cl = f.claim(f.keyed(f.taken()))
	f.complete(cl, intents.Result{Verdict: intents.NotSent})
	f.sums(100, 0)
	cl = f.claim(f.keyed(f.taken()))
	f.complete(cl, intents.Result{}) // unknown: the hold stays
	f.sums(100, 100)
}

func fundsFree(f *fixture) {
	cl := f.claim(costly(f.keyed(f.taken()), 5))
	f.sums(0, 105)
	f.complete(cl, intents.Result{Verdict: intents.Done})
	f.sums(-100, 0)
	f.claim(f.keyed(f.taken()))
	if a := f.credit(50); !a.Enforced || a.Posted.String() != "-50" || a.Pending.String() != "100" {
		f.Errorf("credit: got %+v", a)
	}
	f.refused(f.keyed(f.taken()), intents.WhyFunds)
}

func fundsOtherAsset(f *fixture) {
	f.credit(1000)
	in := f.taken(func(in *intents.Intent) { in.Asset = "USD" })
	f.claim(f.keyed(in)) // nobody enforces this account in dollars
	as, err := f.Accounts(f.ctx, f.account)
	f.must(err)
	if len(as) != 2 || as[0].Asset != "EUR" || as[0].Pending.Sign() != 0 || as[1].Asset != "USD" || as[1].Pending.String() != "100" || as[1].Enforced {
		f.Errorf("accounts: got %v", as)
	}
}
