package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// trial is what one foreign transaction has under lock: the slot that it used, the intents that it may have paid, and
// the slot's own.
type trial struct {
	held
	sheet     sheet
	actor     string
	f         intents.Foreign
	detail    []byte
	slot      intents.Slot
	stored    []intents.Attempt // in the slot
	displaced *row              // nil: the number is nobody's
}

// All of the table is read: there is no index for this, and it is rare.
const paidBy = `select key from intents where destination = $1 and amount = $2
 and (state in (1, 2, 3, 4, 8) or state in (6, 7) and changed_at >= $3)`

// displace writes, in one commit, that a foreign transaction used the number of a slot: it is kept there, the signer is
// frozen, every intent that it may have paid is told, and the slot's own goes to a person or takes a new slot. A filler
// is done: its number is used.
func (s *Store) displace(ctx context.Context, of slotRow, o intents.Observation) (in intents.Intent, err error) {
	err = s.tx(ctx, func(ctx context.Context, tx *poolTx) error {
		t := &trial{actor: s.cfg.Actor, f: *o.Foreign, detail: o.Evidence, slot: of.Slot}
		in, err = t.displace(ctx, tx, of, o)
		return err
	})
	return in, err
}

func (t *trial) displace(ctx context.Context, tx *poolTx, of slotRow, o intents.Observation) (intents.Intent, error) {
	since := t.f.At
	if r, err := readOne(ctx, tx, of.intent); err != nil {
		return intents.Intent{}, err
	} else if r != nil && !of.filler && r.FirstClaimedAt.Before(since) {
		since = r.FirstClaimedAt
	}
	if err := t.summon(ctx, tx, since, of.intent); err != nil {
		return intents.Intent{}, err
	}
	now, err := readSlots(ctx, tx, lockSlots, []int64{t.slot.ID})
	if err != nil {
		return intents.Intent{}, err
	}
	if !of.filler {
		t.displaced = t.rows[of.intent]
	}
	row, in := now[t.slot.ID], intents.Intent{}
	if t.displaced != nil {
		in = show(t.displaced.Intent, t.now)
	}
	if row == nil || row.closed || row.filler != of.filler || t.displaced != nil && (in.Slot.ID != t.slot.ID || !in.State.Holds()) {
		return in, nil // it has moved: the next look finds it where it stands
	}
	again := slices.ContainsFunc(t.stored, func(a intents.Attempt) bool { return a.Name == t.f.Hash })
	if !again { // a person may have unfrozen it since, knowing this
		err = turn(ctx, tx, t.slot.Scope, func(sg intents.Signer) intents.Signer { return sg.Displaced(t.slot.Number, t.f) })
	}
	if err != nil {
		return in, err
	}
	return t.judge(ctx, tx, since, again, o)
}

// judge decides about all and writes it. again says that the transaction is kept already.
func (t *trial) judge(ctx context.Context, tx *poolTx, since time.Time, again bool, o intents.Observation) (in intents.Intent, err error) {
	matched, kept := t.suspects(since, again), false
	if r := t.displaced; r != nil {
		ch := intents.Displace(r.Intent, o, matched || t.f.Pays(r.Intent), again, t.actor, t.now)
		in = show(t.sheet.add(r, ch, r.looks), t.now)
		kept = in.Slot.ID == t.slot.ID
	} else if _, err := tx.ExecContext(ctx, closeFiller, t.slot.ID, t.detail); err != nil {
		return in, err
	}
	if !again {
		t.sheet.attempts = append(t.sheet.attempts, t.f.Attempt(t.slot, t.stored))
	}
	if _, err := t.sheet.write(ctx, tx); err != nil || again || !kept {
		return in, err
	}
	in.Stored++
	return in, run(ctx, tx, countStored, keys([]int64{in.Key}))
}

// summon locks the intents that the transaction may have paid, and the others given, and reads what is in the slot.
func (t *trial) summon(ctx context.Context, tx *poolTx, since time.Time, others ...int64) error {
	rows, err := tx.QueryContext(ctx, paidBy, t.f.Destination, t.f.Amount, since)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		if err := rows.Scan(&key); err != nil {
			return badRow(err)
		}
		others = append(others, key)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := t.lock(ctx, tx, others); err != nil {
		return err
	}
	var now time.Time
	if err := tx.QueryRowContext(ctx, `select clock_timestamp()`).Scan(stamp{&now}); err != nil {
		return err
	}
	t.tell(now)
	if err := t.lockAccounts(ctx, tx); err != nil {
		return err
	}
	found, err := readAttempts(ctx, tx, []int64{t.slot.ID})
	t.stored = found[t.slot.ID]
	return err
}

// lockAccounts locks what claims lock before signers.
func (t *trial) lockAccounts(ctx context.Context, tx *poolTx) error {
	var accounts, assets []string
	for _, r := range t.rows {
		accounts, assets = append(accounts, r.Account), append(assets, r.Asset)
	}
	if len(accounts) == 0 {
		return nil
	}
	return run(ctx, tx, lockAccounts, texts(accounts), texts(assets))
}

// suspects tells every intent but the displaced one that the transaction may have paid it, and says whether any.
func (t *trial) suspects(since time.Time, again bool) bool {
	found := false
	for _, r := range t.rows {
		if t.displaced != nil && r.Key == t.displaced.Key {
			continue
		}
		ch, may := intents.Suspect(r.Intent, t.f, since, again, t.detail, t.actor, t.now)
		if may {
			t.sheet.add(r, ch, r.looks)
			found = true
		}
	}
	return found
}

// readOne reads an intent without a lock; nil when there is none.
func readOne(ctx context.Context, q queryer, key int64) (*row, error) {
	all, err := load(ctx, q, nil, reading(`select * from intents where key = $1`), key)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

const (
	drawOne    = `select nextval('relayer_keys')`
	insertUsed = `insert into slots (key, kind, scope, number, route, intent, closed_at, evidence) values ($1, 2, $2, $3, '', 0, $4, $5)`
)

// Account keeps a foreign transaction that used a number which was never given out, compares it with all intents as
// Record does, and counts the number as given out, in one commit. Another number than the next changes nothing.
// Errors: intents.ErrNoSigner.
func (s *Store) Account(ctx context.Context, scope string, number int64, f intents.Foreign, detail []byte) (intents.Signer, error) {
	err := s.tx(ctx, func(ctx context.Context, tx *poolTx) error {
		t := &trial{actor: s.cfg.Actor, f: f, detail: detail, slot: intents.Slot{Kind: intents.Counter, Scope: scope, Number: number}}
		if err := tx.QueryRowContext(ctx, drawOne).Scan(&t.slot.ID); err != nil {
			return err
		}
		if err := t.summon(ctx, tx, f.At); err != nil {
			return err
		}
		taken := false
		err := turn(ctx, tx, scope, func(sg intents.Signer) intents.Signer {
			if taken = number == sg.Next; taken {
				sg = sg.Displaced(number, f)
				sg.Next++
			}
			return sg
		})
		if err != nil || !taken {
			return err
		}
		if _, err := tx.ExecContext(ctx, insertUsed, t.slot.ID, scope, number, t.now, detail); err != nil {
			return err
		}
		t.suspects(f.At, false)
		t.sheet.attempts = append(t.sheet.attempts, f.Attempt(t.slot, nil))
		_, err = t.sheet.write(ctx, tx)
		return err
	})
	if err != nil {
		return intents.Signer{}, err
	}
	return s.signer(ctx, scope)
}
