package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// Only what must be covered is locked now; the sums of other accounts are touched last. A credit that comes meanwhile and
// enforces an account comes after these claims. The clock is told after the last lock is had.
const lockAccounts = `select clock_timestamp(), a.* from
 (select a.account, a.asset, a.posted, a.pending, a.enforced from accounts a
  join unnest($1::text[], $2::text[]) u(account, asset) on a.account = u.account and a.asset = u.asset
  where a.enforced order by a.account, a.asset for update of a) a`

// loadAccounts locks the enforced accounts that claims of the batch would hold from.
func (h *hall) loadAccounts(ctx context.Context, q queryer, _ []claimOp) error {
	var purses []purse
	for _, r := range h.rows {
		if r.State == intents.Authorized {
			purses = append(purses, purseOf(r.Intent))
		}
	}
	slices.SortFunc(purses, purse.compare)
	purses = slices.Compact(purses)
	if len(purses) == 0 {
		return nil
	}
	accounts, assets := make([]string, len(purses)), make([]string, len(purses))
	for i, p := range purses {
		accounts[i], assets[i] = p.account, p.asset
	}
	rows, err := q.QueryContext(ctx, lockAccounts, texts(accounts), texts(assets))
	if err != nil {
		return err
	}
	defer rows.Close()
	h.accounts = make(map[purse]*intents.Account, len(purses))
	for rows.Next() {
		var a intents.Account
		var now time.Time
		if err := rows.Scan(stamp{&now}, &a.Account, &a.Asset, &a.Posted, &a.Pending, &a.Enforced); err != nil {
			return badRow(err)
		}
		h.accounts[purse{a.Account, a.Asset}] = &a
		h.tell(now)
	}
	return rows.Err()
}
