package storetest

import (
	"sync"

	"github.com/nsqrelayer/relayer/intents"
)

func accountTests() []test {
	return []test{
		{"accounts/credit once for each reference (case 38)", creditOnce},
		{"accounts/other amount under a reference", creditConflict},
		{"accounts/the same reference elsewhere", creditElsewhere},
		{"accounts/credits at once", creditAtOnce},
		{"accounts/all", accountsAll},
	}
}

func (f *fixture) entry(units int64, ref string) intents.Entry {
	return intents.Entry{Account: f.account, Asset: "EUR", Amount: intents.NewAmount(units), Ref: ref}
}

func creditOnce(f *fixture) {
	for range 3 {
		a, err := f.Credit(f.ctx, f.entry(70, "wire-1"))
		f.must(err)
		if a.Account != f.account || a.Asset != "EUR" || a.Posted.String() != "70" || a.Pending.Sign() != 0 || !a.Enforced {
			f.Errorf("account: got %+v", a)
		}
	}
	_, err := f.Credit(f.ctx, f.entry(30, "wire-2"))
	f.must(err)
	f.sums(100, 0)
}

func creditConflict(f *fixture) {
	_, err := f.Credit(f.ctx, f.entry(70, "wire-1"))
	f.must(err)
	if _, err := f.Credit(f.ctx, f.entry(71, "wire-1")); !isConflict(err, "ref") {
		f.Errorf("got %v, want a conflict of ref", err)
	}
	f.sums(70, 0)
}

func creditElsewhere(f *fixture) {
	e := f.entry(70, "wire-1")
	_, err := f.Credit(f.ctx, e)
	f.must(err)
	e.Asset, e.Amount = "USD", intents.NewAmount(5)
	_, err = f.Credit(f.ctx, e)
	f.must(err)
	e.Account += "2"
	_, err = f.Credit(f.ctx, e)
	f.must(err)
}

func creditAtOnce(f *fixture) {
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := f.Credit(f.ctx, f.entry(10, []string{"a", "b", "c", "d"}[i%4])); err != nil {
				f.Errorf("credit: %v", err)
			}
		})
	}
	wg.Wait()
	f.sums(40, 0)
}

func accountsAll(f *fixture) {
	f.credit(10)
	all, err := f.Accounts(f.ctx, "")
	f.must(err)
	found := false
	for _, a := range all {
		found = found || a.Account == f.account && a.Free().String() == "10"
	}
	if !found {
		f.Errorf("the account is not among all %d", len(all))
	}
	if none, err := f.Accounts(f.ctx, f.name("acct")); err != nil || len(none) != 0 {
		f.Errorf("unknown account: got %v, %v", none, err)
	}
}
