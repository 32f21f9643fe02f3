package pgstore

import (
	"context"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	insertCredit = `insert into entries (account, asset, amount, ref, at) values ($1, $2, $3::numeric, $4, clock_timestamp())
 on conflict on constraint entries_ref do nothing`
	selectCredit = `select amount from entries where account = $1 and asset = $2 and ref = $3`
	postCredit   = `insert into accounts as a (account, asset, posted, enforced) values ($1, $2, $3::numeric, true)
 on conflict (account, asset) do update set posted = a.posted + excluded.posted, enforced = true`
	selectAccounts = `select account, asset, posted, pending, enforced from accounts where ($1 = '' or account = $1) order by account, asset`
	selectAccount  = `select account, asset, posted, pending, enforced from accounts where account = $1 and asset = $2`
)

// Credit posts an amount to an account, once for each reference, and enforces the account from then on.
// Errors: *intents.ConflictError (Why "ref") when the reference was used with another amount, intents.ErrUnsure.
func (s *Store) Credit(ctx context.Context, e intents.Entry) (intents.Account, error) {
	var a intents.Account
	err := s.tx(ctx, func(ctx context.Context, tx *poolTx) error {
		if err := post(ctx, tx, e); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, selectAccount, e.Account, e.Asset).Scan(&a.Account, &a.Asset, &a.Posted, &a.Pending, &a.Enforced)
	})
	if err != nil {
		return intents.Account{}, err
	}
	return a, nil
}

// post enters a credit unless its reference is known.
func post(ctx context.Context, tx *poolTx, e intents.Entry) error {
	res, err := tx.ExecContext(ctx, insertCredit, e.Account, e.Asset, e.Amount, e.Ref)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return known(ctx, tx, e)
	}
	_, err = tx.ExecContext(ctx, postCredit, e.Account, e.Asset, e.Amount)
	return err
}

// known compares a credit with the one posted under its reference. Errors: *intents.ConflictError.
func known(ctx context.Context, tx *poolTx, e intents.Entry) error {
	var had intents.Amount
	if err := tx.QueryRowContext(ctx, selectCredit, e.Account, e.Asset, e.Ref).Scan(&had); err != nil {
		return err
	}
	if had.Equal(e.Amount) {
		return nil
	}
	return &intents.ConflictError{ID: e.Ref, Why: "ref", Have: had.String(), Got: e.Amount.String()}
}

// Accounts reads an account in all its assets; all accounts when it is empty.
func (s *Store) Accounts(ctx context.Context, account string) ([]intents.Account, error) {
	return all[intents.Account](ctx, s, selectAccounts, account)
}
