package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/nsqrelayer/relayer/intents"
)

// pot names an account in one asset.
type pot struct{ account, asset string }

func potOf(in intents.Intent) pot { return pot{in.Account, in.Asset} }

// account finds an account, or opens one that need not cover what is held.
func (s *Store) account(p pot) *intents.Account {
	if s.accounts[p] == nil {
		s.accounts[p] = &intents.Account{Account: p.account, Asset: p.asset}
		s.credits[p], s.captured[p] = map[string]intents.Entry{}, map[string]intents.Entry{}
	}
	return s.accounts[p]
}

// hold carries a change into the account's sums.
func (s *Store) hold(c intents.Change) {
	if c.Pending().Sign() == 0 && !c.Captures() {
		return
	}
	p := potOf(c.After)
	a := s.account(p)
	a.Pending = a.Pending.Add(c.Pending())
	if c.Captures() {
		a.Posted = a.Posted.Sub(c.After.Amount)
		s.captured[p][c.After.ID] = intents.Entry{Account: p.account, Asset: p.asset, Amount: c.After.Amount.Neg(), Ref: c.After.ID, At: c.Event.At}
	}
}

// Credit posts an amount to an account, once for each reference, and enforces the account from then on.
// Errors: *intents.ConflictError (Why "ref").
func (s *Store) Credit(_ context.Context, e intents.Entry) (intents.Account, error) {
	e.At = s.begin()
	defer s.mu.Unlock()
	p := pot{e.Account, e.Asset}
	a := s.account(p)
	had, again := s.credits[p][e.Ref]
	switch {
	case again && !had.Amount.Equal(e.Amount):
		return intents.Account{}, &intents.ConflictError{ID: e.Ref, Why: "ref", Have: had.Amount.String(), Got: e.Amount.String()}
	case !again:
		s.credits[p][e.Ref] = e
		a.Posted, a.Enforced = a.Posted.Add(e.Amount), true
	}
	return *a, nil
}

// Accounts reads an account in all its assets; all accounts when it is empty.
func (s *Store) Accounts(_ context.Context, account string) ([]intents.Account, error) {
	s.begin()
	defer s.mu.Unlock()
	var out []intents.Account
	for p, a := range s.accounts {
		if account == "" || account == p.account {
			out = append(out, *a)
		}
	}
	slices.SortFunc(out, func(a, b intents.Account) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Asset, b.Asset))
	})
	return out, nil
}
