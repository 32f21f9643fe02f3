-- +goose NO TRANSACTION
-- +goose Up

-- Who may use the HTTP API. Of a secret only its hash is kept; a row stays when its token is revoked, so that a name in a
-- timeline always means the same.
create table if not exists tokens (
  name text collate "C" not null constraint tokens_name primary key,
  hash bytea not null constraint tokens_hash unique,
  scopes text not null,
  created_at timestamptz not null default clock_timestamp(),
  created_by text not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  revoked_by text
);

comment on column tokens.hash is 'SHA-256 of the secret, which is 32 random bytes';
comment on column tokens.scopes is 'read, submit, operate; commas between';

create index if not exists dead_letters_by_hash on dead_letters (hash);
create index if not exists dead_letters_last on dead_letters (last_at, key);

-- Events are followed in the order of their transactions: what is below the oldest transaction under way is complete, however
-- late others commit. Events from before this step have none. The column is added without a value, so no row is rewritten.
alter table intent_events add column if not exists xid bigint;
alter table intent_events alter column xid set default (pg_current_xact_id()::text::bigint);
comment on column intent_events.xid is 'the transaction that wrote it; null: written before this column was';

-- Rows lie nearly in that order: summaries of pages cost next to nothing when events are written, an index of rows would not.
drop index concurrently if exists intent_events_xid;
create index concurrently intent_events_xid on intent_events using brin (xid) with (pages_per_range = 64, autosummarize = on);

-- +goose Down
drop index concurrently if exists intent_events_xid;
alter table intent_events drop column if exists xid;
drop index if exists dead_letters_last;
drop index if exists dead_letters_by_hash;
drop table if exists tokens;
