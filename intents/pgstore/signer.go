package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	insertSigner = `insert into signers (scope, next, slots, seen) values ($1, $2, $3, $2) on conflict (scope) do nothing`
	lockSigner   = `select scope, next, slots, coalesce(frozen, ''), seen from signers where scope = $1 for update`
	updateSigner = `update signers set slots = $2, seen = $3, frozen = nullif($4, '') where scope = $1`
	readSigners  = `select s.scope, s.next, s.slots as "window", coalesce(s.frozen, '') as frozen, s.seen,
 (select count(*) from slots o where o.scope = s.scope and o.closed_at is null and o.kind = 2) as open
 from signers s where $1 = '' or s.scope = $1 order by s.scope`
)

// OpenSigner makes a counter scope known with the chain's next number (sg.Next), or compares the two: it freezes the scope
// when the chain is ahead of the numbers given out. It returns the signer as it stands; a frozen one stays frozen.
func (s *Store) OpenSigner(ctx context.Context, sg intents.Signer) (intents.Signer, error) {
	err := s.tx(ctx, func(ctx context.Context, tx *sql.Conn) error {
		if _, err := tx.ExecContext(ctx, insertSigner, sg.Scope, sg.Next, int64(sg.Window)); err != nil {
			return err
		}
		var had intents.Signer
		if err := tx.QueryRowContext(ctx, lockSigner, sg.Scope).Scan(&had.Scope, &had.Next, &had.Window, &had.Frozen, &had.Seen); err != nil {
			return err
		}
		if sg.Next > had.Next && had.Frozen == "" {
			had.Frozen = fmt.Sprintf("the chain's next number is %d, ours is %d: another sends with this signer", sg.Next, had.Next)
		}
		_, err := tx.ExecContext(ctx, updateSigner, sg.Scope, int64(sg.Window), sg.Next, had.Frozen)
		return err
	})
	if err != nil {
		return intents.Signer{}, err
	}
	now, err := all[intents.Signer](ctx, s, readSigners, sg.Scope)
	if err != nil {
		return intents.Signer{}, err
	}
	if len(now) == 0 {
		return intents.Signer{}, unavailable(errors.New("the signer is gone again"))
	}
	return now[0], nil
}

// Signers reads every counter scope, by name.
func (s *Store) Signers(ctx context.Context) ([]intents.Signer, error) {
	return all[intents.Signer](ctx, s, readSigners, "")
}
