package pgstore

import (
	"maps"
	"slices"
)

var updated = newSource(
	field{name: "key", typ: "bigint", oid: oidInt8},
	field{name: "before", typ: "int", oid: oidInt4, once: true},
	field{name: "version", typ: "int", oid: oidInt4, once: true},
	field{name: "state", typ: "smallint", oid: oidInt2, once: true},
	field{name: "ref", typ: "text", oid: oidText},
	field{name: "reason", typ: "text", oid: oidText, once: true},
	field{name: "changed_at", typ: "timestamptz", oid: oidTimestamptz, once: true},
	field{name: "slot", typ: "bigint", oid: oidInt8},
	field{name: "slot_kind", typ: "smallint", oid: oidInt2, once: true},
	field{name: "slot_scope", typ: "text", oid: oidText, once: true},
	field{name: "slot_number", typ: "bigint", oid: oidInt8},
	field{name: "slot_name", typ: "text", oid: oidText, once: true},
	field{name: "cost", typ: "text", oid: oidText, once: true},
	field{name: "stored", typ: "int", oid: oidInt4, once: true},
	field{name: "seen", typ: "boolean", oid: oidBool, once: true},
	field{name: "again_until", typ: "timestamptz", oid: oidTimestamptz},
	field{name: "first_claimed_at", typ: "timestamptz", oid: oidTimestamptz},
	field{name: "claim_id", typ: "text", oid: oidText},
	field{name: "claim_until", typ: "timestamptz", oid: oidTimestamptz, once: true},
	field{name: "calls", typ: "int", oid: oidInt4, once: true},
	field{name: "silent", typ: "int", oid: oidInt4, once: true},
	field{name: "looks", typ: "int", oid: oidInt4, once: true},
	field{name: "try_at", typ: "timestamptz", oid: oidTimestamptz, once: true},
	field{name: "due_at", typ: "timestamptz", oid: oidTimestamptz},
	field{name: "watch_at", typ: "timestamptz", oid: oidTimestamptz, once: true},
)

const (
	setIntents = `update intents i set state = u.state, version = u.version, ref = u.ref, reason = u.reason, changed_at = u.changed_at,
 slot = u.slot, slot_kind = u.slot_kind, slot_scope = u.slot_scope, slot_number = u.slot_number, slot_name = u.slot_name,
 cost = u.cost::numeric, stored = u.stored, seen = u.seen, again_until = u.again_until, first_claimed_at = u.first_claimed_at,
 claim_id = u.claim_id, claim_until = u.claim_until, calls = u.calls, silent = u.silent, looks = u.looks,
 try_at = u.try_at, due_at = u.due_at, watch_at = u.watch_at from `
	setIntentsAt = ` where i.key = u.key and i.version = u.before returning i.key`
)

// writeRows updates each row once, guarded by the version it was locked at.
func (s *sheet) writeRows(b *statement) {
	if len(s.rows) == 0 {
		return
	}
	c := updated.columns(s, len(s.rows))
	for _, m := range s.rows {
		in, slot := m.in, m.in.Slot
		c[0].int8(in.Key)
		c[1].int4(m.before)
		c[2].int4(in.Version)
		c[3].int2(int16(in.State))
		c[4].textOrNull(in.Ref)
		c[5].textOrNull(string(in.Reason))
		c[6].time(in.ChangedAt)
		c[7].int8OrNull(slot.ID)
		c[8].int2(int16(slot.Kind))
		c[9].textOrNull(slot.Scope)
		c[10].numberOrNull(slot)
		c[11].textOrNull(nameOf(slot))
		c[12].amountOrNull(in.Cost)
		c[13].int4(in.Stored)
		c[14].bool(in.Seen)
		c[15].time(in.AgainUntil)
		c[16].time(in.FirstClaimedAt)
		c[17].textOrNull(in.ClaimID)
		c[18].time(in.ClaimUntil)
		c[19].int4(in.Calls)
		c[20].int4(in.Silent)
		c[21].int4(m.looks)
		c[22].time(in.TryAt)
		c[23].time(in.DueAt)
		c[24].time(in.WatchAt)
	}
	from, args := updated.from(c)
	b.with("i", setIntents+from+setIntentsAt, args...)
}

var told = newSource(
	field{name: "intent", typ: "bigint", oid: oidInt8},
	field{name: "version", typ: "int", oid: oidInt4, once: true},
	field{name: "at", typ: "timestamptz", oid: oidTimestamptz, once: true},
	field{name: "kind", typ: "smallint", oid: oidInt2, once: true},
	field{name: "from_state", typ: "smallint", oid: oidInt2, once: true},
	field{name: "to_state", typ: "smallint", oid: oidInt2, once: true},
	field{name: "actor", typ: "text", oid: oidText, once: true},
	field{name: "reason", typ: "text", oid: oidText, once: true},
	field{name: "claim_id", typ: "text", oid: oidText},
	field{name: "ref", typ: "text", oid: oidText},
	field{name: "detail", typ: "bytea", oid: oidBytea},
)

// A change is number 0 of its version; a note takes the next free number.
const insertEvents = `insert into intent_events (intent, version, n, at, kind, from_state, to_state, actor, reason, claim_id, ref, detail)
 select u.intent, u.version, case u.kind when 1 then 0 else
  1 + (select coalesce(max(o.n), 0) from intent_events o where o.intent = u.intent and o.version = u.version) end,
  u.at, u.kind, u.from_state, u.to_state, u.actor, u.reason, u.claim_id, u.ref, u.detail from `

func (s *sheet) writeEvents(b *statement) {
	if len(s.events) == 0 {
		return
	}
	c := told.columns(s, len(s.events))
	for _, e := range s.events {
		c[0].int8(e.intent)
		c[1].int4(e.Version)
		c[2].time(e.At)
		c[3].int2(int16(e.Kind))
		c[4].int2(int16(e.From))
		c[5].int2(int16(e.To))
		c[6].text(e.Actor)
		c[7].textOrNull(string(e.Reason))
		c[8].textOrNull(e.ClaimID)
		c[9].textOrNull(e.Ref)
		c[10].bytesOrNull(e.Detail)
	}
	from, args := told.from(c)
	b.with("e", insertEvents+from, args...)
}

var attempted = newSource(
	field{name: "slot", typ: "bigint", oid: oidInt8},
	field{name: "no", typ: "int", oid: oidInt4, once: true},
	field{name: "kind", typ: "smallint", oid: oidInt2, once: true},
	field{name: "bytes", typ: "bytea", oid: oidBytea},
	field{name: "name", typ: "text", oid: oidText},
	field{name: "expiry_kind", typ: "smallint", oid: oidInt2, once: true},
	field{name: "expiry_at", typ: "bigint", oid: oidInt8, once: true},
)

const (
	insertAttempts = `insert into attempts (slot, no, kind, bytes, name, expiry_kind, expiry_at)
 select slot, no, kind, bytes, name, expiry_kind, expiry_at from `
	unlessThere = ` on conflict do nothing returning slot`
)

func (s *sheet) writeAttempts(b *statement) {
	if len(s.attempts) == 0 {
		return
	}
	c := attempted.columns(s, len(s.attempts))
	for _, a := range s.attempts {
		c[0].int8(a.Slot.ID)
		c[1].int4(a.No)
		c[2].int2(int16(a.Kind))
		c[3].bytes(a.Bytes)
		c[4].text(a.Name)
		c[5].int2(int16(a.Expiry.Kind))
		c[6].int8(a.Expiry.At)
	}
	from, args := attempted.from(c)
	b.with("a", insertAttempts+from+unlessThere, args...)
}

const (
	insertSlots = `insert into slots (key, kind, scope, number, name, route, intent)
 select * from unnest(?::bigint[], ?::smallint[], ?::text[], ?::bigint[], ?::text[], ?::text[], ?::bigint[])`
	updateSlots = `update slots s set filler = u.fill, watch_at = case when u.fill then u.at end,
 closed_at = case when not u.fill then u.at end, evidence = u.evidence
 from unnest(?::bigint[], ?::boolean[], ?::timestamptz[], ?::bytea[]) u(key, fill, at, evidence)
 where s.key = u.key and s.closed_at is null`
	// One that is frozen already stays so for its first reason.
	freezeSigners = `update signers s set frozen = u.why from unnest(?::text[], ?::text[]) u(scope, why)
 where s.scope = u.scope and s.frozen is null`
	updateSigners = `update signers s set next = u.next from unnest(?::text[], ?::bigint[]) u(scope, next) where s.scope = u.scope`
)

var (
	slotTypes = []uint32{oidInt8, oidInt2, oidText, oidInt8, oidText, oidText, oidInt8}
	endTypes  = []uint32{oidInt8, oidBool, oidTimestamptz, oidBytea}
)

func (s *sheet) writeSlots(b *statement) {
	if len(s.taken) > 0 {
		c := s.columns(slotTypes, len(s.taken))
		for _, t := range s.taken {
			c[0].int8(t.slot.ID)
			c[1].int2(int16(t.slot.Kind))
			c[2].text(t.slot.Scope)
			c[3].numberOrNull(t.slot)
			c[4].textOrNull(t.slot.Name)
			c[5].text(t.route)
			c[6].int8(t.intent)
		}
		b.with("s", insertSlots, c.args()...)
	}
	if len(s.ended) > 0 {
		c := s.columns(endTypes, len(s.ended))
		for _, e := range s.ended {
			c[0].int8(e.slot)
			c[1].bool(e.fill)
			c[2].time(e.at)
			c[3].bytesOrNull(e.evidence)
		}
		b.with("d", updateSlots, c.args()...)
	}
}

func (s *sheet) writeSigners(b *statement) {
	if len(s.signers) > 0 {
		c := s.columns([]uint32{oidText, oidInt8}, len(s.signers))
		for _, scope := range slices.Sorted(maps.Keys(s.signers)) {
			c[0].text(scope)
			c[1].int8(s.signers[scope])
		}
		b.with("g", updateSigners, c.args()...)
	}
	if len(s.frozen) > 0 {
		c := s.columns([]uint32{oidText, oidText}, len(s.frozen))
		for _, scope := range slices.Sorted(maps.Keys(s.frozen)) {
			c[0].text(scope)
			c[1].text(s.frozen[scope])
		}
		b.with("f", freezeSigners, c.args()...)
	}
}

const (
	// The rows are taken in the order of accounts, so that two commits never wait for each other's.
	addSums = `insert into accounts as a (account, asset, posted, pending)
 select u.account, u.asset, u.posted::numeric, u.pending::numeric
 from unnest(?::text[], ?::text[], ?::text[], ?::text[]) with ordinality u(account, asset, posted, pending, n) order by u.n
 on conflict (account, asset) do update set posted = a.posted + excluded.posted, pending = a.pending + excluded.pending`
	insertCaptures = `insert into entries (account, asset, amount, intent, at)
 select u.account, u.asset, u.amount::numeric, u.intent, u.at
 from unnest(?::text[], ?::text[], ?::text[], ?::bigint[], ?::timestamptz[]) u(account, asset, amount, intent, at)`
)

func (s *sheet) writeAccounts(b *statement) {
	if len(s.sums) > 0 {
		c := s.columns([]uint32{oidText, oidText, oidText, oidText}, len(s.sums))
		for _, p := range s.purses() {
			c[0].text(p.account)
			c[1].text(p.asset)
			c[2].text(s.sums[p].posted.String())
			c[3].text(s.sums[p].pending.String())
		}
		b.with("m", addSums, c.args()...)
	}
	if len(s.captures) > 0 {
		c := s.columns([]uint32{oidText, oidText, oidText, oidInt8, oidTimestamptz}, len(s.captures))
		for _, e := range s.captures {
			c[0].text(e.account)
			c[1].text(e.asset)
			c[2].text(e.amount.String())
			c[3].int8(e.intent)
			c[4].time(e.at)
		}
		b.with("n", insertCaptures, c.args()...)
	}
}
