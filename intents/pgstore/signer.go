package pgstore

import (
	"context"
	"encoding/json"

	"github.com/nsqrelayer/relayer/intents"
)

const (
	insertSigner = `insert into signers (scope, next, slots, seen) values ($1, $2, $3, $2) on conflict (scope) do nothing`
	updateSigner = `update signers set next = $2, slots = $3, seen = $4, frozen = nullif($5, '') where scope = $1`
	readSigners  = `select s.scope, s.next, s.slots as "window", coalesce(s.frozen, '') as frozen, s.seen, o.open, o.ahead
 from signers s, lateral (select count(*) as open, count(*) filter (where o.number >= s.seen) as ahead from slots o
  where o.scope = s.scope and o.closed_at is null and o.kind = 2) o
 where $1 = '' or s.scope = $1 order by s.scope`
)

// OpenSigner makes a counter scope known with the chain's next number (sg.Next), or compares the two: it freezes the scope
// when the chain is ahead of the numbers given out. It returns the signer as it stands; a frozen one stays frozen.
func (s *Store) OpenSigner(ctx context.Context, sg intents.Signer) (intents.Signer, error) {
	err := s.tx(ctx, func(ctx context.Context, tx *poolTx) error {
		if _, err := tx.ExecContext(ctx, insertSigner, sg.Scope, sg.Next, int64(sg.Window)); err != nil {
			return err
		}
		return turn(ctx, tx, sg.Scope, func(had intents.Signer) intents.Signer {
			had.Window = sg.Window
			return had.Look(sg.Next)
		})
	})
	if err != nil {
		return intents.Signer{}, err
	}
	return s.signer(ctx, sg.Scope)
}

// See tells the next number by the chain's own count, and freezes a signer whose chain is ahead of the numbers given out.
// Without news nothing is written. Errors: intents.ErrNoSigner.
func (s *Store) See(ctx context.Context, scope string, next int64) (intents.Signer, error) {
	now, err := s.signer(ctx, scope)
	if err != nil || now.Look(next) == now {
		return now, err
	}
	return s.turn(ctx, scope, func(sg intents.Signer) intents.Signer { return sg.Look(next) })
}

// Freeze stops a signer by a person's order: no number is given out. Errors: intents.ErrNoSigner.
func (s *Store) Freeze(ctx context.Context, scope, reason, actor string) (intents.Signer, error) {
	return s.turn(ctx, scope, func(sg intents.Signer) intents.Signer { return sg.Freeze(reason, actor) })
}

// leaveOut keeps the numbers that the chain has used without us, so that those of a scope have no gap.
const leaveOut = `insert into slots (key, kind, scope, number, route, intent, closed_at, evidence)
 select nextval('relayer_keys'), 2, $1, n, '', 0, clock_timestamp(), $4 from generate_series($2::bigint, $3::bigint - 1) n`

// Unfreeze lets a signer give out numbers again, above all that the chain has used. Those left out are kept as closed slots
// with who did it and why, which goes to the log, too. Errors: intents.ErrNoSigner.
func (s *Store) Unfreeze(ctx context.Context, scope, reason, actor string) (intents.Signer, error) {
	why, err := json.Marshal(map[string]string{"left_out_by": actor, "reason": reason})
	if err != nil {
		return intents.Signer{}, err
	}
	var was intents.Signer
	err = s.tx(ctx, func(ctx context.Context, tx *poolTx) error {
		var next int64
		err := turn(ctx, tx, scope, func(sg intents.Signer) intents.Signer {
			was, next = sg, sg.Unfreeze().Next
			return sg.Unfreeze()
		})
		if err == nil && next > was.Next {
			_, err = tx.ExecContext(ctx, leaveOut, scope, was.Next, next, why)
		}
		return err
	})
	if err != nil {
		return intents.Signer{}, err
	}
	sg, err := s.signer(ctx, scope)
	s.cfg.Logger.WarnContext(ctx, "signer unfrozen", "scope", scope, "by", actor, "reason", reason, "was", was.Frozen, "next", sg.Next)
	return sg, err
}

// turn changes a signer under lock.
func (s *Store) turn(ctx context.Context, scope string, how func(intents.Signer) intents.Signer) (intents.Signer, error) {
	err := s.tx(ctx, func(ctx context.Context, tx *poolTx) error { return turn(ctx, tx, scope, how) })
	if err != nil {
		return intents.Signer{}, err
	}
	return s.signer(ctx, scope)
}

// turn locks a signer and writes what becomes of it. Errors: intents.ErrNoSigner.
func turn(ctx context.Context, tx *poolTx, scope string, how func(intents.Signer) intents.Signer) error {
	h := &hall{}
	if err := h.readSigners(ctx, tx, []string{scope}); err != nil {
		return err
	}
	sg := h.signers[scope]
	if sg == nil {
		return &verdictError{error: intents.ErrNoSigner}
	}
	next := how(*sg)
	_, err := tx.ExecContext(ctx, updateSigner, scope, next.Next, int64(next.Window), next.Seen, next.Frozen)
	return err
}

// signer reads one. Errors: intents.ErrNoSigner.
func (s *Store) signer(ctx context.Context, scope string) (intents.Signer, error) {
	if scope == "" {
		return intents.Signer{}, intents.ErrNoSigner
	}
	now, err := all[intents.Signer](ctx, s, readSigners, scope)
	if err == nil && len(now) == 0 {
		err = intents.ErrNoSigner
	}
	if err != nil {
		return intents.Signer{}, err
	}
	return now[0], nil
}

// Signers reads every counter scope, by name.
func (s *Store) Signers(ctx context.Context) ([]intents.Signer, error) {
	return all[intents.Signer](ctx, s, readSigners, "")
}
