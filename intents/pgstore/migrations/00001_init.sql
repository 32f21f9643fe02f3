-- +goose Up

-- One sequence for every inside key. Keys are ordered in time: random ones touch another index page each (at 5,000,000
-- rows 0.55 of the rate and nine times the WAL).
create sequence relayer_keys as bigint;

-- States: 1 created, 2 authorized, 3 settling, 4 confirming, 5 settled, 6 failed, 7 canceled, 8 needs_review. There is no
-- check on them: a row in a state of a newer version must be left alone, not refused.
create table intents (
  key bigint not null constraint intents_key primary key,
  id text collate "C" not null constraint intents_id unique,
  route text collate "C" not null,
  account text collate "C" not null,
  destination text not null,
  asset text collate "C" not null,
  amount numeric(78,0) not null constraint intents_amount check (amount > 0),
  not_before timestamptz,
  expires_at timestamptz,
  lane text collate "C",
  metadata json,
  traceparent text,
  state smallint not null,
  version int not null constraint intents_version check (version > 0),
  ref text,
  reason text,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  slot bigint,
  slot_kind smallint not null default 0,
  slot_scope text,
  slot_number bigint,
  slot_name text,
  cost numeric(78,0) constraint intents_cost check (cost >= 0),
  stored int not null default 0 constraint intents_stored check (stored >= 0),
  seen boolean not null default false,
  again_until timestamptz,
  first_claimed_at timestamptz,
  claim_id text,
  claim_until timestamptz,
  calls int not null default 0,
  silent int not null default 0,
  looks int not null default 0,
  try_at timestamptz,
  due_at timestamptz,
  watch_at timestamptz
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- No index may name state, in its key or its predicate: one that does makes every change of state rewrite all indexes.
-- Claim and complete leave due_at and watch_at alone on the plain path, so these two keep updates HOT.
create index intents_due on intents (route, due_at) where due_at is not null;
create index intents_watch on intents (route, watch_at) where watch_at is not null;
create index intents_lane on intents (route, lane, key) where lane is not null and due_at is not null;

comment on column intents.key is 'inside key, ordered in time';
comment on column intents.id is 'the caller''s id and idempotency key; written at insert only';
comment on column intents.state is '1 created, 2 authorized, 3 settling, 4 confirming, 5 settled, 6 failed, 7 canceled, 8 needs_review';
comment on column intents.amount is 'in the smallest unit of the asset';
comment on column intents.cost is 'held above the amount, in the same unit; null: nothing';
comment on column intents.slot is 'of a counter slots.key, else the intent''s own key; attempts are kept under it';
comment on column intents.slot_kind is '0 none, 1 key, 2 counter, 3 given';
comment on column intents.slot_name is 'of a given slot; a key slot is named by id';
comment on column intents.stored is 'attempts in the slot; bytes stored means: may have left';
comment on column intents.looks is 'times the sweeper has looked since the version was raised';
comment on column intents.due_at is 'when the sweeper must look; null: never';
comment on column intents.watch_at is 'when the observer must look; null: never. Stays null on the plain path of key slots';

-- Append only. n is 0 for the change that made the version, then 1, 2 … for what was noted under it.
create table intent_events (
  intent bigint not null,
  version int not null,
  n int not null,
  at timestamptz not null,
  kind smallint not null,
  from_state smallint not null,
  to_state smallint not null,
  actor text not null,
  reason text,
  claim_id text,
  ref text,
  detail bytea,
  constraint intent_events_key primary key (intent, version, n)
) with (autovacuum_analyze_scale_factor = 0.05);

comment on column intent_events.kind is '1 changed, 2 evidence, 3 contradicted, 4 noted';
comment on column intent_events.detail is 'JSON as the other side''s answer made it. Bytes, so that nothing in it can stop a result from being written; read it with convert_from(detail, ''UTF8'')';

-- Insert only: the first bytes stored under (slot, no) are the only bytes sent.
create table attempts (
  slot bigint not null,
  no int not null constraint attempts_no check (no > 0),
  kind smallint not null,
  bytes bytea not null,
  name text not null,
  expiry_kind smallint not null default 0,
  expiry_at bigint not null default 0,
  at timestamptz not null default now(),
  constraint attempts_key primary key (slot, no)
) with (autovacuum_analyze_scale_factor = 0.05);

comment on column attempts.kind is '1 first, 2 bump, 3 cancel, 4 fill, 5 foreign: not ours, never sent by us';
comment on column attempts.expiry_kind is '0 never, 1 height, 2 time, 3 epoch';

-- Slots that are not simply their intent's own: every counter slot, taken by an intent or to be filled when its intent
-- ended before bytes existed; and each further key or given slot of an intent whose first one was proved dead.
create table slots (
  key bigint not null constraint slots_key primary key,
  kind smallint not null,
  scope text collate "C" not null,
  number bigint,
  name text,
  route text collate "C" not null,
  intent bigint not null,
  filler boolean not null default false,
  closed_at timestamptz,
  evidence bytea,
  watch_at timestamptz,
  constraint slots_number unique (scope, number)
);

create index slots_open on slots (scope) where closed_at is null and kind = 2;
create index slots_watch on slots (route, watch_at) where watch_at is not null;

comment on column slots.kind is '1 key, 2 counter, 3 given';
comment on column slots.number is 'of a counter slot';
comment on column slots.intent is 'who took the number; a filler''s intent has ended; 0: a foreign transaction took it';
comment on column slots.watch_at is 'the observer''s timer of a filler; that of an intent stands with the intent';

create table signers (
  scope text collate "C" not null constraint signers_key primary key,
  next bigint not null constraint signers_next check (next >= 0),
  slots int not null,
  frozen text,
  seen bigint not null
) with (fillfactor = 10);

comment on column signers.next is 'the next number to give out';
comment on column signers.slots is 'how many may be open at once that the chain has not used yet';
comment on column signers.frozen is 'why no number is given out; null: it is not frozen';
comment on column signers.seen is 'the chain''s next number when last looked at';

-- Sums are wider than amounts: no sum of amounts can overflow. There is no check that pending is not negative: "insert …
-- on conflict" checks the row it proposes, and that holds a difference. Audit looks for it.
create table accounts (
  account text collate "C" not null,
  asset text collate "C" not null,
  posted numeric(96,0) not null default 0,
  pending numeric(96,0) not null default 0,
  enforced boolean not null default false,
  constraint accounts_key primary key (account, asset)
) with (fillfactor = 10);

comment on column accounts.posted is 'sum of entries';
comment on column accounts.pending is 'sum of amount and cost of the intents in settling, confirming and needs_review';
comment on column accounts.enforced is 'claims must be covered by posted less pending; set by the first credit';

-- Append only. A credit has a ref, the capture of an intent has the intent.
create table entries (
  key bigint not null default nextval('relayer_keys') constraint entries_id primary key,
  account text collate "C" not null,
  asset text collate "C" not null,
  amount numeric(78,0) not null,
  intent bigint constraint entries_intent unique,
  ref text,
  at timestamptz not null default now(),
  constraint entries_ref unique (account, asset, ref),
  constraint entries_source check ((intent is null) <> (ref is null))
);

create table routes (
  route text collate "C" not null constraint routes_key primary key,
  paused boolean not null,
  by text not null,
  at timestamptz not null
);

create table leases (
  name text collate "C" not null constraint leases_key primary key,
  owner text not null,
  until timestamptz not null
);

comment on table leases is 'who sweeps and who observes a route. Only saves work: nothing is safe because of it';

create table dead_letters (
  key bigint not null default nextval('relayer_keys') constraint dead_letters_id primary key,
  topic text collate "C" not null,
  hash bytea not null,
  body bytea not null,
  size int not null,
  reason text not null,
  detail text not null,
  message_id text not null,
  route text collate "C" not null,
  count int not null default 1,
  first_at timestamptz not null default now(),
  last_at timestamptz not null default now(),
  constraint dead_letters_hash unique (topic, hash, reason)
);

comment on column dead_letters.hash is 'SHA-256 of the whole body';
comment on column dead_letters.body is 'cut; size is that of the whole';

create table tombstones (
  id text collate "C" not null constraint tombstones_id primary key,
  key bigint not null,
  route text collate "C" not null,
  hash bytea not null,
  state smallint not null,
  version int not null,
  created_at timestamptz not null,
  pruned_at timestamptz not null default now()
);

comment on table tombstones is 'what stays of a pruned intent, so that its id is never used again';

create table instances (
  name text collate "C" not null constraint instances_key primary key,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  info json
);

create table throttles (
  route text collate "C" not null constraint throttles_key primary key,
  shut_until timestamptz,
  info json
);

-- +goose Down
drop table throttles, instances, tombstones, dead_letters, leases, routes, entries, accounts, signers, slots, attempts, intent_events, intents;
drop sequence relayer_keys;
