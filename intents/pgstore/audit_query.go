package pgstore

const (
	// However little the server knows of its tables, no row is looked up for every other.
	auditSettings = `set local statement_timeout = 0; set local work_mem = '64MB'; set local enable_nestloop = off`

	auditPending = `select format('account %s %s: pending is %s, intents hold %s', coalesce(a.account, h.account), coalesce(a.asset, h.asset),
 coalesce(a.pending, 0), coalesce(h.held, 0))
 from accounts a full join (select account, asset, sum(amount + coalesce(cost, 0)) as held from intents where state in (3, 4, 8) group by account, asset) h
 on a.account = h.account and a.asset = h.asset where coalesce(a.pending, 0) <> coalesce(h.held, 0)`

	auditPosted = `select format('account %s %s: posted is %s, entries come to %s', coalesce(a.account, e.account), coalesce(a.asset, e.asset),
 coalesce(a.posted, 0), coalesce(e.sum, 0))
 from accounts a full join (select account, asset, sum(amount) from entries group by account, asset) e
 on a.account = e.account and a.asset = e.asset where coalesce(a.posted, 0) <> coalesce(e.sum, 0)`

	// The entry of a pruned intent stays.
	auditCaptured = `select case
  when e.key is null then format('intent %s is settled and has no entry', i.id)
  when i.key is null then format('entry %s captures intent #%s, which is not settled', e.key, e.intent)
  else format('intent %s: %s %s of account %s were captured as %s %s of account %s', i.id, i.amount, i.asset, i.account, -e.amount, e.asset, e.account) end
 from (select key, id, account, asset, amount from intents where state = 5) i
 full join (select key, intent, account, asset, amount from entries where intent is not null) e on e.intent = i.key
 left join tombstones t on t.key = e.intent
 where e.key is null or i.key is null and t.key is null
 or (i.account, i.asset, -i.amount) is distinct from (e.account, e.asset, e.amount) and i.key is not null`

	// Versions and states of a timeline are a chain: what one change leaves, the next one finds. A hash of what each finds
	// and one of what it leaves, all combined by exclusive or, cancel out but for the first and the last: no event need be
	// looked up for another, nor all of them sorted.
	auditEvents = `select case
  when i.key is null then format('events of intent #%s, which is not there', e.intent)
  when e.intent is null then format('intent %s has no events', i.id)
  else format('intent %s is in state %s v%s: its %s changes up to v%s do not lead there', i.id, i.state, i.version, e.changes, e.last) end
 from (select intent, count(*) filter (where n = 0) as changes, max(version) as last,
   bit_xor(hashint8extended(version::bigint * 256 + to_state, 0) # hashint8extended((version - 1)::bigint * 256 + from_state, 0)) filter (where n = 0) as chain
  from intent_events group by intent) e
 full join intents i on i.key = e.intent
 left join tombstones t on t.key = e.intent
 where i.key is null and t.key is null
 or i.key is not null and (e.intent is null or e.changes <> i.version or e.last <> i.version
  or e.chain is distinct from hashint8extended(i.version::bigint * 256 + i.state, 0) # hashint8extended(0, 0))`

	auditAttempts = `select format('intent %s: stored is %s, attempts are %s', i.id, i.stored, coalesce(a.attempts, 0))
 from intents i left join (select slot, count(*) as attempts from attempts group by slot) a on a.slot = i.slot
 left join slots s on s.key = i.slot and s.filler
 where i.stored <> coalesce(a.attempts, 0) and s.key is null`

	// A slot without a row of its own is its intent's key.
	auditSlots = `select case
  when s.key is null then format('intent %s is in slot #%s, which is not there', i.id, i.slot)
  when i.key is null then format('slot %s#%s is open without an intent', s.scope, coalesce(s.number::text, s.name))
  when (i.key, i.slot_scope, i.slot_number) is distinct from (s.intent, s.scope, s.number)
   then format('slot %s#%s of intent #%s is used by intent %s as %s#%s', s.scope, coalesce(s.number::text, s.name), s.intent, i.id, i.slot_scope, i.slot_number)
  else format('slot %s#%s is %s, and its intent %s in state %s', s.scope, coalesce(s.number::text, s.name),
   case when s.closed_at is not null then 'closed' when s.filler then 'to be filled' else 'open' end, i.id, i.state) end
 from slots s full join (select key, id, state, slot, slot_scope, slot_number from intents where slot is not null and (slot_kind = 2 or slot <> key)) i on i.slot = s.key
 where s.key is null
 or i.key is null and s.closed_at is null and not s.filler
 or i.key is not null and ((i.key, i.slot_scope, i.slot_number) is distinct from (s.intent, s.scope, s.number)
  or i.state in (5, 6, 7) and s.closed_at is null and not s.filler
  or i.state in (2, 3, 4, 8) and (s.closed_at is not null or s.filler))`

	// From a signer's first slot on there is one for each number, also for those that a person left out.
	auditNumbers = `select case
  when next is null then format('slot %s#%s has no signer', scope, number)
  when number >= next then format('slot %s#%s was given out too early: the next number is %s', scope, number, next)
  when number = following then format('slot %s#%s was given out twice', scope, number)
  else format('signer %s: %s to %s were never given out', scope, number + 1, following - 1) end
 from (select s.scope, s.number, g.next, lead(s.number, 1, g.next) over (partition by s.scope order by s.number) as following
  from slots s left join signers g on g.scope = s.scope where s.kind = 2) n
 where next is null or number >= next or number = following or following > number + 1`

	auditTimers = `select case
  when state in (5, 6, 7) then format('intent %s is in state %s and due at %s', id, state, coalesce(due_at, watch_at))
  else format('intent %s is in state %s and never due', id, state) end
 from intents where state in (5, 6, 7) and (due_at is not null or watch_at is not null)
 or due_at is null and (state in (2, 3, 4, 8) or state = 1 and expires_at is not null)`

	// What is due in a paused route waits for a person, unless it has expired.
	auditLate = `with late as (select clock_timestamp() - $1 * interval '1 microsecond' as at),
 leader as (select name, owner from leases where until > clock_timestamp())
 select format('intent %s is in state %s and due since %s: route %s is swept by %s', i.id, i.state, i.due_at, i.route, coalesce(l.owner, 'nobody'))
 from intents i left join routes r on r.route = i.route and r.paused left join leader l on l.name = 'sweep/' || i.route
 where i.due_at < (select at from late) and i.state between 1 and 8 and (r.route is null and not ` + stopped + ` or i.state in (1, 2) and i.expires_at <= clock_timestamp())
 union all
 select format('intent %s is in state %s and to be observed since %s: route %s is observed by %s', i.id, i.state, i.watch_at, i.route, coalesce(l.owner, 'nobody'))
 from intents i left join leader l on l.name = 'observe/' || i.route
 where i.watch_at < (select at from late) and i.stored > 0 and i.state between 1 and 8
 union all
 select format('slot %s#%s is to be filled since %s: route %s is observed by %s', s.scope, s.number, s.watch_at, s.route, coalesce(l.owner, 'nobody'))
 from slots s left join leader l on l.name = 'observe/' || s.route
 where s.watch_at < (select at from late) and s.filler and s.closed_at is null`

	auditRoutes = `select format('route %s is not configured and has %s open intents, the oldest since %s', route, count(*), min(created_at))
 from intents where state in (1, 2, 3, 4, 8) and route <> all($1) group by route`
)
