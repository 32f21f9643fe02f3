package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// sheet gathers what one commit writes. All of it goes out in one statement. A committer keeps its memory from batch to
// batch: what a batch needs is as large as the one before.
type sheet struct {
	rows     []moved
	events   []event
	attempts []intents.Attempt
	taken    []taken
	ended    []ended
	sums     map[purse]*sum
	captures []capture
	signers  map[string]int64  // next number by scope
	frozen   map[string]string // why, by scope

	used, spare []*column
}

// clear makes the sheet empty, with room for so many changes.
func (s *sheet) clear(changes int) {
	s.rows, s.events = slices.Grow(s.rows[:0], changes), slices.Grow(s.events[:0], changes)
	s.attempts, s.taken, s.ended, s.captures = s.attempts[:0], s.taken[:0], s.ended[:0], s.captures[:0]
	s.spare, s.used = append(s.spare, s.used...), s.used[:0]
	clear(s.sums)
	clear(s.signers)
	clear(s.frozen)
}

// columns are empty ones of some types.
func (s *sheet) columns(oids []uint32, rows int) columnSet {
	set := make(columnSet, len(oids))
	for i, oid := range oids {
		set[i] = s.column(oid, rows)
	}
	return set
}

// column is an empty one.
func (s *sheet) column(oid uint32, rows int) *column {
	var c *column
	if n := len(s.spare); n > 0 {
		c, s.spare = s.spare[n-1], s.spare[:n-1]
		c.clear(oid)
	} else {
		c = newColumn(oid, rows)
	}
	s.used = append(s.used, c)
	return c
}

// moved is a row that is updated.
type moved struct {
	before int // version it must have
	in     intents.Intent
	looks  int
}

type event struct {
	intent int64
	intents.Event
}

// taken is a slot that stands in a row of its own.
type taken struct {
	slot   intents.Slot
	route  string
	intent int64
}

// ended is a slot that is closed, or left to be filled.
type ended struct {
	slot     int64
	fill     bool
	at       time.Time
	evidence []byte
}

// purse names an account in one asset.
type purse struct{ account, asset string }

func purseOf(in intents.Intent) purse { return purse{in.Account, in.Asset} }

func (p purse) compare(q purse) int {
	return cmp.Or(cmp.Compare(p.account, q.account), cmp.Compare(p.asset, q.asset))
}

// sum is what an account's sums grow by.
type sum struct{ posted, pending intents.Amount }

type capture struct {
	purse
	amount intents.Amount
	intent int64
	at     time.Time
}

// add takes a change of a row into the sheet and returns the intent as it will stand.
// looks is how often the sweeper will have looked at it; raising the version begins again at 0.
func (s *sheet) add(r *row, c intents.Change, looks int) intents.Intent {
	after := trim(c.After)
	if c.Moves() {
		looks = 0
	} else { // whatever else a decision weighed, without a new version only the timers change
		timers := after
		after = r.Intent
		after.DueAt, after.TryAt, after.WatchAt = timers.DueAt, timers.TryAt, timers.WatchAt
	}
	if c.Moves() || !sameTimers(r.Intent, after) || looks != r.looks {
		s.rows = append(s.rows, moved{r.Version, after, looks})
	}
	if c.Event.Kind != 0 {
		s.events = append(s.events, event{r.Key, c.Event})
	}
	s.hold(c)
	s.end(c)
	s.freeze(c)
	return after
}

// hold carries a change into the sums of its account.
func (s *sheet) hold(c intents.Change) {
	pending := c.Pending()
	if pending.Sign() == 0 && !c.Captures() {
		return
	}
	p := purseOf(c.After)
	if s.sums == nil {
		s.sums = map[purse]*sum{}
	}
	if s.sums[p] == nil {
		s.sums[p] = &sum{}
	}
	s.sums[p].pending = s.sums[p].pending.Add(pending)
	if c.Captures() {
		amount := c.After.Amount.Neg()
		s.sums[p].posted = s.sums[p].posted.Add(amount)
		s.captures = append(s.captures, capture{p, amount, c.After.Key, c.Event.At})
	}
}

// end closes the slot a change is done with. A slot without a row of its own ends with its intent.
func (s *sheet) end(c intents.Change) {
	slot := c.Before.Slot
	if c.Slot == intents.SlotKeeps || (slot.Kind != intents.Counter && slot.ID == c.Before.Key) {
		return
	}
	s.ended = append(s.ended, ended{slot.ID, c.Slot == intents.SlotFill, c.Event.At, c.Event.Detail})
}

// freeze notes a signer that is to give out no numbers.
func (s *sheet) freeze(c intents.Change) {
	if c.Freeze == "" {
		return
	}
	if s.frozen == nil {
		s.frozen = map[string]string{}
	}
	s.frozen[c.After.Slot.Scope] = c.Freeze
}

func sameTimers(a, b intents.Intent) bool {
	return a.DueAt.Equal(b.DueAt) && a.TryAt.Equal(b.TryAt) && a.WatchAt.Equal(b.WatchAt)
}

// trim cuts times to what the database keeps.
func trim(in intents.Intent) intents.Intent {
	for _, t := range []*time.Time{&in.ChangedAt, &in.AgainUntil, &in.FirstClaimedAt, &in.ClaimUntil, &in.TryAt, &in.DueAt, &in.WatchAt} {
		*t = cut(*t)
	}
	return in
}

// errLost says that a row was changed by somebody who did not lock it.
var errLost = errors.New("a locked intent was changed by another")

// write writes the sheet. It returns how many of its attempts were stored: those that found bytes under their number
// were not.
func (s *sheet) write(ctx context.Context, q writer) (stored int, err error) {
	b := &statement{}
	s.writeRows(b)
	s.writeEvents(b)
	s.writeAttempts(b)
	s.writeSlots(b)
	s.writeAccounts(b)
	s.writeSigners(b)
	if b.empty() {
		return 0, nil
	}
	rows, err := q.QueryContext(ctx, b.text("select "+b.count("i")+", "+b.count("a")), b.args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var written int
	for rows.Next() {
		if err := rows.Scan(&written, &stored); err != nil {
			return 0, err
		}
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	if written != len(s.rows) {
		return 0, again(fmt.Errorf("%w: %d of %d written", errLost, written, len(s.rows)))
	}
	if n := len(s.events); n > 0 {
		last := s.events[n-1]
		q.wrote(mark{intent: last.intent, version: last.Version, at: cut(last.At)})
	}
	return stored, nil
}

// purses lists the accounts whose sums change, in the order in which accounts are locked.
func (s *sheet) purses() []purse {
	all := make([]purse, 0, len(s.sums))
	for p := range s.sums {
		all = append(all, p)
	}
	slices.SortFunc(all, purse.compare)
	return all
}

// signer notes the next number of a scope.
func (s *sheet) signer(scope string, next int64) {
	if s.signers == nil {
		s.signers = map[string]int64{}
	}
	s.signers[scope] = next
}
